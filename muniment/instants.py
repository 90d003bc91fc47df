"""Instants as people and programs write them: aware datetimes and RFC 3339."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from muniment.domain.time import BEGINNING, FOREVER, Instant
from muniment.errors import InvalidTimeError


Time = datetime | str
"""An aware datetime, or RFC 3339 text with an offset; not finer than a microsecond."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_RFC_3339: Final = re.compile(
    # Hours and minutes by what they may be: of an offset Python takes 60 minutes, and from
    # 3.14 on hour 24 for the next day.
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt ](?P<clock>(?:[01]\d|2[0-3]):[0-5]\d:\d\d)"
    r"(?:\.(?P<fraction>\d+))?(?P<offset>[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?",
    re.ASCII,
)
_FRACTION_DIGITS_MAX: Final = 6


def to_instant(value: Time) -> Instant:
    """
    Return the instant that *value* says.

    Raises:
        InvalidTimeError: If it has no offset, is finer than a microsecond, lies outside
            of the years 1 to 9999, or is no time at all.
    """
    match value:
        case str():
            return _from_text(value)
        case datetime():
            return _from_datetime(value)
        case _:
            raise InvalidTimeError(value, "is not a time")


def offset_of(value: Time) -> tuple[int, str | None]:
    """
    Return how far the clock that shows *value* is ahead of UTC, and its zone's name.

    Args:
        value: As `to_instant` takes it.

    Returns:
        Seconds, and the name where a datetime has a zone of the IANA database.
    """
    if isinstance(value, str):
        found = _RFC_3339.fullmatch(value)
        offset = found["offset"] if found else None
        if offset is None or offset in "Zz":
            return 0, None
        minutes = 60 * int(offset[1:3]) + int(offset[4:6])
        return (-60 if offset[0] == "-" else 60) * minutes, None
    ahead = value.utcoffset()
    zone = getattr(value.tzinfo, "key", None)
    return (0 if ahead is None else int(ahead.total_seconds())), zone


def to_datetime(instant: Instant) -> datetime | None:
    """Return *instant* as an aware UTC datetime; ``None`` for an open end or start."""
    if instant in (BEGINNING, FOREVER):
        return None
    return moment(instant)


def moment(instant: Instant) -> datetime:
    """Return *instant*, which is no open end, as an aware UTC datetime."""
    return _EPOCH + timedelta(microseconds=instant)


def to_text(value: datetime | None) -> str | None:
    """Return *value* as RFC 3339 in UTC with six digits and ``Z``; an open end stays so."""
    if value is None:
        return None
    if value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    return f"{value.isoformat(timespec='microseconds').removesuffix('+00:00')}Z"


def _from_datetime(value: datetime) -> Instant:
    if value.utcoffset() is None:
        raise InvalidTimeError(value, "has no offset")
    if getattr(value, "nanosecond", 0):
        raise InvalidTimeError(value, "is finer than a microsecond")
    if not _FIRST <= value <= _LAST:
        # An offset may put it there. It could be kept, but not given back in UTC.
        raise InvalidTimeError(value, "lies outside of the years 1 to 9999")
    return Instant((value - _EPOCH) // _MICROSECOND)


def _from_text(text: str) -> Instant:
    found = _RFC_3339.fullmatch(text)
    if found is None:
        if re.match(r"[+-]?\d{5,}-", text):
            raise InvalidTimeError(text, "lies outside of the years 1 to 9999")
        raise InvalidTimeError(text, "is not a time")
    if found["offset"] is None:
        raise InvalidTimeError(text, "has no offset")
    fraction = found["fraction"] or ""
    if len(fraction) > _FRACTION_DIGITS_MAX:
        raise InvalidTimeError(text, "is finer than a microsecond")
    offset = "+00:00" if found["offset"] in "Zz" else found["offset"]
    spelled = f"{found['day']}T{found['clock']}.{fraction:0<6}{offset}"
    try:
        return _from_datetime(datetime.fromisoformat(spelled))
    except ValueError as error:
        raise InvalidTimeError(text, f"is not a time ({error})") from error
    except OverflowError as error:
        raise InvalidTimeError(text, "lies outside of the years 1 to 9999") from error
