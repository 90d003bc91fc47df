"""What went wrong with histories, lists and rebuilds in other systems, tried here."""

from collections.abc import Iterable

import pytest

from muniment import FactVersion, MemoryStore
from muniment.errors import (
    BrokenSealError,
    FactNotCurrentError,
    VersionBeyondHeadError,
)
from muniment.ledger.memory_recorder import MemoryRecorder
from tests.api.days import MICROSECOND, day, set_to
from tests.api.whole import every_answer, whole
from tests.stores import DURABLE, SQLITE, Backend, SettableClock


UPDATES = 60
"""Of each of two facts; where the report has 100,000 in all. What is compared is every
version, and a version lost at a page, a batch or a rebuild is lost here as well: a fact
with so long a history has several pages of rows, since each update leaves two."""


def drop_timeline(store: MemoryStore, backend: Backend) -> None:
    """Lose every row of the timeline, as a table dropped or a file lost would."""
    recorder = store._ledger.recorder
    if isinstance(recorder, MemoryRecorder):
        recorder.read_models.clear()
        return
    with backend.sql() as connection:
        connection.exec_driver_sql("DELETE FROM belief")


def test_a_long_history_is_whole_after_a_rebuild(
    store: MemoryStore, clock: SettableClock
) -> None:
    """XTDB #3459: rows of the history vanished when files were compacted."""
    facts = [store.remember(f"{name} 0", user_id="u") for name in "ab"]
    for number in range(1, UPDATES + 1):
        set_to(clock, day(number))
        for name, fact in zip("ab", facts, strict=True):
            store.update(fact.fact_id, content=f"{name} {number}")
    histories = [store.get_fact_history(fact.fact_id) for fact in facts]
    rows = list(store._lookup.timeline.rows())

    store.rebuild()

    assert [store.get_fact_history(fact.fact_id) for fact in facts] == histories
    assert [len(each) for each in histories] == [UPDATES + 1] * 2
    assert len(rows) == 2 * (2 * UPDATES + 1)
    assert list(store._lookup.timeline.rows()) == rows
    middle = store.get_memory_as_of(user_id="u", timestamp=day(UPDATES // 2))
    half = UPDATES // 2
    assert [each.content for each in middle] == [f"b {half - 1}", f"a {half}"]


def _life(store: MemoryStore, clock: SettableClock) -> list[FactVersion]:
    """Give two users' facts lives of some length; return all versions of user u."""
    job = store.remember("Acme", user_id="u", category="job", session_id="s-1")
    home = store.remember("Lyon", user_id="u", category="home", session_id="s-1")
    store.remember("Acme", user_id="v", category="job", session_id="s-1")
    set_to(clock, day(1))
    store.update(job.fact_id, content="Bolt", actor="ann")
    set_to(clock, day(2))
    store.correct(home.fact_id, content="Lille", actor="tool")
    store.remember("Bolt", user_id="u", category="job")
    set_to(clock, day(3))
    store.end(home.fact_id)
    store.forget(job.fact_id)
    set_to(clock, day(4))
    store.restore(job.fact_id)
    store.rollback_where(user_id="u", actor="tool", on_conflict="force")
    histories = [store.get_fact_history(each.fact_id) for each in (job, home)]
    return [version for history in histories for version in history]


def _ids(versions: Iterable[FactVersion]) -> set[tuple[str, int]]:
    return {(each.fact_id, each.version) for each in versions}


def test_every_filter_of_the_history_gives_a_part_of_it(
    store: MemoryStore, clock: SettableClock
) -> None:
    """NodeDB #170: with any filter at all, the history was empty."""
    history = _life(store, clock)

    def modified(start: float, end: float | None) -> list[FactVersion]:
        found = store.list_modified_facts(
            user_id="u", start=day(start), end=None if end is None else day(end)
        )
        return [version for each in found for version in each.versions]

    everything = modified(0, None)
    assert _ids(everything) == _ids(history)
    for start in range(5):
        part = modified(start, start + 1)
        assert part
        assert all(each in history for each in part)
        assert {each.recorded_at for each in part} == {
            each.recorded_at
            for each in history
            if day(start) <= each.recorded_at < day(start + 1)
        }
    parts = [_ids(modified(start, start + 1)) for start in range(5)]
    assert set.union(*parts) == _ids(history)
    assert sum(map(len, parts)) == len(history)
    assert [
        each.recorded_at for each in everything if each.fact_id == history[0].fact_id
    ] == (
        sorted(each.recorded_at for each in history if each.fact_id == history[0].fact_id)
    )


def test_a_category_gives_a_part_of_the_whole(
    store: MemoryStore, clock: SettableClock
) -> None:
    """NodeDB #170, for what is believed now."""
    _life(store, clock)
    everything = store.get_all(user_id="u").items

    of_jobs = store.get_all(user_id="u", category="job").items
    of_none = store.get_all(user_id="u", category="hobby").items

    assert of_jobs == tuple(each for each in everything if each.category == "job") != ()
    assert of_none == ()


def test_version_and_transaction_are_the_same_however_read(
    store: MemoryStore, clock: SettableClock
) -> None:
    """immudb #1262: a read by key and a scan disagreed on the revision."""
    _life(store, clock)
    fact = next(each for each in store.get_all(user_id="u") if each.version > 1)
    set_to(clock, day(5))
    then = store.get_memory_as_of(user_id="u", timestamp=day(5))
    facts = [each for each in then if each.category == "job" and each.version > 1]

    said = store.get_fact_history(fact.fact_id).versions[fact.version - 1]
    (blamed,) = [each for each in store.blame(user_id="u") if each.fact_id == fact.fact_id]

    where = (fact.version, fact.position, fact.tx_id, fact.recorded_at)
    assert [*facts, store.get(fact.fact_id)] == [fact, fact]
    assert (said.version, said.position, said.tx_id, said.recorded_at) == where
    assert (blamed.version, blamed.position, blamed.tx_id, blamed.recorded_at) == where
    assert said.content == fact.content == "Bolt"
    assert said.kind == "revised"


def test_what_a_split_leaves_is_blamed_on_who_said_it(
    store: MemoryStore, clock: SettableClock
) -> None:
    """Dolt #6860: blame named the merge, not the change."""
    fact = store.remember("Acme", user_id="u", actor="ann", reason="told me")
    set_to(clock, day(10))
    store.update(fact.fact_id, content="Bolt", valid_from=day(5), actor="bob")
    set_to(clock, day(11))
    store.remember("Bolt", user_id="u", actor="carol")
    set_to(clock, day(12))
    store.end(fact.fact_id, valid_to=day(20), actor="dave")

    (early,) = store.blame(user_id="u", valid_at=day(3))
    (late,) = store.blame(user_id="u", valid_at=day(15))

    assert (early.actor, early.reason, early.tx_id) == ("ann", "told me", fact.tx_id)
    assert (early.fact.content, early.fact.valid_to) == ("Acme", day(5))
    assert (late.actor, late.version, late.restored_by) == ("bob", 2, None)
    assert (late.fact.valid_from, late.fact.valid_to) == (day(5), day(20))


def test_what_a_rollback_brings_back_is_blamed_on_who_said_it(
    store: MemoryStore, clock: SettableClock
) -> None:
    """Dolt #6860: what came back belonged to who brought it back."""
    fact = store.remember("Acme", user_id="u", actor="ann")
    set_to(clock, day(1))
    store.update(fact.fact_id, content="Bolt", actor="tool", session_id="bad")
    set_to(clock, day(2))
    store.rollback_where(user_id="u", session_id="bad", by_actor="officer", reason="poison")

    (entry,) = store.blame(user_id="u")

    assert (entry.actor, entry.tx_id, entry.fact.content) == ("ann", fact.tx_id, "Acme")
    assert entry.fact == fact
    assert entry.restored_by is not None
    assert (entry.restored_by.kind, entry.restored_by.actor) == ("rolled_back", "officer")
    assert entry.restored_by.reason == "poison"
    (before,) = store.blame(user_id="u", as_of=day(1))
    assert (before.actor, before.restored_by) == ("tool", None)


@pytest.mark.parametrize("version", [3, 4, 1000])
def test_a_version_beyond_the_head_is_no_other_version(
    store: MemoryStore, version: int
) -> None:
    """Marten #3078: asked for a version beyond the head, it gave the head silently."""
    fact = store.remember("one", user_id="u")
    store.update(fact.fact_id, content="two")
    before = whole(store)

    with pytest.raises(VersionBeyondHeadError, match=f"versions 1 to 2, not {version}"):
        store.rollback_fact(fact.fact_id, to_version=version)
    with pytest.raises(VersionBeyondHeadError):
        store.plan_rollback(fact_id=fact.fact_id, to_version=version)

    assert whole(store) == before


def test_the_newest_are_last_and_ties_stay_where_they_are(
    store: MemoryStore, clock: SettableClock
) -> None:
    """graphiti #1724, #1062: asked for the latest, it gave old ones."""
    for number in range(10):
        set_to(clock, day(number))
        store.remember_many([f"turn {number} {part}" for part in "abc"], user_id="u")

    facts = store.get_all(user_id="u").items
    store.remember("older", user_id="u", valid_from=day(-1))
    store.remember("newer", user_id="u", valid_from=day(9), category="z")
    again = store.get_all(user_id="u").items

    order = [(each.valid_from, each.fact_id) for each in facts]
    assert order == sorted(order)
    assert [each.valid_from for each in facts[-3:]] == [facts[-1].valid_from] * 3
    assert {(each.content or "")[:6] for each in facts[-3:]} == {"turn 9"}
    assert again[0].content == "older"
    assert [each for each in again if each in facts] == list(facts)
    modified = store.list_modified_facts(user_id="u", start=day(9))
    assert [each.versions[0].position for each in modified] == [28, 29, 30, 31, 32]


def test_what_was_retired_stays_so_when_the_timeline_is_rebuilt(
    store: MemoryStore, clock: SettableClock
) -> None:
    """Marten #1302, hindsight #1951: a rebuild skipped deletions, and they came back."""
    retired = store.remember("retired", user_id="u")
    ended = store.remember("ended", user_id="u")
    undone = store.remember("rolled back", user_id="u")
    kept = store.remember("kept", user_id="u")
    set_to(clock, day(1))
    store.forget(retired.fact_id)
    store.end(ended.fact_id)
    store.rollback_fact(undone.fact_id, to_version=0)

    store.rebuild()

    assert store.get_all(user_id="u").items == (kept,)
    for fact in (retired, ended, undone):
        with pytest.raises(FactNotCurrentError):
            store.get(fact.fact_id)
    then = store.get_memory_as_of(user_id="u", timestamp=day(1) - MICROSECOND)
    assert set(then) == {retired, ended, undone, kept}


def test_a_lost_timeline_comes_back_from_the_ledger_alone(
    backend: Backend, clock: SettableClock
) -> None:
    """hindsight #742: there was no way to restore."""
    with backend.open(clock=clock) as store:
        _life(store, clock)
        times = [day(number) for number in range(5)]
        before = [every_answer(store, user, at) for user in "uv" for at in times]
        rows = list(store._lookup.timeline.rows())
        drop_timeline(store, backend)
        assert store.get_all(user_id="u").items == ()

        count = store.rebuild()

        assert count == len(rows)
        assert list(store._lookup.timeline.rows()) == rows
        assert [every_answer(store, user, at) for user in "uv" for at in times] == before
        if backend.kind not in DURABLE:
            return
    with backend.open(clock=clock) as store:
        assert [every_answer(store, user, at) for user in "uv" for at in times] == before


def test_a_byte_flipped_in_a_stored_event_is_noticed(durable: Backend) -> None:
    """immudb #2063, #2091: an audit said consistent after the file was edited."""
    with durable.open() as store:
        one = store.remember("secret of one", user_id="one")
        two = store.remember("secret of two", user_id="two")
    with durable.sql() as connection:
        states = {
            row[0]: bytes(row[1])
            for row in connection.exec_driver_sql(
                "SELECT position, state FROM ledger_event"
            )
        }
        mark = "?" if durable.kind == SQLITE else "%s"
        change = f"UPDATE ledger_event SET state = {mark} WHERE position = {mark}"
        flipped = states[1][:-1] + bytes([states[1][-1] ^ 1])
        connection.exec_driver_sql(change, (flipped, one.position))
        # One user's ciphertext pasted into another's row.
        connection.exec_driver_sql(change, (states[1], two.position))

    with durable.open() as store:
        for fact in (one, two):
            with pytest.raises(BrokenSealError, match=fact.fact_id):
                store.get(fact.fact_id)
            with pytest.raises(BrokenSealError):
                store.get_fact_history(fact.fact_id)
