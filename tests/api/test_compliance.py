"""Items of docs/reference/compliance.md that no other part has a test of."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from muniment import MemoryStore, Principal
from muniment.api.fields import NewFact
from muniment.domain.access import Kind
from muniment.errors import (
    ActorRequiredError,
    ImpersonationError,
    InvalidPeriodError,
    InvalidTimeError,
)
from muniment.settings import Settings
from tests.stores import Backend


AGENT = Principal(id="bot", kind=Kind.AGENT, user_id="ann")
US = timedelta(microseconds=1)


def test_c1_a_write_says_who_for_whom_from_what_source_when_and_about_whom(
    backend: Backend,
) -> None:
    with backend.open() as store:
        agent = store.acting_as(AGENT)
        told = store.remember("茶", user_id="ann", actor="desk", on_behalf_of="ann")
        fact = agent.remember("likes tea", user_id="ann", reason="said so")
        with pytest.raises(ImpersonationError, match="on_behalf_of"):
            agent.remember("b", user_id="ann", on_behalf_of="bob")
        store.rollback_where(
            user_id="ann", actor="bot", by_actor="desk", on_behalf_of="ann"
        )

        history = store.get_fact_history(fact.fact_id)
        first, last = history.versions
        assert (first.actor, first.on_behalf_of, first.source) == (
            "bot",
            "ann",
            "agent:bot",
        )
        assert (first.reason, first.recorded_at.tzinfo) == ("said so", UTC)
        assert (last.actor, last.on_behalf_of, history.scope) == ("desk", "ann", fact.scope)
        (one,) = store.get_fact_history(told.fact_id).versions
        assert (one.actor, one.on_behalf_of, one.source) == ("desk", "ann", "user_explicit")
        assert store.verify()


@pytest.fixture(scope="module")
def strict() -> Iterator[MemoryStore]:
    """A store that wants to know who writes."""
    settings = Settings(database_url="memory://", require_actor=True)
    with MemoryStore.open(settings) as store:
        yield store


def test_c1_a_write_without_an_actor_is_refused_where_that_is_asked_for() -> None:
    settings = Settings(database_url="memory://", require_actor=True)
    with MemoryStore.open(settings) as store:
        fact = store.remember("a", user_id="u", actor="desk")
        session = store.start_session(user_id="u", actor="desk")
        for write in (
            lambda: store.remember("b", user_id="u"),
            lambda: store.update(fact.fact_id, content="b", actor=""),
            lambda: store.forget(fact.fact_id),
            lambda: store.add_turn(session.session_id, role="user", content="b"),
            lambda: store.place_hold(user_id="u", matter="case"),
            lambda: store.rollback_where(user_id="u", actor="desk"),
            lambda: store.retain([]),
            lambda: store.erase(user_id="u", reason="asked"),
        ):
            with pytest.raises(ActorRequiredError, match="who does it"):
                write()
        store.place_hold(user_id="u", matter="case", issued_by="counsel", hold_id="h")
        store.release_hold("h", user_id="u", actor="counsel")
        store.acting_as(Principal(id="u")).remember("c", user_id="u")
        store.search("a", user_id="u")
        store.flush_receipts()

        assert [each.content for each in store.get_all(user_id="u")] == ["a", "c"]
        assert store.get_receipts(user_id="u")


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        # Twice a night says half past one, and half past two never is.
        ("2026-10-25T01:30:00+01:00", "2026-10-25T00:30:00+00:00"),
        ("2026-10-25T01:30:00+00:00", "2026-10-25T01:30:00+00:00"),
        ("2026-03-08T01:59:59.999999-08:00", "2026-03-08T09:59:59.999999+00:00"),
        ("2026-03-08T03:00:00-07:00", "2026-03-08T10:00:00+00:00"),
        ("2028-02-29T23:59:59+08:00", "2028-02-29T15:59:59+00:00"),
        ("2028-03-01T00:00:00+14:00", "2028-02-29T10:00:00+00:00"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00+00:00"),
        ("2026-01-01T00:00:00.000001+05:45", "2025-12-31T18:15:00.000001+00:00"),
    ],
)
def test_c17_a_time_is_one_instant_in_whatever_zone_it_is_written(
    strict: MemoryStore, written: str, utc: str
) -> None:
    fact = strict.remember("a", user_id="u", valid_from=written, actor="desk")

    (said,) = strict.get_fact_history(fact.fact_id)
    assert fact.valid_from == said.valid_from == datetime.fromisoformat(utc)


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-15T02:00:00",
        "2026-03-15",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-03-15T24:00:00Z",
        "2026-03-15T02:00:00.0000001Z",
    ],
)
def test_c17_a_time_without_offset_or_day_is_refused_and_nothing_is_written(
    strict: MemoryStore, written: str
) -> None:
    for field in ("valid_from", "valid_to", "expires_at"):
        said = NewFact(actor="desk", **{field: written})  # type: ignore[misc]
        with pytest.raises(InvalidTimeError):
            strict.remember("a", user_id="v", **said)
    with pytest.raises(InvalidTimeError):
        strict.get_memory_as_of(user_id="v", timestamp=written)

    assert strict.get_all(user_id="v").items == ()


def test_c17_a_period_holds_from_its_start_up_to_and_without_its_end(
    strict: MemoryStore,
) -> None:
    start, end = (datetime(2024, 2, day, tzinfo=UTC) for day in (28, 29))
    fact = strict.remember("a", user_id="w", valid_from=start, valid_to=end, actor="desk")
    now = fact.recorded_at
    held = {
        at: len(strict.get_memory_as_of(user_id="w", timestamp=now, valid_at=at))
        for at in (start - US, start, end - US, end)
    }
    changed = strict.list_modified_facts(user_id="w", start=now, end=now + US)
    before = strict.list_modified_facts(user_id="w", start=now - US, end=now)

    assert list(held.values()) == [0, 1, 1, 0]
    assert (len(changed), len(before)) == (1, 0)
    with pytest.raises(InvalidPeriodError):
        strict.remember("b", user_id="w", valid_from=start, valid_to=start, actor="desk")
