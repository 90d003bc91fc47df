"""The fields of requests, and the bodies in them, as the service takes them."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from muniment.api.rollbacks import Cause
from muniment.domain.access import Principal
from muniment.domain.keeping import Records
from muniment.domain.policy import RetentionRule


Text = str
Time = Annotated[
    str,
    Field(
        json_schema_extra={"format": "date-time"},
        examples=["2026-03-25T10:30:00.000000+08:00"],
    ),
]
Whose = Annotated[
    str,
    Field(
        description="user:ID, team:ID or org",
        pattern=r"^(user:[\s\S]+|team:[\s\S]+|org)$",
        examples=["user:u-123"],
    ),
]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000)]
Version = Annotated[int, Field(ge=0, le=2**31)]
OnConflict = Literal["abort", "skip", "force"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PrincipalBody(_Body):
    """Whom a key stands for."""

    id: Text
    kind: Literal["person", "agent", "service"] = "person"
    tenant: Text | None = None
    roles: list[Text] = []
    memberships: list[Text] = []
    user_id: Text | None = None

    def argument(self) -> Principal:
        """Return it as the store takes it."""
        fields: dict[str, Any] = self.model_dump()
        return Principal(**fields)


class CauseBody(_Body):
    """What wrote what is taken back."""

    session_id: Text | None = None
    source: Text | None = None
    actor: Text | None = None
    trigger: Text | None = None
    since: Time | None = None
    until: Time | None = None

    def argument(self) -> Cause:
        """Return it as the store takes it."""
        return Cause(**self.model_dump())


class RuleBody(_Body):
    """When facts of a category are retired, merged or thinned, or records unreadable."""

    category: Text | None = None
    older_than_us: int | None = None
    unused_for_us: int | None = None
    importance_below: Share | None = None
    thin_older_than_us: int | None = None
    merge_alike: Share | None = None
    records: Records | None = None

    def argument(self) -> RetentionRule:
        """Return it as the store takes it."""
        return RetentionRule(**self.model_dump())


class PointBody(_Body):
    """A point on both axes: what was known then, about another time."""

    recorded_at: Time
    valid_at: Time | None = None

    def argument(self) -> tuple[str, str | None]:
        """Return it as the store takes it."""
        return self.recorded_at, self.valid_at


Fields = Mapping[str, Any]

BY: Final[Fields] = {
    "reason": Text,
    "trigger": Text,
    "session_id": Text,
    "source_turns": list[Text],
}
STATED: Final[Fields] = {
    "category": Text,
    "attribute": Text,
    "valid_from": Time,
    "valid_to": Time,
    "source": Text,
    "status": Text,
    "confidence": Share,
    "importance": Share,
    "core": bool,
    "entities": list[Text],
    "metadata": dict[str, Any],
    "expires_at": Time,
}
REVISION: Final[Fields] = {"content": Text, "clear": list[Text], **STATED, **BY}
SEVERAL: Final[Fields] = {"scope": Whose, "scopes": list[Whose]}
NARROWING: Final[Fields] = {
    **SEVERAL,
    "limit": Count,
    "as_of": Time,
    "valid_at": Time,
    "min_confidence": Share,
    "explain": bool,
    "category": list[Text],
    "attribute": list[Text],
    "source": list[Text],
    "status": list[Text],
    "since": Time,
    "until": Time,
    "recent_turns": list[Text],
    "past": bool,
    "min_position": Annotated[int, Field(ge=0, le=2**62)],
    "session_id": Text,
    "agent": Text,
    "receipt": bool,
}
ONE_OF_THREE: Final[Fields] = {
    "fact_id": Text,
    "to_version": Version,
    "scope": Whose,
    "to": Time,
    "where": CauseBody,
}
TURN: Final[Fields] = {
    "uttered_at": Time,
    "agent": Text,
    "tool": Text,
    "entities": list[Text],
    "metadata": dict[str, Any],
}
SUMMARIES: Final[Fields] = {
    "every": Annotated[int, Field(ge=2, le=1_000)],
    "keep": Annotated[int, Field(ge=0, le=1_000)],
    "meta_every": Annotated[int, Field(ge=2, le=1_000)],
    "budget_tokens": Annotated[int, Field(ge=1, le=10_000_000)],
    "force": bool,
}
LONG_AGO: Final[Fields] = {
    "until": Time,
    "older_than_us": Annotated[int, Field(ge=0, le=2**62)],
}
THEN: Final[Fields] = {"as_of": Time, "valid_at": Time}
"""What every read takes: what was known then, about this time."""

PAGE: Final[Fields] = {"limit": Count, "cursor": Text}
CONTEXT: Final[Fields] = {
    **SEVERAL,
    "budget_tokens": Annotated[int, Field(ge=1, le=10_000_000)],
    "as_of": Time,
    "valid_at": Time,
    "session_id": Text,
    "agent": Text,
    "limit": Count,
    "recent_turns": Annotated[int, Field(ge=0, le=1_000)],
    "receipt": bool,
    "language": Literal["en", "zh"],
}
