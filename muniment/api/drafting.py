"""From the fields of a caller to commands, each field checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.api import inputs
from muniment.domain.commands import Changes, RememberFact, ReviseFact
from muniment.domain.events import Content, Evidence, RevisionCause, Status, Traits
from muniment.domain.time import Period
from muniment.errors import InvalidValueError


_REMEMBERED: dict[str, object] = {
    "content": None,
    "category": None,
    "attribute": None,
    "valid_from": None,
    "valid_to": None,
    "source": "user_explicit",
    "confidence": 1.0,
    "importance": 0.5,
    "core": False,
    "entities": (),
    "metadata": None,
    "source_turns": (),
    "expires_at": None,
    "claimed_at": None,
}
"""The fields of something to be remembered, and what they are when left out."""

_REVISED: dict[str, Any] = {
    **dict.fromkeys(_REMEMBERED),
    "source": "user_explicit",
    "source_turns": (),
    "expected_version": None,
    "clear": (),
}
"""The fields of a revision, and what they are when left out."""


CLEARED: dict[str, Any] = {
    "category": None,
    "attribute": None,
    "expires_at": None,
    "entities": (),
    "metadata": {},
}
"""What a revision can clear, and what each is then."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """
    Makes commands of fields.

    Attributes:
        content_limit: Most bytes of one content, and of one fact's metadata.
    """

    content_limit: int

    def remembered(self, item: object) -> RememberFact:
        """
        Return the command to remember *item*.

        Args:
            item: Text, or a mapping of the fields of ``remember``, with ``claimed_at``
                for when it was recorded elsewhere.

        Raises:
            InvalidInput: If a field is not as documented, or not one of them.
        """
        given = {"content": item} if isinstance(item, str) else item
        if not isinstance(given, Mapping):
            raise InvalidValueError("an item", item, "text or a mapping of fields")
        inputs.known_fields(given, tuple(_REMEMBERED))
        fields = {**_REMEMBERED, **given}
        valid_from = inputs.time_or_none(fields["valid_from"])
        valid_to = inputs.time_or_none(fields["valid_to"])
        if valid_from is not None and valid_to is not None:
            Period(valid_from, valid_to)
        return RememberFact(
            valid_from=valid_from,
            valid_to=valid_to,
            traits=_traits(fields),
            content=Content(
                text=inputs.text("content", fields["content"], limit=self.content_limit),
                evidence=self._evidence(fields),
            ),
        )

    def revised(self, cause: RevisionCause, given: Mapping[str, Any]) -> ReviseFact:
        """
        Return the command to say something else of a fact; ``None`` keeps a field.

        Raises:
            InvalidInput: If a field is not as documented.
        """
        fields = {**_REVISED, **given}
        cleared = _cleared(fields)
        fields |= {each: CLEARED[each] for each in cleared}
        text, confidence = fields["content"], fields["confidence"]
        importance, core = fields["importance"], fields["core"]
        entities, metadata = fields["entities"], fields["metadata"]
        changes = Changes(
            text=None
            if text is None
            else inputs.text("content", text, limit=self.content_limit),
            category=_label("category", fields),
            attribute=_label("attribute", fields),
            confidence=None
            if confidence is None
            else inputs.share("confidence", confidence),
            importance=None
            if importance is None
            else inputs.share("importance", importance),
            core=None if core is None else inputs.flag("core", core),
            entities=None if entities is None else inputs.names("entities", entities),
            metadata=None if metadata is None else self._metadata(metadata),
            expires_at=inputs.time_or_none(fields["expires_at"]),
            cleared=tuple(each for each in cleared if CLEARED[each] is None),
        )
        valid_from = inputs.time_or_none(fields["valid_from"])
        valid_to = inputs.time_or_none(fields["valid_to"])
        if valid_from is not None and valid_to is not None:
            Period(valid_from, valid_to)
        return ReviseFact(
            cause=cause,
            changes=changes,
            source=inputs.name("source", fields["source"]),
            source_turns=inputs.names("source_turns", fields["source_turns"]),
            valid_from=valid_from,
            valid_to=valid_to,
            expected_version=expected_version_or_none(fields["expected_version"]),
        )

    def _evidence(self, fields: Mapping[str, Any]) -> Evidence:
        metadata = fields["metadata"]
        return Evidence(
            source=inputs.name("source", fields["source"]),
            source_turns=inputs.names("source_turns", fields["source_turns"]),
            entities=inputs.names("entities", fields["entities"]),
            metadata={} if metadata is None else self._metadata(metadata),
            claimed_at=inputs.time_or_none(fields["claimed_at"]),
        )

    def _metadata(self, metadata: object) -> Mapping[str, Any]:
        return inputs.metadata(metadata, limit=self.content_limit)


def expected_version_or_none(value: object) -> int | None:
    """Return the version the caller decided on, if it says one; 1 or more."""
    if value is None:
        return None
    return inputs.count("expected_version", value, least=1, most=2**31)


def _traits(fields: Mapping[str, Any]) -> Traits:
    return Traits(
        category=_label("category", fields),
        attribute=_label("attribute", fields),
        status=Status.ACTIVE,
        confidence=inputs.share("confidence", fields["confidence"]),
        importance=inputs.share("importance", fields["importance"]),
        core=inputs.flag("core", fields["core"]),
        expires_at=inputs.time_or_none(fields["expires_at"]),
    )


def _cleared(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields to be cleared; none of them has a value besides."""
    asked = fields["clear"]
    cleared = () if asked is None else inputs.names("clear", asked)
    for each in cleared:
        if each not in CLEARED:
            raise InvalidValueError("clear", each, f"one of {', '.join(CLEARED)}")
        if fields[each] is not None:
            raise InvalidValueError(each, fields[each], "left out where it is cleared")
    return tuple(sorted(set(cleared)))


def _label(field: str, fields: Mapping[str, Any]) -> str | None:
    return inputs.name_or_none(field, fields[field], most=inputs.LABEL_LENGTH_MAX)
