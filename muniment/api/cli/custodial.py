"""What is held, proven, erased and retired, as a person reads it."""

from typing import TypeAlias, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.certificates import ErasureCertificate, ErasurePlan, ErasureStatus
from muniment.api.cli.answers import Certified, Due, Held, Retained, Rotated
from muniment.api.cli.tables import columns, spans, words
from muniment.api.custody import Verification
from muniment.api.retention_report import RetentionReport


Custodial: TypeAlias = (
    Verification
    | ErasurePlan
    | ErasureCertificate
    | Certified
    | Due
    | Held
    | Retained
    | RetentionReport
    | Rotated
)
KINDS = (
    Verification,
    ErasurePlan,
    ErasureCertificate,
    Certified,
    Due,
    Held,
    Retained,
    RetentionReport,
    Rotated,
)

_STYLES = {
    ErasureStatus.DONE: "bold green",
    ErasureStatus.PARTIAL: "bold red",
    ErasureStatus.DEFERRED: "bold yellow",
}


def rendered(answer: Custodial) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case Verification():
            return _verification(answer)
        case ErasurePlan():
            return _plan(answer)
        case ErasureCertificate():
            return _certificate(answer)
        case Certified():
            found = answer.certificate
            return Text("no such erasure", "dim") if found is None else _certificate(found)
        case Due():
            return _due(answer)
        case Held():
            return _holds(answer)
        case Retained():
            return _retained(answer)
        case RetentionReport():
            # Not laid out: a signature is over every character.
            head = words(f"{answer.status}", _STYLES[answer.status])
            return Group(head, words(answer.text, "dim"))
        case Rotated():
            return Text(f"{answer.keys:,} keys wrapped anew", "green")
        case _:
            assert_never(answer)


def _verification(found: Verification) -> RenderableType:
    head = f"{found.events:,} events read, {found.heads:,} tree heads compared"
    if found:
        return Text(f"{head}: all is as it was recorded", "green")
    table = columns("position", "kind", "what is wrong")
    for each in found.findings:
        position = "" if each.position is None else str(each.position)
        table.add_row(position, each.kind, words(each.problem))
    return Group(Text(head, "bold red"), table)


def _plan(plan: ErasurePlan) -> RenderableType:
    table = columns("what", "how many")
    table.add_row("facts", f"{plan.facts:,}")
    table.add_row("events that become unreadable", f"{plan.events:,}")
    for store, count in plan.rows.items():
        table.add_row(f"removed from the {store}", f"{count:,}")
    if not plan.holds:
        return table
    held = f"deferred by legal hold: {', '.join(plan.holds)}"
    return Group(table, words(held, "yellow"))


def _certificate(certificate: ErasureCertificate) -> RenderableType:
    head = words(f"{certificate.status}", _STYLES[certificate.status])
    if certificate.subject_ref is None:
        return Text.assemble(head, ": nothing was remembered")
    head.append_text(words(f", subject {certificate.subject_ref}"))
    # Not laid out: a signature is over every character.
    return Group(head, words(certificate.text, "dim")) if certificate.text else head


def _due(due: Due) -> RenderableType:
    table = columns("what", "whose", "why")
    for each in due.due:
        into = f"into {each.survivor}" if each.survivor else spans(each.versions)
        why = f"{each.cause} {into}".strip()
        what = each.fact_id or f"{each.count:,} {each.records} {each.session_id or ''}"
        table.add_row(what.strip(), words(str(each.scope)), why)
    return table if due.due else Text("nothing is due", "dim")


def _retained(retained: Retained) -> RenderableType:
    text = f"{len(retained.retired):,} facts retired"
    if retained.thinned:
        text += f", {len(retained.thinned):,} thinned"
    for records, count in retained.expired.items():
        text += f", {count:,} {records} records made unreadable"
    return Text(text, "green")


def _holds(held: Held) -> RenderableType:
    table = columns("hold", "binds", "matter")
    for each in held.holds:
        table.add_row(words(each.hold_id), each.fact_id or "everything", words(each.matter))
    return table if held.holds else Text("no legal hold", "dim")
