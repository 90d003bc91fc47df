"""The command that forgets by rule, once or on a schedule."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.api.cli import terminal
from muniment.api.cli.answers import Due, Retained
from muniment.api.cli.asking import Author, Looker
from muniment.api.cli.erasing import Yes
from muniment.api.cli.options import Whose, given
from muniment.api.cli.place import Place
from muniment.api.cli.schedules import Every, pause_of, repeated
from muniment.domain.policy import THINNED


if TYPE_CHECKING:
    import muniment
    from muniment.api.retaining import Retirement
    from muniment.domain.policy import RetentionRule
    from muniment.domain.scope import Scope

_PANEL = "Which facts or records: one rule, or a file of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, or a file of rules."""

    category: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only facts of this category.", rich_help_panel=_PANEL
        ),
    ] = None
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Recorded so long ago, such as 90d, 12h or 2w.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    unused_for: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Neither written, said again nor given to an agent for so long.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    importance_below: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Less important than this, 0 to 1.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    thin_older_than: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Not retired: of what was recorded so long ago, 365d or more, only how it "
            "stood when each year began is kept, for good.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    merge_alike: Annotated[
        float | None,
        typer.Option(
            metavar="LIKENESS",
            help="Says the same as another fact: 1 for the same words, 0.95 to 1 for what "
            "is so alike to the embedder, too.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    records: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Not facts: receipt, look, emergency or turn, made unreadable for good "
            "once --older-than is over.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="Rules in TOML: [\\[rule]] tables with the fields above.",
            rich_help_panel=_PANEL,
        ),
    ] = None

    @property
    def named(self) -> "tuple[RetentionRule, ...]":
        """
        The rules; none when only facts past their own end go.

        Raises:
            TyperException: If rules are named in both ways.
            InvalidInput: If one of them is no rule.
        """
        from muniment.api import rules  # noqa: PLC0415 - slow, and not for --help

        fields = given(
            category=self.category,
            older_than=self.older_than,
            unused_for=self.unused_for,
            importance_below=self.importance_below,
            thin_older_than=self.thin_older_than,
            merge_alike=self.merge_alike,
            records=self.records,
        )
        if fields and self.rules is not None:
            raise typer.TyperException("say the rules in the file, or one as options")
        if self.rules is not None:
            return rules.rules_in(self.rules)
        return (rules.rule(fields),) if fields else ()


def retain(
    rule: Rule,
    whose: Whose,
    author: Author,
    at: Place,
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be retired, and write nothing.")
    ] = False,
    every: Every = None,
    yes: Yes = False,
) -> None:
    """
    Retire what rules say is no longer to be used, and what is past its expires_at.

    A retired fact is not erased: its history and what was known before keep it, and
    restore brings it back. Core facts go by their own expires_at alone, and what a legal
    hold binds stays. Without --user, --team or --org it is everybody's memory.

    With --merge-alike, what says the same as another fact is merged into that, which a
    retired fact names; look at --plan first.

    What is thinned is gone for good: the keys of what facts said long ago, and did not
    say when a year began, are destroyed, and as-of a time in between is refused.

    So are records with --records: what an agent was given and asked, why somebody looked,
    what was said. That it was, and when, stays.

    What would go is shown first, then you are asked.
    """
    named = rule.named
    scope = whose.scope if whose.named else None
    pause = pause_of(every)
    if not (plan or yes or at.can_ask):
        raise typer.TyperException(
            "retention asks before it writes, and nobody can be asked here: look at "
            "--plan, then repeat with --yes"
        )
    if plan or at.is_for_a_person:
        with author.asked(at) as store:
            due = Due(due=store.plan_retention(named, scope=scope))
        at.answer(due)
        if plan:
            return
        if not yes:
            _ask(due, every)
    repeated(lambda: _run(at, named, scope, author), pause=pause)


def _ask(due: Due, every: str | None) -> None:
    if not due.due and every is None:
        return
    again = "" if every is None else f", and what is due every {every}"
    thinned = sum(each.cause == THINNED for each in due.due)
    records = [each.count for each in due.due if each.records]
    for_good = f", and thin {thinned:,} for good" if thinned else ""
    for_good += f", and make {sum(records):,} records unreadable" if records else ""
    retired = len(due.due) - thinned - len(records)
    question = f"Retire {retired:,} facts{for_good}{again}?"
    if not typer.confirm(question, err=True):
        terminal.note("nothing was written")
        raise typer.Exit(terminal.CANCELLED)


def _run(
    at: Place,
    rules: "tuple[RetentionRule, ...]",
    scope: "Scope | None",
    author: Author,
) -> None:
    """Retire what is due now, subject by subject, and say what was."""
    with author.asked(at) as store:
        retained = _retained(store, rules, scope, author)
    at.answer(retained)


def _retained(
    store: "muniment.MemoryStore",
    rules: "tuple[RetentionRule, ...]",
    scope: "Scope | None",
    author: Author,
) -> Retained:
    due = store.plan_retention(rules, scope=scope)
    scopes = list(dict.fromkeys(each.scope for each in due))
    done: set[str] = set()
    with terminal.counting("subjects") as progress:
        for number, each in enumerate(scopes, 1):
            for receipt in store.retain(rules, scope=each, **author.by):
                done.update(receipt.fact_ids)
            if progress is not None:
                progress(number, len(scopes))
    # One whose hold came in between was left as it is.
    named = [
        (each.fact_id, each.cause == THINNED)
        for each in due
        if each.fact_id is not None and each.fact_id in done
    ]
    return Retained(
        retired=tuple(fact_id for fact_id, is_thinned in named if not is_thinned),
        thinned=tuple(fact_id for fact_id, is_thinned in named if is_thinned),
        expired=_expired(store, rules, scope, [each for each in due if each.records]),
    )


def _expired(
    store: "muniment.MemoryStore",
    rules: "tuple[RetentionRule, ...]",
    scope: "Scope | None",
    due: "list[Retirement]",
) -> dict[str, int]:
    """Return how many records went, by kind: what was due and is not any more."""
    found: dict[str, int] = {}
    if due:
        of_records = [each for each in rules if each.records]
        left = {_name(e) for e in store.plan_retention(of_records, scope=scope)}
        for each in due:
            if _name(each) not in left:
                found[str(each.records)] = found.get(str(each.records), 0) + each.count
    return found


def _name(due: "Retirement") -> tuple[object, ...]:
    return due.scope, due.records, due.session_id


Start = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what was done then or later.")
]
End = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what was done before then.")
]


def retention_report(
    rule: Rule,
    whose: Whose,
    looker: Looker,
    at: Place,
    *,
    start: Start = None,
    end: End = None,
) -> None:
    """
    Show what retention did, what legal holds keep, and what is due still; signed.

    Each line stands on an event of the ledger, whose proof is in the JSON. Keep the answer:
    whoever has the ledger's public key can check it without the store. What is held and
    due is by the rules you name. Without --user, --team or --org it is everybody's memory.
    """
    scope = whose.scope if whose.named else None
    with looker.asked(at) as store:
        report = store.report_retention(rule.named, scope=scope, start=start, end=end)
    at.answer(report)
