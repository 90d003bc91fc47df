"""Commands that write: what is remembered, what changed, what is no longer so."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from muniment.api.cli import terminal
from muniment.api.cli.asking import Author
from muniment.api.cli.looking import FactId
from muniment.api.cli.options import Whose, given, parsed
from muniment.api.cli.place import Place


_SAID = "What is said of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is said of a fact besides its content; what is left out stays as it is."""

    category: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Kind of fact. Stays readable when content is erased: nothing personal.",
            rich_help_panel=_SAID,
        ),
    ] = None
    attribute: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What it is about within its category; likewise.",
            rich_help_panel=_SAID,
        ),
    ] = None
    valid_from: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it began to hold.", rich_help_panel=_SAID),
    ] = None
    valid_to: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When it ceases to hold, exclusive.",
            rich_help_panel=_SAID,
        ),
    ] = None
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What it came from.", rich_help_panel=_SAID),
    ] = None
    status: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="active, or unverified while nobody has vouched for it.",
            rich_help_panel=_SAID,
        ),
    ] = None
    confidence: Annotated[
        float | None, typer.Option(help="0 to 1.", rich_help_panel=_SAID)
    ] = None
    importance: Annotated[
        float | None, typer.Option(help="0 to 1.", rich_help_panel=_SAID)
    ] = None
    core: Annotated[
        bool | None,
        typer.Option(
            "--core/--no-core",
            help="Whether it belongs into every prompt.",
            rich_help_panel=_SAID,
        ),
    ] = None
    entity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name it mentions; may be repeated.",
            rich_help_panel=_SAID,
        ),
    ] = None
    metadata: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Your own JSON object.", rich_help_panel=_SAID),
    ] = None
    expires_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="From then on it is not used.", rich_help_panel=_SAID
        ),
    ] = None

    @property
    def fields(self) -> Any:  # noqa: ANN401 - fields of a TypedDict
        """The fields given, by the names of the store."""
        return given(
            category=self.category,
            attribute=self.attribute,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            source=self.source,
            status=self.status,
            confidence=self.confidence,
            importance=self.importance,
            core=self.core,
            entities=tuple(self.entity or ()) or None,
            metadata=parsed("--metadata", self.metadata),
            expires_at=self.expires_at,
        )


ExpectedVersion = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Only if nothing it believes changed after this version."
    ),
]

Clear = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD",
        help="It has no category, attribute, expires-at, entities or metadata any more; "
        "may be repeated.",
        rich_help_panel=_SAID,
    ),
]

NewContent = Annotated[
    str | None,
    typer.Argument(metavar="CONTENT", help="What it says; as it was if left out."),
]


def remember(
    content: Annotated[str, typer.Argument(metavar="CONTENT", help="What to remember.")],
    whose: Whose,
    said: Said,
    author: Author,
    at: Place,
) -> None:
    """
    Remember something new, or keep that it was said again.

    The same content for the same period, category and attribute is kept as a
    corroboration of the fact there is.
    """
    scope, fields = whose.scope, said.fields
    with author.asked(at) as store:
        fact = store.remember(content, scope=scope, **fields, **author.by)
    at.answer(fact)


def update(
    fact_id: FactId,
    said: Said,
    author: Author,
    at: Place,
    content: NewContent = None,
    *,
    expected_version: ExpectedVersion = None,
    clear: Clear = None,
) -> None:
    """
    Say that the world changed: from then on a fact says something else.

    What it said before held until then. Without --valid-from, then is now.
    """
    fields = said.fields
    with author.asked(at) as store:
        fact = store.update(
            fact_id,
            content=content,
            expected_version=expected_version,
            clear=_names(clear),
            **fields,
            **author.by,
        )
    at.answer(fact)


def correct(
    fact_id: FactId,
    said: Said,
    author: Author,
    at: Place,
    content: NewContent = None,
    *,
    expected_version: ExpectedVersion = None,
    clear: Clear = None,
) -> None:
    """
    Say that we were wrong: for its whole period a fact says something else.

    What it said before stays in its history, and in what was known before.
    """
    fields = said.fields
    with author.asked(at) as store:
        fact = store.correct(
            fact_id,
            content=content,
            expected_version=expected_version,
            clear=_names(clear),
            **fields,
            **author.by,
        )
    at.answer(fact)


def end(
    fact_id: FactId,
    author: Author,
    at: Place,
    valid_to: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it did, exclusive; now if left out."),
    ] = None,
    expected_version: ExpectedVersion = None,
) -> None:
    """Say that a fact stopped being true."""
    with author.asked(at) as store:
        receipt = store.end(
            fact_id, valid_to=valid_to, expected_version=expected_version, **author.by
        )
    at.answer(receipt)


def forget(
    fact_id: FactId,
    author: Author,
    at: Place,
    *,
    expected_version: ExpectedVersion = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Make what all its versions said unreadable, for good."
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Redact without asking, for scripts.")
    ] = False,
) -> None:
    """
    Stop believing and using a fact; restore brings it back.

    Its history and what was known before keep it.

    With --redact nothing brings it back: the key of its content is destroyed, so that at
    no moment and in no backup can it be read. That there was a fact, when and by whom,
    stays. You are asked first. Under a legal hold the request waits, and the fact is not
    used until then.
    """
    if not redact:
        with author.asked(at) as store:
            receipt = store.forget(fact_id, expected_version=expected_version, **author.by)
        at.answer(receipt)
        return
    if expected_version is not None:
        raise typer.TyperException("--redact is of all versions: no --expected-version")
    if not (yes or at.can_ask):
        raise typer.TyperException(
            "a redaction asks before it destroys, and nobody can be asked here: repeat "
            "with --yes"
        )
    with author.asked(at) as store:
        if not yes and not typer.confirm(f"Redact {fact_id} for good?", err=True):
            terminal.note("nothing was destroyed")
            raise typer.Exit(terminal.CANCELLED)
        receipt = store.forget(fact_id, mode="redact", **author.by)
    at.answer(receipt)


def merge(
    fact_id: FactId,
    author: Author,
    at: Place,
    *,
    into: Annotated[
        str, typer.Option(metavar="FACT", help="The fact that stays; of the same memory.")
    ],
) -> None:
    """
    Retire a fact that another one says as well; its history points to the survivor.

    Nothing of what was known before changes, and undo or restore bring it back.
    """
    with author.asked(at) as store:
        receipt = store.merge(fact_id, into=into, **author.by)
    at.answer(receipt)


def restore(
    fact_id: FactId, author: Author, at: Place, expected_version: ExpectedVersion = None
) -> None:
    """Believe again what was last believed of a fact of which nothing is believed."""
    with author.asked(at) as store:
        receipt = store.restore(fact_id, expected_version=expected_version, **author.by)
    at.answer(receipt)


def _names(fields: list[str] | None) -> tuple[str, ...]:
    """Return fields as the store names them."""
    return tuple(each.replace("-", "_") for each in fields or ())
