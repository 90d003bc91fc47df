"""Three stories of a poisoned memory, and what taking the poison out leaves."""

import pytest

from muniment.domain import rollback
from muniment.domain.events import FactEnded, FactEvent, FactRedacted, FactRolledBack
from muniment.domain.fact import fold
from muniment.domain.rollback import CausedBy, Stamp, StampedFact
from muniment.domain.time import Instant
from muniment.errors import InvalidValueError, VersionBeyondHeadError
from tests.unit.facts import CORROBORATED, RETIRED, asserted, period, revised, shown


TEA = asserted("tea", period(0))
POISON = revised("poison", period(50))
TOOL = CausedBy(session_id="tool")


def stamped(*events: tuple[str, FactEvent]) -> StampedFact:
    """Return a fact with the session of each event; version k is recorded at 10 k."""
    return StampedFact(
        state=fold(event for _, event in events),
        stamps=tuple(
            Stamp(
                position=number,
                tx_id=number,
                recorded_at=Instant(10 * number),
                actor=None,
                trigger=None,
                session_id=session,
                source=None,
            )
            for number, (session, _) in enumerate(events, 1)
        ),
    )


def test_what_only_the_tool_wrote_goes_and_the_rest_is_as_before() -> None:
    moves = rollback.without({"f": stamped(("ann", TEA), ("tool", POISON))}, TOOL)

    (move,) = moves.moves
    assert move.events == (FactRolledBack(to_version=1),)
    assert shown(move.before) == [(0, 50, 1), (50, None, 2)]
    assert shown(move.after) == [(0, None, 1)]


def test_a_fact_that_only_the_tool_told_goes_as_if_it_had_never_been() -> None:
    moves = rollback.without({"f": stamped(("tool", TEA))}, TOOL)

    (move,) = moves.moves
    assert move.after == ()


def test_what_others_wrote_about_another_time_is_kept() -> None:
    wine = revised("wine", period(10, 20))
    fact = stamped(("ann", TEA), ("tool", POISON), ("ann", wine))

    (move,) = rollback.without({"f": fact}, TOOL).moves

    assert shown(move.after) == [(0, 10, 1), (10, 20, 3), (20, None, 1)]


@pytest.mark.parametrize(
    "later",
    [revised("wine", period(60)), FactEnded(valid_to=Instant(90)), CORROBORATED],
)
def test_what_others_said_on_top_is_a_conflict(later: FactEvent) -> None:
    fact = stamped(("ann", TEA), ("tool", POISON), ("ann", later))

    moves = rollback.without({"f": fact}, TOOL)

    (conflict,) = moves.conflicts
    assert conflict.versions == (3,)
    assert moves.moves == ()
    assert conflict.forced is not None
    assert shown(conflict.forced.after) == [(0, None, 1)]


@pytest.mark.parametrize("later", [RETIRED, FactRolledBack(to_version=0)])
def test_what_others_took_away_is_no_conflict_and_stays_away(later: FactEvent) -> None:
    fact = stamped(("ann", TEA), ("tool", POISON), ("ann", later))

    moves = rollback.without({"f": fact}, TOOL)

    assert moves == rollback.Moves()


def test_facts_the_cause_did_not_touch_are_not_touched() -> None:
    assert rollback.without({"f": stamped(("ann", TEA))}, TOOL) == rollback.Moves()


def test_back_to_a_time_each_fact_is_what_it_was_then() -> None:
    facts = {
        "kept": stamped(("ann", TEA)),
        "changed": stamped(("ann", TEA), ("ann", POISON)),
        "redacted": stamped(("ann", TEA), ("ann", FactRedacted())),
    }

    moves = rollback.to_time(facts, Instant(19))

    assert [(each.fact_id, shown(each.after)) for each in moves.moves] == [
        ("changed", [(0, None, 1)])
    ]
    assert [each.fact_id for each in moves.skipped] == ["redacted"]


def test_back_to_before_a_fact_it_is_gone() -> None:
    (move,) = rollback.to_time({"f": stamped(("ann", TEA))}, Instant(9)).moves

    assert move.after == ()


def test_what_was_recorded_at_that_very_time_stays() -> None:
    fact = stamped(("ann", TEA), ("ann", POISON))

    assert rollback.to_time({"f": fact}, Instant(20)) == rollback.Moves()


@pytest.mark.parametrize("version", [-1, 2])
def test_a_version_there_never_was_is_refused(version: int) -> None:
    with pytest.raises(VersionBeyondHeadError):
        rollback.to_version("f", stamped(("ann", TEA)), version)


@pytest.mark.parametrize(
    "times", [{}, {"since": Instant(1)}, {"since": Instant(1), "until": Instant(2)}]
)
def test_a_cause_that_names_nobody_is_refused(times: dict[str, Instant]) -> None:
    with pytest.raises(InvalidValueError):
        CausedBy(**times)  # type: ignore[arg-type] # a mapping of times alone


@pytest.mark.parametrize(
    ("since", "until", "wrote"),
    [(None, None, True), (10, 11, True), (11, None, False), (None, 10, False)],
)
def test_a_cause_is_bounded_like_a_period(
    since: int | None, until: int | None, *, wrote: bool
) -> None:
    cause = CausedBy(
        session_id="ann",
        since=None if since is None else Instant(since),
        until=None if until is None else Instant(until),
    )

    assert cause.wrote(stamped(("ann", TEA)).stamps[0]) is wrote
