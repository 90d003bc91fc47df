"""Where the store is, and how its answers are shown: what every command takes."""

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import muniment
from muniment.api.cli import terminal


if TYPE_CHECKING:
    from muniment.api.cli.answers import Answer, Text
    from muniment.api.opening import ClockSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where the store is, and how its answers are shown.

    Attributes:
        store: A directory or a URL.
        ledger: The ledger in it; ``MUNIMENT_LEDGER`` if left out.
        as_json: Whether answers are JSON though a person reads them.
    """

    store: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            envvar="MUNIMENT_STORE",
            help="The store: a directory or a URL; ./memory if left out.",
            rich_help_panel="Store and output",
        ),
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The ledger in it, one for each tenant; main if left out.",
            rich_help_panel="Store and output",
        ),
    ] = None
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON, as a pipe gets it.",
            rich_help_panel="Store and output",
        ),
    ] = False

    @property
    def is_for_a_person(self) -> bool:
        return terminal.is_for_a_person(as_json=self.as_json)

    def opened(self, **changes: object) -> "muniment.MemoryStore":
        """
        Return the store, open; it is never made by this.

        Args:
            changes: Settings that are otherwise for this command.

        Raises:
            StoreNotFoundError: If there is none.
        """
        settings = self.settings().model_copy(update=changes)
        return muniment.MemoryStore.open(settings, create=False)

    def created(self, *, clock: "ClockSource | None" = None) -> "muniment.MemoryStore":
        """Return the store, open; made if there is none."""
        return muniment.MemoryStore.open(self.settings(), clock=clock, create=True)

    def settings(self) -> "muniment.Settings":
        """
        Return the settings of the environment, with the store and ledger named here.

        Raises:
            ConfigurationError: If one of them is not as documented.
        """
        if self.store == "":
            raise typer.TyperException("--store needs a directory or a URL")
        return muniment.Settings(**self._named())

    def _named(self) -> dict[str, Any]:
        """Return the settings that are said on the command line."""
        from muniment.api.opening import url_of  # noqa: PLC0415 - slow, as above

        ledger = {} if self.ledger is None else {"ledger": self.ledger}
        if self.store is None:
            return ledger
        return {**ledger, "database_url": url_of(self.store)}

    @property
    def can_ask(self) -> bool:
        """Whether somebody is there who reads a question and can answer it."""
        return self.is_for_a_person and sys.stdin.isatty()

    def answer(self, answer: "Answer") -> None:
        """Show *answer* to a person, or write it to a pipe as JSON."""
        if self.is_for_a_person:
            from muniment.api.cli.answers import Told  # noqa: PLC0415 - as above
            from muniment.api.cli.rendering import rendered  # noqa: PLC0415

            # Its lines are commands to be copied.
            terminal.show(rendered(answer), unbroken=isinstance(answer, Told))
        else:
            terminal.emit(answer)

    def answer_text(self, answer: "Text", *, as_document: bool = False) -> None:
        """
        Write what is text of its own as it is, to a person and to a pipe.

        Args:
            answer: The text, and what else is known of it.
            as_document: Write all of it, as JSON; as with ``--json``.
        """
        if self.as_json or as_document:
            terminal.emit(answer)
        else:
            terminal.emit_text(answer.text)

    @property
    def spelled(self) -> str:
        """The options that name this place again, for a command that a reader can type."""
        store = "" if self.store is None else f" --store {shlex.quote(self.store)}"
        return store if self.ledger is None else f"{store} --ledger {self.ledger}"
