"""Files that are given out: written whole, to a new name, readable by their owner alone."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from muniment.domain.time import Instant
from muniment.errors import InvalidValueError
from muniment.instants import Time, to_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    A package of evidence that was written.

    Attributes:
        file: Where it is.
        byte_count: How large it is.
        sha256: Of the file, hexadecimal; name it where it is handed over.
    """

    file: str
    byte_count: int
    sha256: str


def given_out(file: Path, make: Callable[[], bytes]) -> Evidence:
    """
    Write what *make* returns to a new *file*; it is there whole or not at all.

    Raises:
        InvalidValueError: If *file* is there already; nothing is made then.
    """
    if file.exists():
        raise InvalidValueError("file", str(file), "a name that is not taken")
    content = make()
    unnamed = file.with_name(f".{file.name}.new")
    descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    unnamed.replace(file)
    digest = hashlib.sha256(content).hexdigest()
    return Evidence(file=str(file), byte_count=len(content), sha256=digest)


def points_of(given: object) -> tuple[tuple[Instant, Instant | None], ...]:
    """Return points on both axes: recorded times, each with what it is about, if said."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidValueError("points", given, "a list of times, or of pairs of times")
    return tuple(map(_point_of, given))


def _point_of(given: Time | tuple[Time, Time | None]) -> tuple[Instant, Instant | None]:
    if not isinstance(given, tuple):
        return to_instant(given), None
    if len(given) != 2:  # noqa: PLR2004 - on two axes
        raise InvalidValueError("points", given, "times, or pairs of times")
    recorded_at, valid_at = given
    return to_instant(recorded_at), None if valid_at is None else to_instant(valid_at)
