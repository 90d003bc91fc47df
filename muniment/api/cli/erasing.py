"""Commands that forget for good, and those that stand against it."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from muniment.api.certificates import (
    RECALL,
    SHARED,
    ErasureCertificate,
    ErasurePlan,
    ErasureStatus,
)
from muniment.api.cli import exits, terminal
from muniment.api.cli.answers import Certified, Held
from muniment.api.cli.asking import Approval, Author, KeyedDoer, Looker
from muniment.api.cli.options import AsOf, ValidAt, Whose
from muniment.api.cli.place import Place


Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do it without asking, for scripts.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a hold is."""

    matter: Annotated[
        str,
        typer.Option(metavar="TEXT", help="What it is for, such as a case. Sealed."),
    ] = ""
    fact: Annotated[
        str | None,
        typer.Option(metavar="FACT", help="Bind this fact alone, not all of the memory."),
    ] = None
    issued_by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who issued it; recorded as the actor."),
    ] = None
    hold_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Names it; made up if left out."),
    ] = None


def erase(
    whose: Whose,
    author: Author,
    at: Place,
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what it would reach, and destroy nothing.")
    ] = False,
    yes: Yes = False,
    approval: Approval = None,
) -> None:
    """
    Erase a memory for good: unreadable and unfindable at every moment, everywhere.

    The keys are destroyed first, so that no copy and no backup can be read; then every
    derived row is removed and looked for. Nothing brings it back. That it happened, who
    did it and --reason stay in the ledger: put nothing personal into them.

    What it would reach is shown first, then you are asked. Under a legal hold the request
    is kept, the memory is no longer used, and it is erased when the last hold is released.

    Keep the answer: it is a signed certificate. PARTIAL, with the exit code 4, means that
    the memory itself can be read no more, but something is left, and says what: a store is
    not verified yet, or what was shared waits for a hold or a thaw.
    """
    scope = whose.scope
    if not plan and author.reason is None:
        raise typer.TyperException("say why with --reason: it stays in the ledger")
    if not (plan or yes or at.can_ask):
        raise typer.TyperException(
            "an erasure asks before it destroys, and nobody can be asked here: look at "
            "--plan, then repeat with --yes"
        )
    fields: Any = author.by
    with author.asked(at, approval=approval) as store:
        if plan or at.is_for_a_person:
            planned = store.plan_erasure(scope=scope)
            at.answer(planned)
            if plan:
                return
            if not yes:
                _ask(planned, str(scope))
        certificate = store.erase(scope=scope, **fields)
    at.answer(certificate)
    if certificate.status is ErasureStatus.PARTIAL:
        terminal.note(_left(certificate))
        raise typer.Exit(exits.REFUSED_FOR_NOW)


def _left(certificate: ErasureCertificate) -> str:
    """Return what is left of a memory, and when it goes."""
    copies = sum(each.remaining for each in certificate.stores if each.store == SHARED)
    if copies:
        return (
            f"what was shared is left ({copies}): it goes once the holds that bind it are "
            "released, and the memories it is in thawed"
        )
    if any(each.store == RECALL and not each.verified for each in certificate.stores):
        return (
            "the index has not heard of it yet: run muniment catch-up, then look again: "
            f"muniment certificate {certificate.subject_ref}"
        )
    return "a store is not verified yet; open the store again to go on"


def redact(
    words: Annotated[
        str,
        typer.Argument(
            metavar="TURN-OR-SESSION", help="Its id; that of a turn ends with its number."
        ),
    ],
    doer: KeyedDoer,
    at: Place,
    *,
    keep_facts: Annotated[
        bool, typer.Option("--keep-facts", help="Leave the facts that were drawn from it.")
    ] = False,
    yes: Yes = False,
) -> None:
    """
    Make what was said in a turn, or in all of a session, unreadable for good.

    That it was said, when and by which role stays, with a token in the place of the words.
    Summaries with words of it go, too, and can be made anew; so do the facts that were
    drawn from it, unless you say --keep-facts. Under a legal hold all of it waits, and is
    not used meanwhile.
    """
    if not (yes or at.can_ask):
        raise typer.TyperException(
            "a redaction asks before it destroys, and nobody can be asked here: repeat "
            "with --yes"
        )
    fields: Any = {"facts": "keep" if keep_facts else "redact", **doer.by}
    # Imported here: with it comes the database's library, which `--help` can do without.
    from muniment.api.turns import named_turn  # noqa: PLC0415

    is_turn = named_turn(words) is not None
    with doer.asked(at) as store:
        if not yes:
            # What is not there is not asked about.
            _ = store.get_turn(words) if is_turn else store.get_session(words)
            if not typer.confirm(f"Redact {words} for good?", err=True):
                terminal.note("nothing was destroyed")
                raise typer.Exit(terminal.CANCELLED)
        verb = store.redact_turn if is_turn else store.redact_session
        receipt = verb(words, **fields)
    at.answer(receipt)


def certificate(
    subject_ref: Annotated[
        str,
        typer.Argument(metavar="SUBJECT", help="The random name that erase answered."),
    ],
    looker: Looker,
    at: Place,
) -> None:
    """
    Show the certificate of an erasure again, such as one that had to wait for a hold.

    The name of the user leads nowhere any more; the random name in the first answer does.
    """
    with looker.asked(at) as store:
        found = store.erasure_certificate(subject_ref)
    at.answer(Certified(certificate=found))


def hold(whose: Whose, binding: Binding, author: Author, at: Place) -> None:
    """
    Place a legal hold: nothing it binds can be redacted, erased or retired by rule.

    Requests to do so are accepted and wait; until then what they concern is stored and not
    used. Several holds may overlap, and the last release counts. Place it again with
    another --matter and you have two.
    """
    scope = whose.scope
    if not binding.matter:
        raise typer.TyperException("say what the hold is for with --matter")
    with author.asked(at) as store:
        receipt = store.place_hold(
            scope=scope,
            matter=binding.matter,
            fact_id=binding.fact,
            issued_by=binding.issued_by,
            hold_id=binding.hold_id,
            **author.by,
        )
    at.answer(receipt)


def release(
    hold_id: Annotated[str, typer.Argument(metavar="HOLD", help="The id of the hold.")],
    whose: Whose,
    author: Author,
    at: Place,
    approval: Approval = None,
) -> None:
    """
    Release a legal hold, and do what waited for it, in the order it was asked for.

    Look first with holds and with erase --plan: what waits is then done at once.
    """
    scope = whose.scope
    with author.asked(at, approval=approval) as store:
        receipt = store.release_hold(hold_id, scope=scope, **author.by)
    at.answer(receipt)


def holds(
    whose: Whose,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """List the legal holds in force on a memory, in the order they were placed."""
    scope = whose.scope
    with looker.asked(at) as store:
        listed = store.list_holds(scope=scope, as_of=as_of, valid_at=valid_at)
    found = Held(holds=listed)
    at.answer(found)


def _ask(plan: ErasurePlan, whose: str) -> None:
    """Ask whether to do what was shown."""
    if not plan.events:
        return
    asked = "Ask for the erasure of" if plan.holds else "Erase for good"
    if not typer.confirm(f"{asked} {plan.facts:,} facts of {whose}?", err=True):
        terminal.note("nothing was destroyed")
        raise typer.Exit(terminal.CANCELLED)
