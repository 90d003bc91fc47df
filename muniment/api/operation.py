"""One verb as the service offers it: method, path, fields, answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from muniment.api.answers import Receipt
from muniment.api.approvals import WATCHED
from muniment.api.request_fields import BY, Fields, Text, Whose


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """
    One verb over HTTP.

    Attributes:
        verb: Of the store, and the operation's id in the OpenAPI document.
        method: ``GET`` for what reads and has no content of its own to send.
        path: Below ``/v1``; in braces the arguments it holds.
        answer: What the verb gives back.
        needed: Fields that have to be there, of the query for ``GET``, else of the body.
        taken: Fields that may be.
        numbers: Which arguments in the path are whole numbers.
        renamed: By field, the argument of the verb, where they differ.
        if_match: Whether ``If-Match`` names the version that the caller decided on.
        writes: Whether what it asks for may change something, were it heard.
        keyed: Whether it takes an ``Idempotency-Key``.
        repeated: Of what changes something and takes none, what it does a second time.
        status: Of success.
        download: The media type of an answer that is a file; ``None`` for one as JSON.
    """

    verb: str
    method: str
    path: str
    answer: Any
    needed: Fields = field(default_factory=dict)
    taken: Fields = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    if_match: bool = False
    writes: bool = False
    keyed: bool = False
    repeated: str = ""
    status: int = 200
    download: str | None = None

    @property
    def reasoned(self) -> bool:
        """Whether it takes a reason as a header: nothing of it is appended with one."""
        return "reason" not in {**self.needed, **self.taken}


def read(verb: str, path: str, answer: Any, **fields: Any) -> Operation:  # noqa: ANN401
    """Return an operation that asks by its URL alone."""
    return Operation(verb=verb, method="GET", path=path, answer=answer, **fields)


def ask(verb: str, path: str, answer: Any, **fields: Any) -> Operation:  # noqa: ANN401
    """Return an operation that writes nothing, and sends a body."""
    return Operation(verb=verb, method="POST", path=path, answer=answer, **fields)


def keep(verb: str, path: str, answer: Any, **fields: Any) -> Operation:  # noqa: ANN401
    """Return an operation that changes something, and takes a reason as a look does."""
    return ask(verb, path, answer, writes=True, **fields)


def write(
    verb: str,
    path: str,
    answer: Any = Receipt,  # noqa: ANN401 - a type, or an alias of one
    **fields: Any,  # noqa: ANN401 - those of `Operation`
) -> Operation:
    """Return an operation that appends, with the fields that say who does it and why."""
    fields["taken"] = {**fields.get("taken", {}), **fields.pop("by", BY)}
    if verb in WATCHED:
        fields["taken"]["approval"] = Text
    for name in fields.get("needed", {}):
        fields["taken"].pop(name, None)
    keyed = "repeated" not in fields
    return keep(verb, path, answer, keyed=keyed, **fields)


OF: Final[Fields] = {"scope": Whose}
FACT: Final = "/facts/{fact_id}"
SESSION: Final = "/sessions/{session_id}"
WHY: Final[Fields] = {"reason": Text}
DEED: Final[Fields] = {**WHY, "trigger": Text}
