"""
What was believed, worked out again from the events of evidence, in the plainest way.

A fact is a list of periods, each with the version that is believed for it. Each event
changes that list in one of the ways below; nothing else does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


_FOREVER = 2**63 - 1

Piece = tuple[int, int, int]
"""From, to (exclusive), and the version that is believed then; microseconds."""


def pieces_after(events: Sequence[Mapping[str, Any]]) -> list[list[Piece]]:
    """
    Return what was believed of one fact before its first event, and after each.

    Args:
        events: All of one fact, oldest first; each with its ``kind`` and ``header``.
    """
    after: list[list[Piece]] = [[]]
    redacted = False
    for version, event in enumerate(events, 1):
        redacted = redacted or event["kind"] == "fact.redacted"
        now = [] if redacted else _after(after, version, event["kind"], event["header"])
        after.append(sorted(now))
    return after


def believed(
    facts: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    position: int,
    recorded_at: int,
    valid_at: int,
) -> list[tuple[int, str, int, int]]:
    """
    Return what was believed at one point: valid from, fact, version, valid to; in order.

    Args:
        facts: By fact, all its events, oldest first.
        position: Of the last event that was known.
        recorded_at: When that was asked: what had expired by then was not used.
        valid_at: About when.
    """
    found = []
    for fact_id, events in facts.items():
        known = [each for each in events if each["position"] <= position]
        for start, end, version in pieces_after(known)[-1]:
            expires_at = known[version - 1]["header"]["traits"].get("expires_at")
            is_over = expires_at is not None and expires_at <= recorded_at
            if start <= valid_at < end and not is_over:
                found.append((start, fact_id, version, end))
    return sorted(found)


def _after(
    after: list[list[Piece]], version: int, kind: str, header: Mapping[str, Any]
) -> list[Piece]:
    before = after[-1]
    match kind:
        case "fact.asserted" | "fact.revised":
            start, end = header["valid"]
            return [*_outside(before, start, end), (start, end, version)]
        case "fact.corroborated" | "fact.thinned":
            return before
        case "fact.ended":
            return _outside(before, header["valid_to"], _FOREVER)
        case "fact.retired" | "fact.redacted":
            return []
        case "fact.restored":
            return after[header["to_version"]]
        case "fact.rolled_back":
            start, end = header["within"]
            back = _inside(after[header["to_version"]], start, end)
            return _joined(sorted([*_outside(before, start, end), *back]))
        case _:
            raise ValueError(f"an event of a kind this verifier does not know: {kind}")


def _outside(pieces: Iterable[Piece], start: int, end: int) -> list[Piece]:
    rests = [
        rest
        for first, last, version in pieces
        for rest in (
            (first, min(last, start), version),
            (max(first, end), last, version),
        )
    ]
    return [each for each in rests if each[0] < each[1]]


def _inside(pieces: Iterable[Piece], start: int, end: int) -> list[Piece]:
    cut = [(max(first, start), min(last, end), version) for first, last, version in pieces]
    return [each for each in cut if each[0] < each[1]]


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for start, end, version in pieces:
        if joined and joined[-1][2] == version and joined[-1][1] == start:
            start = joined.pop()[0]  # noqa: PLW2901 - the piece before grows
        joined.append((start, end, version))
    return joined
