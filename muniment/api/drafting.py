"""From the fields of a caller to commands, each field checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from muniment.api import inputs
from muniment.domain.commands import Changes, RememberFact, ReviseFact
from muniment.domain.events import Content, Evidence, RevisionCause, Status, Traits
from muniment.domain.time import Period
from muniment.errors import InvalidValueError


Check = Callable[[Any, int], Any]
"""Makes of a caller's value the one that is kept, or refuses it, given a limit in bytes."""

_REMEMBERED: dict[str, Any] = {
    "content": None,
    "category": None,
    "attribute": None,
    "valid_from": None,
    "valid_to": None,
    "source": "user_explicit",
    "status": Status.ACTIVE,
    "confidence": 1.0,
    "importance": 0.5,
    "core": False,
    "entities": (),
    "metadata": {},
    "source_turns": (),
    "expires_at": None,
    "claimed_at": None,
}
"""The fields of something to be remembered, and what is kept when they are left out."""

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
        inputs.known_fields(given, _REMEMBERED)
        fields = {**_REMEMBERED, **self._checked({"content": None, **given})}
        valid_from, valid_to = fields["valid_from"], fields["valid_to"]
        if valid_from is not None and valid_to is not None:
            Period(valid_from, valid_to)
        return RememberFact(
            valid_from=valid_from,
            valid_to=valid_to,
            traits=_traits(fields),
            content=Content(text=fields["content"], evidence=_evidence(fields)),
        )

    def revised(self, cause: RevisionCause, given: Mapping[str, Any]) -> ReviseFact:
        """
        Return the command to say something else of a fact; ``None`` keeps a field.

        Raises:
            InvalidInput: If a field is not as documented.
        """
        # What is left out is kept, but for who said it and where: that is said anew.
        said = {
            field: value
            for field, value in given.items()
            if value is not None or _REVISED[field] is not None
        }
        fields = {**_REVISED, **self._checked(said)}
        fields |= _cleared(fields)
        valid_from, valid_to = fields["valid_from"], fields["valid_to"]
        if valid_from is not None and valid_to is not None:
            Period(valid_from, valid_to)
        return ReviseFact(
            cause=cause,
            changes=_changes(fields),
            source=fields["source"],
            source_turns=fields["source_turns"],
            valid_from=valid_from,
            valid_to=valid_to,
            expected_version=fields["expected_version"],
        )

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of *given*, each as it is kept."""
        return {
            field: _CHECKS[field](value, self.content_limit)
            for field, value in given.items()
        }


def expected_version_or_none(value: object) -> int | None:
    """Return the version the caller decided on, if it says one; 1 or more."""
    if value is None:
        return None
    return inputs.count("expected_version", value, least=1, most=2**31)


def _traits(fields: Mapping[str, Any]) -> Traits:
    return Traits(
        category=fields["category"],
        attribute=fields["attribute"],
        status=fields["status"],
        confidence=fields["confidence"],
        importance=fields["importance"],
        core=fields["core"],
        expires_at=fields["expires_at"],
    )


def _cleared(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to be cleared as they are then; none has a value besides."""
    for each in fields["clear"]:
        if each not in CLEARED:
            raise InvalidValueError("clear", each, f"one of {', '.join(CLEARED)}")
        if fields[each] is not None:
            raise InvalidValueError(each, fields[each], "left out where it is cleared")
    return {each: CLEARED[each] for each in fields["clear"]}


def _evidence(fields: Mapping[str, Any]) -> Evidence:
    return Evidence(
        source=fields["source"],
        source_turns=fields["source_turns"],
        entities=fields["entities"],
        metadata=fields["metadata"],
        claimed_at=fields["claimed_at"],
    )


def _changes(fields: Mapping[str, Any]) -> Changes:
    return Changes(
        text=fields["content"],
        category=fields["category"],
        attribute=fields["attribute"],
        status=fields["status"],
        confidence=fields["confidence"],
        importance=fields["importance"],
        core=fields["core"],
        entities=fields["entities"],
        metadata=fields["metadata"],
        expires_at=fields["expires_at"],
        cleared=tuple(sorted(e for e in set(fields["clear"]) if CLEARED[e] is None)),
    )


def _label(field: str) -> Check:
    return lambda value, _: inputs.name_or_none(field, value, most=inputs.LABEL_LENGTH_MAX)


def _status(value: object) -> Status:
    known = tuple(each.value for each in Status)
    if not isinstance(value, str) or value not in known:
        raise InvalidValueError("status", value, f"one of {', '.join(known)}")
    return Status(value)


def _metadata(value: object, limit: int) -> Mapping[str, Any]:
    return {} if value is None else inputs.metadata(value, limit=limit)


_CHECKS: dict[str, Check] = {
    "content": lambda value, limit: inputs.text("content", value, limit=limit),
    "category": _label("category"),
    "attribute": _label("attribute"),
    "valid_from": lambda value, _: inputs.time_or_none(value),
    "valid_to": lambda value, _: inputs.time_or_none(value),
    "source": lambda value, _: inputs.name("source", value),
    "status": lambda value, _: _status(value),
    "confidence": lambda value, _: inputs.share("confidence", value),
    "importance": lambda value, _: inputs.share("importance", value),
    "core": lambda value, _: inputs.flag("core", value),
    "entities": lambda value, _: inputs.names("entities", value),
    "metadata": _metadata,
    "source_turns": lambda value, _: inputs.names("source_turns", value),
    "expires_at": lambda value, _: inputs.time_or_none(value),
    "claimed_at": lambda value, _: inputs.time_or_none(value),
    "expected_version": lambda value, _: expected_version_or_none(value),
    "clear": lambda value, _: () if value is None else inputs.names("clear", value),
}
