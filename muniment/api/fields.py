"""The fields that writing verbs share, each optional, by the name callers use."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from muniment.domain.text import Json
from muniment.instants import Time


class Who(TypedDict, total=False):
    """
    Who writes, and on whose word.

    Attributes:
        actor: Who does it; up to 256 characters, as all names here.
        on_behalf_of: The user whom the actor, an agent or a service, does it for.
        trigger: What set it off; ``user_explicit`` if left out.
        session_id: The conversation it happened in.
        source_turns: The turns of conversation it rests on, in order; at most 1,000.
        idempotency_key: A repeated key is answered as the first time; the same key for
            another request is refused.
    """

    actor: str | None
    on_behalf_of: str | None
    trigger: str | None
    session_id: str | None
    source_turns: Sequence[str]
    idempotency_key: str | None


class By(Who, total=False):
    """
    Who writes, why, and on whose word.

    Attributes:
        reason: Why, in words; up to 4,096 characters.
    """

    reason: str | None


class Deed(TypedDict, total=False):
    """
    Who does something, and why.

    Attributes:
        actor, on_behalf_of, reason, trigger: As of `By`.
    """

    actor: str | None
    on_behalf_of: str | None
    reason: str | None
    trigger: str | None


class KeyedDeed(Deed, total=False):
    """
    Who does something that a key names, and why.

    Attributes:
        idempotency_key: As of `By`.
    """

    idempotency_key: str | None


class NewTurn(KeyedDeed, total=False):
    """
    What can be said of a turn besides who said what.

    Attributes:
        uttered_at: When it was said, its offset and zone kept; when it is recorded if
            left out. Turns are ordered by it.
        agent: Which agent spoke; up to 256 characters, as all names here.
        tool: Which tool answered, or was called.
        entities: Names it mentions; at most 1,000.
        metadata: The caller's own JSON; no key may be named like a field of `Fact`.
    """

    uttered_at: Time | None
    agent: str | None
    tool: str | None
    entities: Sequence[str]
    metadata: Mapping[str, Json] | None


class NewFact(By, total=False):
    """
    What can be said of something to be remembered.

    Attributes:
        category: Kind of fact; up to 128 characters. Stays readable once the content is
            erased, so nothing personal.
        attribute: What it is about within its category; likewise.
        valid_from: When it began to hold; when it is recorded if left out, or, where
            *valid_to* is over by then, at a time nobody said.
        valid_to: When it ceases to hold, exclusive; never if left out.
        source: What it came from; ``user_explicit`` if left out.
        status: ``active``, or ``unverified`` while nobody has vouched for it; ``active``
            if left out.
        confidence: 0 to 1; 1.0 if left out.
        importance: 0 to 1; 0.5 if left out.
        core: Whether it belongs into every prompt; false if left out.
        entities: Names it mentions; at most 1,000.
        metadata: The caller's own JSON; no key may be named like a field of `Fact`.
        expires_at: From then on it is not used; never if left out.
    """

    category: str | None
    attribute: str | None
    valid_from: Time | None
    valid_to: Time | None
    source: str
    status: str
    confidence: float
    importance: float
    core: bool
    entities: Sequence[str]
    metadata: Mapping[str, Json] | None
    expires_at: Time | None


class Revision(By, total=False):
    """
    What a fact can say anew; a field left out, or ``None``, stays as it was.

    Attributes:
        content: What it says now.
        valid_from: From when on; see the verb for what it is if left out.
        valid_to: Until when, exclusive; see the verb.
        source: What the revision came from; ``user_explicit`` if left out.
        expected_version: Only if nothing it believes changed after this version.
        clear: Which of ``category``, ``attribute``, ``expires_at``, ``entities`` and
            ``metadata`` it has no more.
    """

    content: str | None
    category: str | None
    attribute: str | None
    valid_from: Time | None
    valid_to: Time | None
    source: str
    status: str | None
    confidence: float | None
    importance: float | None
    core: bool | None
    entities: Sequence[str] | None
    metadata: Mapping[str, Json] | None
    expires_at: Time | None
    expected_version: int | None
    clear: Sequence[str]
