"""How errors show values and times in their one line."""

from datetime import UTC, datetime, timedelta


def shown(value: object) -> str:
    """Return *value* quoted, a time as RFC 3339, short enough for one line of a log."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat().replace("+00:00", "Z")
    text = (
        ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    )
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"  # noqa: PLR2004


def moment(us: int) -> str:
    """Return microseconds since 1970 as RFC 3339; in words where no calendar reaches."""
    try:
        found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    except OverflowError:
        return "the beginning" if us < 0 else "forever"
    return found.isoformat(timespec="microseconds").replace("+00:00", "Z")
