"""Cursors: where a list goes on, bound to the query that made it."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from muniment.domain.time import Instant
from muniment.errors import InvalidCursorError
from muniment.ledger import sealing
from muniment.ledger.codec import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """
    Where a list stands, on both axes and in its order.

    Attributes:
        recorded_at: What was known at this time …
        valid_at: … about this time.
        now: The recorded time by which expiry is judged.
        position: Of the last event that was known.
        after_valid_from: Valid start of the last item given.
        after_fact_id: Fact of the last item given.
    """

    recorded_at: Instant
    valid_at: Instant
    now: Instant
    position: int
    after_valid_from: Instant
    after_fact_id: str


def named(text: object, may_be: Callable[[str], object]) -> str | None:
    """
    Return the cursor of a list that goes on behind a name: that name, if there is one.

    Raises:
        InvalidCursorError: If nothing has such a name. Every text sorts somewhere, and
            what lies before it would be missed without a word.
    """
    if text is None:
        return None
    if not isinstance(text, str) or not may_be(text):
        raise InvalidCursorError
    return text


def written(cursor: Cursor, *, query: object, key: bytes) -> str:
    """Return *cursor* as text that works for *query* alone."""
    plain = canonical(cursor)
    return base64.urlsafe_b64encode(_tag(plain, query, key) + plain).decode().rstrip("=")


def read(text: object, *, query: object, key: bytes) -> Cursor:
    """
    Return the cursor that *text* was written from.

    Raises:
        InvalidCursorError: If it was altered, or made by another query.
    """
    if not isinstance(text, str):
        raise InvalidCursorError
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise InvalidCursorError from error
    tag, plain = raw[: sealing.TAG_BYTES], raw[sealing.TAG_BYTES :]
    if not sealing.equal(tag, _tag(plain, query, key)):
        raise InvalidCursorError
    found: Any = msgspec.json.decode(plain, type=Cursor)
    assert isinstance(found, Cursor), "what carries our tag was written by us"
    return found


def _tag(plain: bytes, query: object, key: bytes) -> bytes:
    return sealing.tag(key, canonical(query) + b"\n" + plain)
