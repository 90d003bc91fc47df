"""Thinning: of old history only how it stood when each year began can still be read."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from muniment import MemorySnapshot, MemoryStore, Receipt, RetentionRule
from muniment.archive.evidence_check import Report, check
from muniment.domain.policy import YEAR_US
from muniment.errors import FactNotCurrentError, ThinnedError, UnknownFactError
from muniment.ledger.destruction import Step
from tests.forgetting.traces import Backup, said, traces, wrapped_keys
from tests.stores import SECOND, Backend, SettableClock


USER = "ann"
RULES = [RetentionRule(thin_older_than_us=2 * YEAR_US)]
DAY_US = 86_400 * SECOND


def at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def us(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


VERSIONS = [
    (at(2018, 3), "CANARY eins 金丝雀"),
    (at(2018, 9), "zwei"),
    (at(2019, 2), "CANARY drei 金丝雀"),
    (at(2019, 5), "CANARY vier"),
    (at(2019, 11), "fünf"),
    (at(2022, 6), "sechs"),
    (at(2023, 7), "sieben"),
]
"""What the fact says from when on; the years began with the second and the fifth."""

NOW = at(2024, 6)
UNTIL = at(2022)
GONE = ((1, 1), (3, 4))
KEPT = [at(2018), at(2019), at(2020), at(2021), UNTIL]
LATER = [at(2022, 3), at(2022, 8), at(2023, 3), at(2024, 2)]
BETWEEN = [at(2018, 4), at(2019, 3), at(2019, 12), at(2021, 7)]


@dataclass
class Lived:
    """A store in which years have passed."""

    store: MemoryStore
    clock: SettableClock
    fact_id: str
    other: str

    def thin(self) -> tuple[Receipt, ...]:
        return self.store.retain(RULES, actor="keeper", reason="policy 9")

    def known(self, when: datetime) -> MemorySnapshot:
        return self.store.get_memory_as_of(user_id=USER, timestamp=when)


def lived(backend: Backend, **changes: object) -> Lived:
    clock = SettableClock(us(VERSIONS[0][0]))
    store = backend.open(clock=clock, **{"embedder": "none", **changes})
    other = store.remember("stays as it is", user_id=USER, category="home").fact_id
    fact = store.remember(VERSIONS[0][1], user_id=USER, category="work")
    for when, content in VERSIONS[1:]:
        clock.now = us(when)
        store.update(fact.fact_id, content=content)
    clock.now = us(NOW)
    return Lived(store, clock, fact.fact_id, other)


def evidence(store: MemoryStore, **asked: Any) -> Report:  # noqa: ANN401 - of any field
    """Return what somebody outside finds proven in evidence."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "evidence.zip"
        store.export_evidence(
            file, user_id=USER, matter="case 7", reason="asked by the court", **asked
        )
        return check(file.read_bytes())


def test_what_is_between_the_years_is_refused_by_every_way_to_ask(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        (receipt,) = memory.thin()

        assert receipt.fact_ids == (memory.fact_id,)
        ways: list[Callable[[datetime], object]] = [
            memory.known,
            lambda t: store.get(memory.fact_id, as_of=t),
            lambda t: store.get(memory.fact_id, as_of=at(2024), valid_at=t),
            lambda t: store.get_memory_as_of(user_id=USER, timestamp=NOW, valid_at=t),
            lambda t: store.search("vier", user_id=USER, as_of=t),
            lambda t: store.search("vier", user_id=USER, valid_at=t),
            lambda t: store.diff_memory(user_id=USER, time_a=t, time_b=NOW),
            lambda t: store.diff_memory(user_id=USER, time_a=at(2019), time_b=t),
            lambda t: store.blame(user_id=USER, as_of=t),
            lambda t: store.why("vier", user_id=USER, at=t),
            lambda t: store.build_context("vier", user_id=USER, as_of=t),
            lambda t: store.plan_rollback(user_id=USER, to=t),
            lambda t: store.rollback_to_timestamp(user_id=USER, rollback_to=t),
            lambda t: store.reproduce_badcase(user_id=USER, timestamp=t),
            lambda t: evidence(store, points=[t]),
            lambda t: evidence(store, start=t),
        ]
        head = store.get_all(user_id=USER).position
        for way in ways:
            for when in BETWEEN:
                with pytest.raises(ThinnedError) as caught:
                    way(when)
                years = [datetime(when.year + n, 1, 1, tzinfo=UTC) for n in (0, 1)]
                assert caught.value.kept == tuple(us(each) for each in years)
        assert store.get_all(user_id=USER).position == head


# B43 (iceberg#8565: once one snapshot is expired, older ones are not found by their time).
def test_when_a_year_began_and_from_the_end_on_the_answers_are_what_they_were(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        times = [*KEPT, *LATER]
        before = [memory.known(each) for each in times]
        found = [store.search("zwei fünf", user_id=USER, as_of=each) for each in times]
        twice = [
            store.get_memory_as_of(user_id=USER, timestamp=one, valid_at=two)
            for one in times
            for two in times
        ]

        memory.thin()

        assert [memory.known(each) for each in times] == before
        assert [
            store.search("zwei fünf", user_id=USER, as_of=each) for each in times
        ] == found
        assert [
            store.get_memory_as_of(user_id=USER, timestamp=one, valid_at=two)
            for one in times
            for two in times
        ] == twice
        diff = store.diff_memory(user_id=USER, time_a=at(2019), time_b=at(2020))
        assert [(e.before and e.before.content) for e in diff.changed] == ["zwei"]
        assert [e.after and e.after.content for e in diff.changed] == ["fünf"]
        assert evidence(store, start=at(2019), end=at(2020)).proven
        assert evidence(store, points=KEPT).proven


def test_history_tells_what_went_when_by_whom_and_why(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        before = store.get_fact_history(memory.fact_id)

        memory.thin()

        history = store.get_fact_history(memory.fact_id)
        assert [each.content for each in history] == [
            *(None, "zwei", None, None, "fünf", "sechs", "sieben"),
            None,
        ]
        last = history.versions[-1]
        assert (last.kind, last.thinned) == ("thinned", GONE)
        assert (last.action, last.trigger) == ("retain", "retention")
        assert (last.actor, last.reason) == ("keeper", "policy 9")
        assert [each.recorded_at for each in history][:7] == [e.recorded_at for e in before]
        assert said(store, user_id=USER) == ["sieben", "stays as it is"]
        modified = store.list_modified_facts(user_id=USER, start=at(2018), end=at(2019, 4))
        assert {
            v.content for m in modified for v in m.versions if m.fact_id == memory.fact_id
        } == {None, "zwei"}
        rows = list(store._lookup.timeline.rows())
        store.rebuild()
        assert list(store._lookup.timeline.rows()) == rows
        assert store.verify()


def test_a_fact_of_which_nothing_went_is_answered_for_between_the_years(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        memory.thin()

        assert store.get(memory.other, as_of=at(2019, 3)).content == "stays as it is"
        with pytest.raises(FactNotCurrentError):
            store.get(memory.other, as_of=at(2018, 2))
        assert memory.known(at(2018, 2)).facts == ()


def test_a_plan_says_what_goes_and_writes_nothing(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        (due,) = store.plan_retention(RULES)

        assert (due.fact_id, due.cause) == (memory.fact_id, "thinned")
        assert (due.until, due.versions) == (UNTIL, GONE)
        assert store.plan_retention(RULES) == (due,)
        assert store.plan_retention(RULES, user_id="bob") == ()
        memory.thin()
        assert store.plan_retention(RULES) == ()
        assert memory.thin() == ()


def test_nothing_comes_back_that_was_thinned(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        tx_ids = [each.tx_id for each in store.get_fact_history(memory.fact_id)]
        memory.thin()

        for version in (1, 3, 4):
            for way in (store.rollback_fact, store.plan_rollback):
                with pytest.raises(ThinnedError):
                    way(fact_id=memory.fact_id, to_version=version)
        with pytest.raises(ThinnedError):
            store.update(memory.fact_id, content="neu", valid_from=at(2019, 3))
        plan = store.plan_rollback(user_id=USER, to=at(2020))
        assert [e.after and e.after.content for e in plan.diff.changed] == ["fünf"]
        store.rollback_fact(memory.fact_id, to_version=5)
        assert store.get(memory.fact_id).content == "fünf"
        undone = store.undo(tx_ids[4])
        assert undone.fact_ids == ()
        assert store.verify()


def test_a_retired_fact_whose_last_words_went_cannot_be_restored(backend: Backend) -> None:
    clock = SettableClock(us(at(2018, 3)))
    with backend.open(clock=clock) as store:
        fact = store.remember("CANARY", user_id=USER)
        clock.now = us(at(2018, 6))
        store.forget(fact.fact_id)
        clock.now = us(NOW)
        store.retain(RULES)

        with pytest.raises(ThinnedError):
            store.restore(fact.fact_id)

        assert store.remember("CANARY", user_id=USER).fact_id != fact.fact_id


def test_a_thinned_fact_lives_on_and_is_thinned_again(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        memory.thin()
        for when, content in ((NOW, "CANARY acht"), (at(2024, 9), "neun")):
            memory.clock.now = us(when)
            store.update(memory.fact_id, content=content)
        memory.clock.now = us(at(2029))

        memory.thin()

        contents = [each.content for each in store.get_fact_history(memory.fact_id)]
        assert contents[:7] == [None, "zwei", None, None, "fünf", "sechs", "sieben"]
        assert contents[7:] == [None, None, "neun", None]
        assert [each.content for each in memory.known(at(2024))][1:] == ["sieben"]
        with pytest.raises(ThinnedError):
            memory.known(at(2024, 2))
        assert store.get(memory.fact_id).content == "neun"
        assert store.verify()


# S11, C10: holds x thinning, before, while and after; C9: a hold after the plan wins.
@pytest.mark.parametrize("whole", [True, False], ids=["subject", "fact"])
def test_a_hold_stops_thinning_until_it_is_released(
    backend: Backend, *, whole: bool
) -> None:
    memory = lived(backend)
    with memory.store as store:
        planned = store.plan_retention(RULES)
        bound = None if whole else memory.fact_id
        store.place_hold(user_id=USER, fact_id=bound, matter="case", hold_id="h-1")

        assert len(planned) == 1
        assert store.plan_retention(RULES) == ()
        assert memory.thin() == ()
        assert memory.known(at(2019, 3)).facts
        store.release_hold("h-1", user_id=USER)
        assert len(memory.thin()) == 1
        store.place_hold(user_id=USER, matter="too late", hold_id="h-2")
        with pytest.raises(ThinnedError):
            memory.known(at(2019, 3))


def test_a_hold_that_comes_between_plan_and_thinning_wins(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = lived(backend)
    with memory.store as store:
        from muniment.api.retaining import Retainer  # noqa: PLC0415 - to be patched

        whole = Retainer.retire

        def late(self: Retainer, *given: object) -> object:
            store.place_hold(user_id=USER, matter="case", hold_id="h-1")
            return whole(self, *given)  # type: ignore[arg-type]

        monkeypatch.setattr(Retainer, "retire", late)
        (receipt,) = memory.thin()

        assert receipt.tx_id is None
        assert memory.known(at(2019, 3)).facts


def test_frozen_memories_other_categories_and_core_facts_are_left_alone(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        chat = RetentionRule(thin_older_than_us=2 * YEAR_US, category="chat")
        assert store.plan_retention([chat]) == ()
        store.update(memory.fact_id, core=True)
        assert store.plan_retention(RULES) == ()
        store.update(memory.fact_id, core=False)
        store.freeze(user_id=USER)
        assert store.plan_retention(RULES) == ()
        store.thaw(user_id=USER)
        assert len(store.plan_retention(RULES)) == 1


def test_keys_of_what_was_kept_go_with_a_redaction_and_with_an_erasure(
    durable: Backend,
) -> None:
    memory = lived(durable)
    with memory.store as store:
        memory.thin()
        assert _count(durable, "payload_key") == 4

        store.forget(memory.fact_id, mode="redact")

        assert _count(durable, "payload_key") == 0
        assert {e.content for e in store.get_fact_history(memory.fact_id)} == {None}
        again = store.remember("CANARY", user_id=USER)
        memory.clock.now = us(at(2024, 8))
        store.update(again.fact_id, content="danach")
        memory.clock.now = us(at(2029))
        memory.thin()
        store.erase(user_id=USER, reason="asked")
        assert _count(durable, "payload_key") + _count(durable, "thinning") == 0
        assert store.verify()
    assert traces(durable, "CANARY") == []


# B55, B13: archived and backed-up copies say no more than the ledger does.
def test_neither_the_archive_nor_an_older_backup_brings_it_back(
    durable: Backend, tmp_path: Path
) -> None:
    memory = lived(durable)
    with memory.store as store:
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.archive()
        store.prune()
        before = [memory.known(each) for each in KEPT]
        keys = set(wrapped_keys(durable))

        memory.thin()

        assert [memory.known(each) for each in KEPT] == before
        destroyed = keys - set(wrapped_keys(durable))
        assert len(destroyed) == 1
        assert traces(durable, "CANARY", *destroyed) == []
        store.remember("later", user_id=USER)

    for _ in range(2):
        backup.restore()
        with durable.open(clock=memory.clock, embedder="none") as store:
            memory.store = store
            history = store.get_fact_history(memory.fact_id)
            assert [each.kind for each in history][7:] == ["thinned"]
            assert history.versions[-1].thinned == GONE
            assert [memory.known(each).facts for each in KEPT] == [e.facts for e in before]
            for when in BETWEEN:
                with pytest.raises(ThinnedError):
                    memory.known(when)
            assert store.verify()
            store.update(memory.fact_id, content="danach")
            assert store.get(memory.fact_id).content == "danach"


def test_a_backup_from_before_the_fact_opens(durable: Backend, tmp_path: Path) -> None:
    with durable.open(clock=SettableClock(us(at(2018)))) as store:
        store.remember("first", user_id="bob")
        backup = Backup.of(durable, tmp_path / "backup.db")
    memory = lived(durable)
    with memory.store:
        memory.thin()

    backup.restore()

    with durable.open(clock=memory.clock) as store:
        with pytest.raises(UnknownFactError):
            store.get_fact_history(memory.fact_id)
        assert store.verify()


# C3: what nobody can read is accepted only where an event says so.
def test_verify_finds_a_key_that_is_gone_without_an_event(durable: Backend) -> None:
    memory = lived(durable)
    with memory.store as store:
        memory.thin()
        fact = store.remember("CANARY", user_id=USER)
        assert store.verify()
    with durable.sql() as connection:
        query = "SELECT key_id FROM ledger_event WHERE position = :at"
        key_id = connection.execute(sa.text(query), {"at": fact.position}).scalar_one()
    with durable.sql(vault=True) as connection:
        delete = "DELETE FROM stream_key WHERE key_id = :key_id"
        connection.execute(sa.text(delete), {"key_id": key_id})

    with durable.open(clock=memory.clock) as store:
        store.rebuild()
        findings = store.verify().findings

    assert [(each.position, each.kind) for each in findings] == [
        (fact.position, "projection")
    ]
    assert "no event says why" in findings[0].problem


def test_vectors_of_what_was_kept_are_kept_and_the_others_go(
    durable: Backend, tmp_path: Path
) -> None:
    memory = lived(durable, embedder="hashing")
    with memory.store as store:
        store.catch_up()
        found = [
            store.search("zwei fünf", user_id=USER, as_of=each, explain=True)
            for each in KEPT
        ]
        backup = Backup.of(durable, tmp_path / "backup.db")

        memory.thin()
        store.catch_up()

        assert _count(durable, "version_vector", vault=False) == 1 + 4
        assert [
            store.search("zwei fünf", user_id=USER, as_of=each, explain=True)
            for each in KEPT
        ] == found
        assert store.reconcile() == ()
    backup.restore()
    with durable.open(clock=memory.clock, embedder="hashing") as store:
        store.catch_up()
        again = [store.search("zwei fünf", user_id=USER, as_of=each) for each in KEPT]
    assert [[hit.fact for hit in hits] for hits in again] == [
        [hit.fact for hit in hits] for hits in found
    ]


def test_a_thinning_that_was_announced_and_never_said_is_withdrawn(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        thinnings = store._ledger.vault.thinnings

        def fail(*_: object) -> None:
            raise RuntimeError

        store._ledger.before_commit = fail
        with pytest.raises(RuntimeError):
            memory.thin()
        assert [each.step for each in thinnings.all()] == [Step.ANNOUNCED]
        store._ledger.before_commit = lambda *_: None

        store.remember("goes on", user_id=USER)
        (receipt,) = memory.thin()

        assert receipt.fact_ids == (memory.fact_id,)
        assert [each.step for each in thinnings.all()] == [Step.DONE]


def _count(backend: Backend, table: str, *, vault: bool = True) -> int:
    with backend.sql(vault=vault) as connection:
        return int(
            connection.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one()
        )
