"""What went wrong with updates, repeats and periods in other systems, tried here."""

import random
from typing import Any

import pytest

from muniment import Fact, MemoryStore
from muniment.api.lookup import Lookup
from muniment.domain.time import FOREVER
from muniment.errors import FactNotCurrentError
from tests.api.days import MICROSECOND, day, set_to, year
from tests.api.whole import current
from tests.stores import DURABLE, Backend, SettableClock


Span = tuple[object, object, str | None]


def beliefs(store: MemoryStore, fact: Fact) -> list[Span]:
    """Return for which periods of valid time which content is believed of *fact*."""
    lookup: Lookup = store._lookup
    subject, events = lookup.ledger.fact(fact.fact_id)
    rows = [
        row
        for row in lookup.timeline.rows()
        if row.fact_id == fact.fact_id and row.recorded.end == FOREVER
    ]
    texts = {each.version: each.content for each in lookup.versions(subject, events)}
    plan = store.plan_rollback(fact_id=fact.fact_id, to_version=0)
    planned = plan.diff.removed[0].beliefs_before if plan.diff else ()
    assert [each.version for each in planned] == [row.version for row in rows]
    assert [each.content for each in planned] == [texts[row.version] for row in rows]
    return [(each.valid_from, each.valid_to, each.content) for each in planned]


def test_an_update_without_a_period_leaves_exactly_the_rows_it_should(
    store: MemoryStore, clock: SettableClock
) -> None:
    """XTDB #4650: it missed a version dated later, and clipped the current one wrongly."""
    set_to(clock, year(2009))
    one = store.remember("one", user_id="u", valid_from=year(2010), valid_to=year(2040))
    other = store.remember("other", user_id="u", valid_from=year(2050), valid_to=year(2080))
    set_to(clock, year(2020))

    store.update(one.fact_id, content="one, changed")

    assert beliefs(store, one) == [
        (year(2010), year(2020), "one"),
        (year(2020), None, "one, changed"),
    ]
    assert beliefs(store, other) == [(year(2050), year(2080), "other")]


def test_an_update_without_a_period_reaches_what_is_dated_later(
    store: MemoryStore, clock: SettableClock
) -> None:
    """XTDB #4650, within one fact: from now on, and so also over what was planned."""
    set_to(clock, year(2009))
    fact = store.remember("now", user_id="u", valid_from=year(2010), valid_to=year(2040))
    store.update(
        fact.fact_id, content="planned", valid_from=year(2050), valid_to=year(2080)
    )
    three = [
        (year(2010), year(2040), "now"),
        (year(2050), year(2080), "planned"),
    ]
    assert beliefs(store, fact) == three
    set_to(clock, year(2020))

    store.update(fact.fact_id, content="changed", valid_to=year(2060))

    assert beliefs(store, fact) == [
        (year(2010), year(2020), "now"),
        (year(2020), year(2060), "changed"),
        (year(2060), year(2080), "planned"),
    ]
    set_to(clock, year(2021))
    store.end(fact.fact_id)
    assert beliefs(store, fact) == [
        (year(2010), year(2020), "now"),
        (year(2020), year(2021), "changed"),
    ]
    store.forget(fact.fact_id)
    assert beliefs(store, fact) == []


def test_a_period_without_a_start_begins_at_a_time_nobody_said(
    store: MemoryStore, clock: SettableClock
) -> None:
    """XTDB #4448: an empty start produced a period that ended before it began."""
    set_to(clock, year(2020))

    past = store.remember("past", user_id="u", valid_to=year(2015))
    set_to(clock, year(2021))
    coming = store.remember("coming", user_id="u", valid_to=year(2025))

    assert (past.valid_from, past.valid_to) == (None, year(2015))
    assert (coming.valid_from, coming.valid_to) == (year(2021), year(2025))
    now = store.get_memory_as_of(user_id="u", timestamp=year(2021))
    long_ago = store.get_memory_as_of(
        user_id="u", timestamp=year(2021), valid_at="0001-01-01T00:00:00Z"
    )
    assert [each.content for each in now] == ["coming"]
    assert [each.content for each in long_ago] == ["past"]


def _shake(store: MemoryStore, clock: SettableClock, chance: random.Random) -> None:
    """Do something at random whose times collide with those of what was done before."""
    start, end = sorted(chance.sample(range(8), 2))
    facts = store.list_modified_facts(user_id="u", start=day(-1))
    fact_id = chance.choice([each.fact_id for each in facts])
    set_to(clock, day(chance.randrange(8)))
    match chance.randrange(8):
        case 0:
            store.remember(str(chance.random()), user_id="u", valid_to=day(end))
        case 1 | 2:
            store.end(fact_id, valid_to=day(end))
        case 3:
            store.forget(fact_id)
        case 4:
            store.restore(fact_id)
        case 5:
            store.rollback_fact(fact_id, to_version=chance.randrange(2))
        case action if store.plan_rollback(fact_id=fact_id, to_version=0).diff:
            revise = store.update if action == 6 else store.correct
            revise(
                fact_id,
                content=str(chance.random()),
                valid_from=day(start),
                valid_to=chance.choice([day(end), day(8)]),
            )
        case _:
            pass


@pytest.mark.parametrize("seed", range(3))
def test_no_operation_leaves_a_period_of_no_width(
    seed: int, store: MemoryStore, clock: SettableClock, backend: Backend
) -> None:
    """XTDB #2678: updates left empty periods behind, hidden by filters."""
    chance = random.Random(seed)  # noqa: S311 - the same operations each time
    store.remember("first", user_id="u", valid_from=day(0), valid_to=day(4))

    for _ in range(80):
        _shake(store, clock, chance)

    rows = list(store._lookup.timeline.rows())
    assert len(rows) > 20
    assert all(row.valid.start < row.valid.end for row in rows)
    assert all(row.recorded.start < row.recorded.end for row in rows)
    if backend.kind in DURABLE:
        with backend.sql() as connection:
            query = (
                "SELECT count(*) FROM belief WHERE recorded_from_us >= recorded_to_us "
                "OR valid_from_us >= valid_to_us"
            )
            assert connection.exec_driver_sql(query).scalar() == 0
    assert store.rebuild() == len(rows)
    assert list(store._lookup.timeline.rows()) == rows


def test_what_was_so_before_is_not_given_beside_what_is_so_now(
    store: MemoryStore, clock: SettableClock
) -> None:
    """mem0 #4956, #5576: both employers were returned."""
    set_to(clock, day(1))
    fact = store.remember("works at Acme", user_id="u")
    set_to(clock, day(5))
    store.update(fact.fact_id, content="works at Bolt")

    now = [each.content for each in store.get_all(user_id="u")]
    then = [each.content for each in store.get_memory_as_of(user_id="u", timestamp=day(3))]
    just_before = store.get_memory_as_of(user_id="u", timestamp=day(5) - MICROSECOND)
    at_once = store.get_memory_as_of(user_id="u", timestamp=day(5))

    assert now == ["works at Bolt"]
    assert then == ["works at Acme"]
    assert [each.content for each in just_before] == ["works at Acme"]
    assert [each.content for each in at_once] == ["works at Bolt"]
    about_then = store.get_memory_as_of(user_id="u", timestamp=day(5), valid_at=day(3))
    assert [each.content for each in about_then] == ["works at Acme"]


def test_one_change_supersedes_one_fact(store: MemoryStore, clock: SettableClock) -> None:
    """graphiti #1728: taking in one thing retired six to eight unrelated facts."""
    for user in range(10):
        store.remember_many(
            [f"likes number {number}" for number in range(10)], user_id=f"u-{user}"
        )
    before = {user: store.get_all(user_id=f"u-{user}").items for user in range(10)}
    fact = before[4][7]
    set_to(clock, day(1))

    store.update(fact.fact_id, content="likes number 7 no more")

    rows = list(store._lookup.timeline.rows())
    superseded = [row for row in rows if row.recorded.end != FOREVER]
    assert [row.fact_id for row in superseded] == [fact.fact_id]
    assert len(rows) == 100 + 2
    for user, facts in before.items():
        after = store.get_all(user_id=f"u-{user}").items
        others = [each for each in facts if each.fact_id != fact.fact_id]
        assert [each for each in after if each.fact_id != fact.fact_id] == others


def test_ten_old_supports_do_not_outvote_one_change(
    store: MemoryStore, clock: SettableClock
) -> None:
    """hindsight #1151: old evidence outvoted a change."""
    fact = store.remember("drinks coffee", user_id="u")
    for number in range(10):
        set_to(clock, day(1 + number))
        store.remember("drinks coffee", user_id="u", source=f"session {number}")
    set_to(clock, day(20))

    store.update(fact.fact_id, content="drinks tea", confidence=0.3)

    assert [each.content for each in store.get_all(user_id="u")] == ["drinks tea"]
    assert store.get_fact_history(fact.fact_id).current_content == "drinks tea"


def test_a_text_said_fifty_times_is_one_fact(
    store: MemoryStore, clock: SettableClock
) -> None:
    """mem0 #4412: a fifth of a store was exact copies."""
    first = store.remember("likes hiking", user_id="u", source="turn 0")
    for number in range(1, 50):
        set_to(clock, day(number))
        store.remember(f"likes hiking {number}", user_id="u")
        store.remember("likes hiking", user_id="u", source=f"turn {number}")

    hiking = current(store, "u")["likes hiking"]
    history = store.get_fact_history(first.fact_id)

    assert len(current(store, "u")) == 50
    assert hiking == first
    assert [each.kind for each in history] == ["asserted", *["corroborated"] * 49]
    assert [each.source for each in history] == [f"turn {number}" for number in range(50)]
    assert history.current_content == "likes hiking"


def test_a_batch_repeats_neither_itself_nor_what_is_known(store: MemoryStore) -> None:
    """mem0 #4412, within one request, and between users."""
    known = store.remember("a", user_id="u")

    receipt = store.remember_many(["a", "b", "b", "b", "A", "a "], user_id="u")
    other = store.remember("a", user_id="other")
    of_a_kind = store.remember("a", user_id="u", category="letters")

    assert receipt.facts[0] == known
    contents = [each.content for each in store.get_all(user_id="u")]
    assert sorted(each or "" for each in contents) == ["A", "a", "a", "a ", "b"]
    assert len({known.fact_id, other.fact_id, of_a_kind.fact_id}) == 3
    assert len(store.get_all(user_id="other")) == 1


def test_changing_the_text_keeps_the_rest(store: MemoryStore, clock: SettableClock) -> None:
    """mem0 #5160, #3966: editing the text lost the keys of the caller."""
    kept = {"metadata": {"crm": {"id": 7, "tags": ["a", None, 1.5]}}, "core": True}
    fact = store.remember(
        "one",
        user_id="u",
        category="job",
        attribute="title",
        entities=("Ada",),
        importance=0.9,
        confidence=0.4,
        metadata={"crm": {"id": 7, "tags": ["a", None, 1.5]}},
        core=True,
        expires_at=day(99),
    )
    set_to(clock, day(1))
    updated = store.update(fact.fact_id, content="two")
    set_to(clock, day(2))
    corrected = store.correct(fact.fact_id, content="three", valid_from=day(1))
    set_to(clock, day(3))
    store.rollback_fact(fact.fact_id, to_version=2)
    rolled_back = store.get(fact.fact_id)

    for later in (updated, corrected, rolled_back):
        assert later.metadata == fact.metadata == kept["metadata"]
        assert (later.category, later.attribute) == ("job", "title")
        assert (later.entities, later.core) == (("Ada",), kept["core"])
        assert (later.importance, later.confidence) == (0.9, 0.4)
        assert later.expires_at == day(99)
    emptied = store.update(fact.fact_id, metadata={}, entities=())
    assert (emptied.content, emptied.metadata, emptied.entities) == ("two", {}, ())


def test_reading_does_not_revive_what_has_expired(
    store: MemoryStore, clock: SettableClock
) -> None:
    """M41: langgraph #8902, #8354: an expired row was returned, and a read refreshed it."""
    fact = store.remember("one-time code", user_id="u", expires_at=day(1))
    set_to(clock, day(1) - MICROSECOND)
    assert store.get(fact.fact_id) == fact
    assert [each.fact_id for each in store.get_all(user_id="u")] == [fact.fact_id]

    set_to(clock, day(1))

    for _ in range(3):
        with pytest.raises(FactNotCurrentError, match="expired"):
            store.get(fact.fact_id)
        assert store.get_all(user_id="u").items == ()
        assert store.search("one-time code", user_id="u").items == ()
        assert store.get_memory_as_of(user_id="u", timestamp=day(1)).facts == ()
        assert store.blame(user_id="u") == ()
    said_again = store.remember("one-time code", user_id="u")
    assert said_again.fact_id != fact.fact_id
    assert store.get_all(user_id="u").items == (said_again,)


@pytest.mark.parametrize("renewed", [{"expires_at": day(9)}, {"clear": ["expires_at"]}])
def test_what_has_expired_is_not_updated_unless_it_is_to_be_used_again(
    store: MemoryStore, clock: SettableClock, renewed: dict[str, Any]
) -> None:
    fact = store.remember("parks in bay 4", user_id="u", expires_at=day(1))
    set_to(clock, day(1))

    for said in ({"content": "parks in bay 5"}, {"content": fact.content}):
        with pytest.raises(FactNotCurrentError, match="expired, give expires_at"):
            store.update(fact.fact_id, **said)
    assert store.correct(fact.fact_id, content="parked in bay 3").expires_at == day(1)
    assert store.get_all(user_id="u").items == ()

    updated = store.update(fact.fact_id, content="parks in bay 5", **renewed)
    assert store.get_all(user_id="u").items == (updated,)


def test_what_has_expired_says_nothing_in_its_history_either(
    store: MemoryStore, clock: SettableClock
) -> None:
    """langgraph #8902: one way of reading forgot that the row had expired."""
    fact = store.remember("one-time code", user_id="u", expires_at=day(1))
    set_to(clock, day(1))

    history = store.get_fact_history(fact.fact_id)

    assert [each.content for each in history] == ["one-time code"]
    assert history.current_content is None


def test_a_state_of_the_past_has_what_has_expired_since(
    store: MemoryStore, clock: SettableClock
) -> None:
    """memanto #1617: expiry was judged by today, so past states missed items."""
    fact = store.remember("has a fever", user_id="u", expires_at=day(7))
    set_to(clock, day(14))

    def at(number: float) -> list[str]:
        snapshot = store.get_memory_as_of(user_id="u", timestamp=day(number))
        return [each.fact_id for each in snapshot]

    assert at(3) == [fact.fact_id]
    assert at(14) == at(7) == []
    assert store.get(fact.fact_id, as_of=day(7) - MICROSECOND) == fact
    about = store.get_memory_as_of(user_id="u", timestamp=day(14), valid_at=day(3))
    assert about.facts == ()
    diff = store.diff_memory(user_id="u", time_a=day(3), time_b=day(14))
    assert [(each.before, each.after) for each in diff.removed] == [(fact, None)]
    assert [each.kind for each in diff.removed[0].causes] == ["asserted"]
