"""What evidence says was known at points in time, worked out again from its events."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from muniment.archive.container import AlteredError
from muniment.archive.rederiving import believed


STATES = "as_of.jsonl"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPEN = (-(2**63), 2**63 - 1)
_TOKEN = "[third party"  # noqa: S105 - stands in the place of a name
_TRAITS = ("confidence", "importance", "core")


def time_text(at_us: int) -> str | None:
    """Return microseconds as evidence writes a time; ``None`` for an open end."""
    if at_us in _OPEN:
        return None
    at = _EPOCH + timedelta(microseconds=at_us)
    return f"{at.isoformat(timespec='microseconds').removesuffix('+00:00')}Z"


def check_states(
    lines: Iterable[Mapping[str, Any]],
    facts: Mapping[str, Sequence[Mapping[str, Any]]],
) -> int:
    """
    Work out again what was believed at each point, and compare.

    Args:
        lines: What was known, a point each.
        facts: By fact, all its events, oldest first.

    Returns:
        How many points there are.

    Raises:
        AlteredError: If something else follows from the events.
    """
    count = 0
    for line in lines:
        at, position = line["recorded_at_us"], line["position"]
        for event in (each for events in facts.values() for each in events):
            if (event["position"] <= position) != (event["recorded_at"] <= at):
                problem = f"position {position} is not where the ledger stood then"
                raise AlteredError(STATES, problem)
        for name in ("recorded_at", "valid_at"):
            _compare_time(line, name, line[f"{name}_us"])
        derived = believed(
            facts, position=position, recorded_at=at, valid_at=line["valid_at_us"]
        )
        stated = [
            (e["valid_from_us"], e["fact_id"], e["version"], e["valid_to_us"])
            for e in line["facts"]
        ]
        if derived != stated:
            raise AlteredError(STATES, f"not what follows at {line['recorded_at']}")
        for each in line["facts"]:
            _compare(each, facts[each["fact_id"]][each["version"] - 1])
        count += 1
    return count


def _compare(fact: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    """Refuse a fact that says something else than the event that it rests on."""
    name = f"fact {fact['fact_id']}"
    if fact["content"] != (said["content"] or {}).get("text"):
        raise AlteredError(STATES, f"{name} says something else than its event")
    for place in ("position", "tx_id"):
        if fact[place] != said[place]:
            raise AlteredError(STATES, f"{name} has another {place} than its event")
    traits = said["header"]["traits"]
    for trait in _TRAITS:
        if trait in traits and fact.get(trait) != traits[trait]:
            raise AlteredError(STATES, f"{name} has another {trait} than its event")
    _compare_time(fact, "recorded_at", said["recorded_at"])
    for bound in ("valid_from", "valid_to"):
        _compare_time(fact, bound, fact[f"{bound}_us"])
    expires_at = traits.get("expires_at")
    _compare_time(fact, "expires_at", _OPEN[1] if expires_at is None else expires_at)


def _compare_time(line: Mapping[str, Any], name: str, at_us: int) -> None:
    """Refuse a time that is written otherwise than it was compared."""
    written = line[name]
    # A name that is to be hidden may be in a time, which then says nothing any more.
    if written != time_text(at_us) and _TOKEN not in (written or ""):
        raise AlteredError(STATES, f"{name} is not {time_text(at_us)}")
