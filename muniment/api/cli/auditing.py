"""Commands that look as somebody, and show who looked; and the keys of callers."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.api.cli import terminal
from muniment.api.cli.answers import Keys
from muniment.api.cli.asking import Author, Looker
from muniment.api.cli.options import AsOf, Cursor, Limit, ValidAt, Whose
from muniment.api.cli.place import Place
from muniment.domain.access import Kind, Principal, Role


if TYPE_CHECKING:
    from muniment.api.credentials import IssuedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Officer:
    """Who looks, by their name an officer; there is always somebody."""

    looker: Looker
    role: Annotated[
        list[Role] | None,
        typer.Option(
            help="With this role; compliance_officer if left out. May be repeated.",
            rich_help_panel="Who asks",
        ),
    ] = None

    @property
    def named(self) -> Looker:
        """
        Who looks, with their roles.

        Raises:
            TyperException: If nobody is named.
        """
        asker = self.looker.asker
        roles = [*(self.role or ()), *(asker.as_role or ())]
        if not roles and asker.as_ is not None:
            roles = [Role.COMPLIANCE_OFFICER]
        named = replace(asker, as_role=roles)
        if not named.is_somebody:
            raise typer.TyperException("say in whose name with --as ID, or use --api-key")
        return replace(self.looker, asker=named)


def as_of(
    when: Annotated[str, typer.Argument(metavar="TIME", help="What was known then.")],
    whose: Whose,
    officer: Officer,
    at: Place,
    valid_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="About this time; TIME itself if left out."),
    ] = None,
) -> None:
    """Show what was believed of somebody at a moment; recorded before it is shown."""
    with officer.named.asked(at) as store:
        found = store.get_memory_as_of(timestamp=when, scope=whose.scope, valid_at=valid_at)
    at.answer(found)


def history(
    fact_id: Annotated[str, typer.Argument(metavar="FACT", help="The id of a fact.")],
    officer: Officer,
    at: Place,
) -> None:
    """Show every version of a fact; recorded before it is shown."""
    with officer.named.asked(at) as store:
        found = store.get_fact_history(fact_id)
    at.answer(found)


def diff(
    first: Annotated[str, typer.Argument(metavar="TIME_A", help="The first side.")],
    second: Annotated[str, typer.Argument(metavar="TIME_B", help="The second side.")],
    whose: Whose,
    officer: Officer,
    at: Place,
) -> None:
    """Show what differs between two moments; recorded before it is shown."""
    with officer.named.asked(at) as store:
        found = store.diff_memory(time_a=first, time_b=second, scope=whose.scope)
    at.answer(found)


def log(
    whose: Whose,
    officer: Officer,
    at: Place,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """
    Show who looked at a memory, or at all of them, the last look first.

    Looking at this is recorded, too, unless somebody looks at their own.
    """
    scope = whose.scope if whose.named else None
    with officer.named.asked(at) as store:
        found = store.access_log(
            scope=scope, limit=limit, cursor=cursor, as_of=as_of, valid_at=valid_at
        )
    at.answer(found)


def emergencies(
    officer: Officer,
    at: Place,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """List the emergency accesses that no officer has reviewed, the latest last."""
    with officer.named.asked(at) as store:
        found = store.list_broken_glass(
            limit=limit, cursor=cursor, as_of=as_of, valid_at=valid_at
        )
    at.answer(found)


def review(
    glass_id: Annotated[str, typer.Argument(metavar="ID", help="As emergencies lists it.")],
    officer: Officer,
    at: Place,
) -> None:
    """Record that an emergency access was looked into; --reason says what came of it."""
    looker = officer.named
    with looker.asked(at) as store:
        receipt = store.review_broken_glass(glass_id, reason=looker.reason)
    at.answer(receipt)


def whoami(officer: Officer, at: Place) -> None:
    """Show who asks: what --as and --role say, or whom an API key stands for."""
    with at.opened() as store:
        found = officer.named.asker.acting(store).whoami()
    at.answer(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What the holder of a key is, and what the key is for."""

    kind: Annotated[Kind, typer.Option(help="What they are.")] = Kind.PERSON
    user: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The user an agent works for; it needs one, or a role or a team.",
        ),
    ] = None
    role: Annotated[
        list[Role] | None, typer.Option(help="A role of theirs. May be repeated.")
    ] = None
    member_of: Annotated[
        list[str] | None,
        typer.Option(metavar="TEAM", help="A team they read. May be repeated."),
    ] = None
    lead_of: Annotated[
        list[str] | None,
        typer.Option(metavar="TEAM", help="A team they write. May be repeated."),
    ] = None
    verb: Annotated[
        list[str] | None,
        typer.Option(metavar="VERB", help="For this verb alone. May be repeated."),
    ] = None

    def named(self, principal: str) -> Principal:
        """
        Return the principal of that id.

        Raises:
            TyperException: If it is an agent that works for nobody and holds nothing.
        """
        if self.kind is Kind.AGENT and not (
            self.user or self.role or self.member_of or self.lead_of
        ):
            raise typer.TyperException(
                "an agent works for somebody: name them with --user, or its role or team; "
                "what works for nobody is --kind service"
            )
        teams = [f"member_of:{each}" for each in self.member_of or ()]
        teams += [f"lead_of:{each}" for each in self.lead_of or ()]
        return Principal(
            id=principal,
            kind=self.kind,
            roles=tuple(self.role or ()),
            memberships=tuple(teams),
            user_id=self.user,
        )


def issue(
    principal: Annotated[str, typer.Argument(metavar="ID", help="Whom it stands for.")],
    holder: Holder,
    author: Author,
    at: Place,
    ends_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it ends; never if left out.")
    ] = None,
) -> None:
    """Make an API key, and show it this once."""
    stands_for = holder.named(principal)
    with author.asked(at) as store:
        issued = store.issue_api_key(
            stands_for, verbs=holder.verb or None, ends_at=ends_at, **author.by
        )
    _show_once(issued, at)


KeyId = Annotated[str, typer.Argument(metavar="KEY", help="The id of a key.")]


def roll(
    key_id: KeyId,
    author: Author,
    at: Place,
    old_ends_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When the old one ends; now if left out."),
    ] = None,
) -> None:
    """Make another API key for the same principal, and end the old one."""
    with author.asked(at) as store:
        issued = store.roll_api_key(key_id, old_ends_at=old_ends_at, **author.by)
    _show_once(issued, at)


def revoke(key_id: KeyId, author: Author, at: Place) -> None:
    """End an API key: from now on it opens nothing."""
    with author.asked(at) as store:
        receipt = store.revoke_api_key(key_id, **author.by)
    at.answer(receipt)


def list_(at: Place, looker: Looker, as_of: AsOf = None, valid_at: ValidAt = None) -> None:
    """List every API key there ever was; without what opens."""
    with looker.asked(at) as store:
        found = store.list_api_keys(as_of=as_of, valid_at=valid_at)
    at.answer(Keys(keys=found))


def _show_once(issued: "IssuedKey", at: Place) -> None:
    """Show a new key; to a person as it is, since a line that is broken opens nothing."""
    if at.is_for_a_person:
        terminal.note("shown this once, and kept nowhere:")
        terminal.emit_text(f"{issued.secret}\n")
    else:
        terminal.emit(issued)
