"""Who asks, who writes and why: what a command is told besides what it is to do."""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from muniment.api.cli.options import given
from muniment.api.cli.place import Place
from muniment.domain.access import Principal, Role
from muniment.domain.acts import VERBS


if TYPE_CHECKING:
    from muniment import ActingStore, MemoryStore
    from muniment.api.fields import By, Deed, KeyedDeed

_ASKS = "Who asks"
_WROTE = "Provenance"

Approval = Annotated[
    str | None,
    typer.Option(
        metavar="PROPOSAL",
        help="What others agreed to, where rights and settings ask for that.",
        rich_help_panel=_ASKS,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """
    In whose name a command is run; of whoever owns the store if nobody is named.

    Whoever can run this on the store's files has its keys: --as says in whose name it is
    done, so that it is refused and recorded as theirs; it keeps nobody out.
    """

    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="ID",
            help="In whose name; then they may do what access rights say, and no more.",
            rich_help_panel=_ASKS,
        ),
    ] = None
    as_role: Annotated[
        list[Role] | None,
        typer.Option(
            metavar="ROLE",
            help="With --as: compliance_officer, auditor, administrator or on_call. May "
            "be repeated.",
            rich_help_panel=_ASKS,
        ),
    ] = None
    as_member_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEAM",
            help="With --as: as one who reads this team. May be repeated.",
            rich_help_panel=_ASKS,
        ),
    ] = None
    as_lead_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEAM",
            help="With --as: as one who writes this team. May be repeated.",
            rich_help_panel=_ASKS,
        ),
    ] = None
    api_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar="MUNIMENT_API_KEY",
            help="Without --as: in the name of whom this API key stands for.",
            rich_help_panel=_ASKS,
        ),
    ] = None

    @property
    def is_somebody(self) -> bool:
        """Whether somebody is named, or something is said of who it is."""
        # A name that is empty is a mistake, and not nobody, who may do everything.
        named = self.as_ is not None or self.api_key is not None
        return named or any((self.as_role, self.as_member_of, self.as_lead_of))

    def acting(self, store: "MemoryStore") -> "ActingStore":
        """
        Return *store* as who asks may use it.

        Raises:
            TyperException: If nobody is named.
            NotAuthenticatedError: If the API key opens nothing.
        """
        teams = [f"member_of:{each}" for each in self.as_member_of or ()]
        teams += [f"lead_of:{each}" for each in self.as_lead_of or ()]
        roles = tuple(self.as_role or ())
        if self.as_ is not None:
            principal = Principal(id=self.as_, roles=roles, memberships=tuple(teams))
            return store.acting_as(principal)
        if roles or teams:
            raise typer.TyperException("say who has that role or team with --as ID")
        if self.api_key is None:
            raise typer.TyperException("say in whose name with --as ID, or use --api-key")
        credential = store.authenticate(self.api_key)
        return store.acting_as(credential.principal, verbs=credential.verbs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looker:
    """Who looks, and why."""

    asker: Asker
    reason: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Why, for a look at another's memory or at the past; recorded.",
            rich_help_panel=_ASKS,
        ),
    ] = None
    matter: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="The case it is for; recorded.", rich_help_panel=_ASKS
        ),
    ] = None
    break_glass: Annotated[
        bool,
        typer.Option(
            "--break-glass",
            help="Look once in an emergency; an officer will review it.",
            rich_help_panel=_ASKS,
        ),
    ] = False

    @contextmanager
    def asked(self, at: Place, **changes: object) -> "Iterator[MemoryStore]":
        """Give the store, open, as who looks may use it; *changes* are settings."""
        with at.opened(**changes) as store:
            yield self.asking(store)

    def asking(self, store: "MemoryStore") -> "MemoryStore":
        """
        Return *store* as who looks may use it; as it is where nobody is named.

        Raises:
            TyperException: If it is said why, and not who: it would be recorded nowhere.
        """
        why = {"reason": self.reason, "matter": self.matter}
        if self.asker.is_somebody:
            look = {**why, "break_glass": True} if self.break_glass else why
            return _as_told(self.asker.acting(store), look)
        if self.break_glass or any(each is not None for each in why.values()):
            raise typer.TyperException(
                "--reason, --matter and --break-glass are for who looks: say who with --as"
            )
        return store


@dataclass(frozen=True, slots=True, kw_only=True)
class Doer:
    """Who does something, and why: see `muniment.api.fields.Deed`."""

    asker: Asker
    actor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who does it; whoever --as names, if it does.",
            rich_help_panel=_WROTE,
        ),
    ] = None
    on_behalf_of: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The user whom an agent or a service does it for.",
            rich_help_panel=_WROTE,
        ),
    ] = None
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Why, in words.", rich_help_panel=_WROTE),
    ] = None
    trigger: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What set it off.", rich_help_panel=_WROTE),
    ] = None

    @property
    def by(self) -> "Deed":
        """The fields given, by the names of the store."""
        by: Deed = given(
            actor=self.actor,
            on_behalf_of=self.on_behalf_of,
            reason=self.reason,
            trigger=self.trigger,
        )
        return by

    @contextmanager
    def asked(self, at: Place, *, approval: str | None = None) -> "Iterator[MemoryStore]":
        """
        Give the store, open, as who does it may use it; as it is where nobody is named.

        Args:
            at: Where it is.
            approval: The proposal that others agreed to, of what needs them.

        Raises:
            TyperException: If an approval is named, and not who acts on it.
        """
        with at.opened() as store:
            yield self.asking(store, approval=approval)

    def asking(self, store: "MemoryStore", *, approval: str | None = None) -> "MemoryStore":
        """Return *store* as who does it may use it; see `asked`."""
        if self.asker.is_somebody:
            look = {"reason": self.reason}
            return _as_told(self.asker.acting(store), look, approval=approval)
        if approval is not None:
            raise typer.TyperException("--approval is for who acts: say who with --as")
        return store


_IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="A repeated key is answered as the first time and writes nothing.",
        rich_help_panel=_WROTE,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedDoer:
    """Who does something that a key names, and why."""

    doer: Doer
    idempotency_key: _IdempotencyKey = None

    @property
    def by(self) -> "KeyedDeed":
        """The fields given, by the names of the store."""
        by: KeyedDeed = given(**self.doer.by, idempotency_key=self.idempotency_key)
        return by

    @property
    def asked(self) -> "Callable[..., AbstractContextManager[MemoryStore]]":
        """See `Doer.asked`."""
        return self.doer.asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes, why, and on whose word: see `muniment.api.fields.By`."""

    doer: Doer
    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The conversation it happened in.",
            rich_help_panel=_WROTE,
        ),
    ] = None
    turn: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="A turn of conversation it rests on; may be repeated.",
            rich_help_panel=_WROTE,
        ),
    ] = None
    idempotency_key: _IdempotencyKey = None

    @property
    def reason(self) -> str | None:
        return self.doer.reason

    @property
    def by(self) -> "By":
        """The fields given, by the names of the store."""
        by: By = given(
            **self.doer.by,
            session_id=self.session,
            source_turns=tuple(self.turn or ()) or None,
            idempotency_key=self.idempotency_key,
        )
        return by

    @property
    def asked(self) -> "Callable[..., AbstractContextManager[MemoryStore]]":
        """See `Doer.asked`."""
        return self.doer.asked

    @property
    def asking(self) -> "Callable[[MemoryStore], MemoryStore]":
        """See `Doer.asking`."""
        return self.doer.asking


def _as_told(
    acting: "ActingStore", look: Mapping[str, object], *, approval: str | None = None
) -> "MemoryStore":
    return cast("MemoryStore", _Told(acting, look, approval))


@dataclass(frozen=True, slots=True)
class _Told:
    """
    An acting store that is told once why somebody looks, and on whose word they act.

    It has the verbs of a store, and nothing else of it.
    """

    _acting: "ActingStore"
    _look: Mapping[str, object]
    _approval: str | None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the verb has it
        found = getattr(self._acting, name)
        if not callable(found):
            return found
        if not VERBS[name].writes:
            return functools.partial(found, **self._look)
        if self._approval is not None:
            return functools.partial(found, approval=self._approval)
        return found
