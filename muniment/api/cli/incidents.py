"""Commands for an incident: stop writes, see what a rollback would do, do it, undo it."""

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

import muniment
from muniment.api.cli import terminal
from muniment.api.cli.asking import Approval, Author
from muniment.api.cli.options import Whose
from muniment.api.cli.place import Place
from muniment.api.retrying import anew
from muniment.errors import PlanOutdatedError, RollbackConflictError


if TYPE_CHECKING:
    from muniment.api.answers import Receipt, RollbackPlan


class OnConflict(StrEnum):
    """What to do about facts on which others wrote on top."""

    ABORT = "abort"
    SKIP = "skip"
    FORCE = "force"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a rollback brings back: one fact, a moment, or all but one cause."""

    to_version: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="FACT as it was right after this version; 0 for before it existed.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Every fact as it was at this recorded time.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    where_session: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Without what was written in this session.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    where_source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Without what was said to come from this source.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    where_actor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Without what this actor wrote.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    where_trigger: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Without what this trigger set off.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Of a cause, only what was recorded at or after.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Of a cause, only what was recorded before.",
            rich_help_panel="What to bring back: one of three",
        ),
    ] = None

    @property
    def cause(self) -> "muniment.Cause | None":
        """The cause whose writes go; ``None`` when none is named."""
        named = (
            self.where_session,
            self.where_source,
            self.where_actor,
            self.where_trigger,
            self.since,
            self.until,
        )
        if named == (None,) * len(named):
            return None
        return muniment.Cause(
            session_id=self.where_session,
            source=self.where_source,
            actor=self.where_actor,
            trigger=self.where_trigger,
            since=self.since,
            until=self.until,
        )


OnConflictOption = Annotated[
    OnConflict,
    typer.Option(
        help="What to do about facts on which others wrote on top: write nothing, leave "
        "these, or take back both."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """
    A rollback as it was asked for.

    Raises:
        TyperException: If it is not exactly one of the three kinds.
    """

    fact_id: str | None
    target: Target
    whose: Whose

    def __post_init__(self) -> None:
        of_fact = self.fact_id is not None or self.target.to_version is not None
        of_cause = self.target.cause is not None
        if of_fact + (self.target.to is not None) + of_cause != 1:
            raise typer.TyperException(
                "name one of: FACT with --to-version, --to TIME, or a cause (--where-…)"
            )
        if of_fact and (self.fact_id is None or self.target.to_version is None):
            raise typer.TyperException("FACT and --to-version go together")
        if of_fact and self.whose.named:
            raise typer.TyperException(
                "FACT says whose memory it is; leave out --user, --team and --org"
            )

    def plan(self, store: "muniment.MemoryStore") -> "RollbackPlan":
        """Return what it would do now."""
        if self.fact_id is not None:
            return store.plan_rollback(
                fact_id=self.fact_id, to_version=self.target.to_version
            )
        return store.plan_rollback(
            scope=self.whose.scope, to=self.target.to, where=self.target.cause
        )

    def done(
        self,
        store: "muniment.MemoryStore",
        on_conflict: OnConflict,
        author: Author,
        *,
        seen: "RollbackPlan | None",
    ) -> "Receipt":
        """
        Do it by what was asked for: others agree to that, and not to a plan of a moment.

        Raises:
            PlanOutdatedError: If it would do something else than was *seen*.
        """
        if seen is not None and (now := self.plan(store)).diff != seen.diff:
            raise PlanOutdatedError(seen.position, now.position)
        by: Any = author.by
        if self.fact_id is not None:
            assert self.target.to_version is not None, "they go together"
            return store.rollback_fact(
                self.fact_id, to_version=self.target.to_version, **by
            )
        scope = self.whose.scope
        if self.target.to is not None:
            return store.rollback_to_timestamp(
                rollback_to=self.target.to, scope=scope, **by
            )
        if by.keys() - {"actor", "reason", "idempotency_key"}:
            raise typer.TyperException(
                "in somebody's name, leave out --trigger, --session and --turn"
            )
        assert self.target.cause is not None, "it is one of three"
        cause: Any = asdict(self.target.cause)
        by["by_actor"] = by.pop("actor", None)
        return store.rollback_where(
            scope=scope, on_conflict=on_conflict.value, **cause, **by
        )


def rollback(
    target: Target,
    whose: Whose,
    author: Author,
    at: Place,
    *,
    fact_id: Annotated[
        str | None, typer.Argument(metavar="FACT", help="With --to-version: which fact.")
    ] = None,
    on_conflict: OnConflictOption = OnConflict.ABORT,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, and write nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do it without asking, for scripts.")
    ] = False,
    approval: Approval = None,
) -> None:
    """
    Bring back what was believed: of one fact, at a moment, or without one cause.

    Name one of three: FACT and --to-version; somebody and --to, a recorded time;
    somebody and a cause, which is every --where option given, all of which must match.

    The plan is shown first, then you are asked. Nothing is removed: the rollback is
    written on top, what was believed before stays in as-of and in history, and undo takes
    the rollback itself back.
    """
    wanted = Wanted(fact_id=fact_id, target=target, whose=whose)
    if not (dry_run or yes or at.can_ask):
        raise typer.TyperException(
            "a rollback asks before it writes, and nobody can be asked here: look at the "
            "plan with --dry-run, then repeat with --yes"
        )
    with author.asked(at, approval=approval) as store:
        plan = wanted.plan(store)
        if dry_run or at.is_for_a_person:
            at.answer(plan)
        if dry_run:
            return
        if not yes:
            _ask(plan, on_conflict)
        if author.doer.asker.is_somebody:
            receipt = wanted.done(store, on_conflict, author, seen=None if yes else plan)
        elif yes:
            receipt = _applied(store, wanted, on_conflict, author)
        else:
            receipt = store.apply(plan, on_conflict=on_conflict.value, **author.by)
    # A person has just seen the same diff as a plan.
    at.answer(replace(receipt, diff=None) if at.is_for_a_person else receipt)


def undo(
    tx_id: Annotated[int, typer.Argument(metavar="TX", help="The transaction.")],
    author: Author,
    at: Place,
    on_conflict: OnConflictOption = OnConflict.ABORT,
    approval: Approval = None,
) -> None:
    """
    Take back one transaction: a rollback, another undo, or any write to facts.

    Nothing is removed, so an undo can be undone in turn. History and blame show which
    transaction wrote what.
    """
    with author.asked(at, approval=approval) as store:
        receipt = store.undo(tx_id, on_conflict=on_conflict.value, **author.by)
    at.answer(receipt)


def freeze(
    whose: Whose,
    author: Author,
    at: Place,
    *,
    hide: Annotated[
        bool, typer.Option("--hide", help="Give nothing of it to agents, either.")
    ] = False,
) -> None:
    """
    Refuse writes to a memory while an incident is looked into; reading goes on.

    With --hide nothing of it is used, either, until it is thawed: for a person who paused
    their memory, or withdrew consent.
    """
    scope = whose.scope
    with author.asked(at) as store:
        receipt = store.freeze(scope=scope, hide=hide, **author.by)
    at.answer(receipt)


def thaw(whose: Whose, author: Author, at: Place) -> None:
    """Accept writes to a frozen memory again, and use what was hidden."""
    scope = whose.scope
    with author.asked(at) as store:
        receipt = store.thaw(scope=scope, **author.by)
    at.answer(receipt)


def _ask(plan: "RollbackPlan", on_conflict: OnConflict) -> None:
    """Ask whether to do what was shown, where there is something to decide."""
    if plan.conflicts and on_conflict is OnConflict.ABORT:
        raise RollbackConflictError([each.fact_id for each in plan.conflicts])
    forced = len(plan.conflicts) if on_conflict is OnConflict.FORCE else 0
    facts = len(plan.diff) + forced
    if facts and not typer.confirm(f"Roll back {_facts(facts)}?", err=True):
        terminal.note("nothing was written")
        raise typer.Exit(terminal.CANCELLED)


def _facts(number: int) -> str:
    return "1 fact" if number == 1 else f"{number:,} facts"


def _applied(
    store: "muniment.MemoryStore", wanted: Wanted, on_conflict: OnConflict, author: Author
) -> "Receipt":
    """Plan and apply, anew where the subject changed in between: nobody looked at it."""

    def attempt() -> "Receipt":
        plan = wanted.plan(store)
        return store.apply(plan, on_conflict=on_conflict.value, **author.by)

    return anew(attempt, where=PlanOutdatedError)
