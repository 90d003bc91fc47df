from datetime import UTC, datetime, timedelta, timezone
from typing import cast

import pytest

from muniment.domain.time import BEGINNING, FOREVER, Instant
from muniment.errors import InvalidTimeError
from muniment.instants import moment, to_datetime, to_instant, to_text


NOON = Instant(1_772_366_400_000_000)
"""2026-03-01T12:00:00Z"""


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01t12:00:00z", NOON),
        ("2026-03-01 12:00:00+00:00", NOON),
        ("2026-03-01T12:00:00-00:00", NOON),
        ("2026-03-01T20:00:00+08:00", NOON),
        ("2026-02-28T23:30:00-12:30", NOON),
        ("2026-03-01T12:00:00.1Z", NOON + 100_000),
        ("2026-03-01T12:00:00.000001Z", NOON + 1),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ],
)
def test_rfc_3339_is_read_to_the_microsecond(text: str, instant: int) -> None:
    assert to_instant(text) == instant


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2026-03-01T12:00:00", "has no offset"),
        ("2026-03-01", "is not a time"),
        ("2026-03-01T12:00Z", "is not a time"),
        ("2026-03-01T12:00:00.1234567Z", "is finer than a microsecond"),
        ("2026-03-01T12:00:00.0000000Z", "is finer than a microsecond"),
        ("2026-02-29T12:00:00Z", "is not a time"),
        ("2026-03-01T24:00:00Z", "is not a time"),
        ("2026-03-01T12:00:60Z", "is not a time"),
        ("2026-03-01T12:00:00+24:00", "is not a time"),
        ("2026-03-01T12:00:00+01:60", "is not a time"),
        ("2026-03-01T12:00:00-00:99", "is not a time"),
        ("0000-01-01T00:00:00Z", "is not a time"),
        ("10000-01-01T00:00:00Z", "lies outside of the years 1 to 9999"),
        ("-0001-01-01T00:00:00Z", "is not a time"),
        ("tomorrow", "is not a time"),
        ("", "is not a time"),
        ("1772366400", "is not a time"),
        ("\uff12026-03-01T12:00:00Z", "is not a time"),
        ("2026-03-01T12:00:00Z\n", "is not a time"),
    ],
)
def test_a_time_that_would_have_to_be_guessed_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidTimeError) as refused:
        to_instant(text)

    assert refused.value.problem.startswith(problem)


@pytest.mark.parametrize("hours", [-12, 0, 8, 14])
def test_an_aware_datetime_is_read_wherever_it_comes_from(hours: int) -> None:
    there = moment(NOON).astimezone(timezone(timedelta(hours=hours)))

    assert to_instant(there) == NOON


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(InvalidTimeError):
        to_instant(moment(NOON).replace(tzinfo=None))


class Nanoseconds(datetime):
    """As some libraries make them: a datetime with more digits than one has."""

    nanosecond = 1


def test_a_datetime_finer_than_a_microsecond_is_refused() -> None:
    with pytest.raises(InvalidTimeError):
        to_instant(Nanoseconds(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize("value", [None, 0, 1772366400, 1.5, b"2026-03-01T12:00:00Z"])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(InvalidTimeError):
        to_instant(cast("str", value))


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+08:00", "9999-12-31T23:00:00-08:00"])
def test_a_time_that_could_not_be_given_back_in_utc_is_refused(text: str) -> None:
    with pytest.raises(InvalidTimeError):
        to_instant(text)


@pytest.mark.parametrize("instant", [0, -1, NOON, NOON + 1])
def test_an_instant_survives_being_shown(instant: int) -> None:
    shown = to_datetime(Instant(instant))

    assert shown is not None
    assert shown.utcoffset() == timedelta(0)
    assert to_instant(shown) == instant


@pytest.mark.parametrize("bound", [BEGINNING, FOREVER])
def test_an_open_end_is_shown_as_none(bound: Instant) -> None:
    assert to_datetime(bound) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (moment(NOON), "2026-03-01T12:00:00.000000Z"),
        (moment(Instant(NOON + 1)), "2026-03-01T12:00:00.000001Z"),
        (
            moment(NOON).astimezone(timezone(timedelta(hours=8))),
            "2026-03-01T12:00:00.000000Z",
        ),
    ],
)
def test_a_time_is_written_in_utc_with_all_six_digits(
    value: datetime | None, text: str | None
) -> None:
    assert to_text(value) == text
