"""Diffs, plans and receipts as a person reads them."""

from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.answers import (
    DiffEntry,
    Fact,
    MemoryDiff,
    PlannedConflict,
    Receipt,
    RollbackPlan,
)
from muniment.api.cli.tables import cause, instant, words


def diff(found: MemoryDiff) -> RenderableType:
    """Return what was added, removed and changed, each with its causes."""
    if not found:
        return Text("no difference", "dim")
    entries = [*found.added, *found.removed, *found.changed]
    return Group(*(_entry(each) for each in entries))


def plan(found: RollbackPlan) -> RenderableType:
    """Return what a rollback would do, leave alone, and could not decide."""
    head = f"{found.action} of {found.scope}, planned at position {found.position}"
    parts: list[RenderableType] = [Text(head, "bold"), diff(found.diff)]
    parts += [Text(f"left as it is: {e.fact_id}, {e.why}", "dim") for e in found.skipped]
    parts += [_conflict(each) for each in found.conflicts]
    return Group(*parts)


def receipt(done: Receipt) -> RenderableType:
    """Return what a write did."""
    if done.tx_id is None:
        shown = Text("nothing to do", "dim")
    else:
        head = f"transaction {done.tx_id}, recorded {instant(done.recorded_at)}"
        shown = Text(head, "bold green")
    if done.hold_id is not None:
        shown.append_text(words(f"\nhold {done.hold_id}: its id releases it", ""))
    if done.deferred:
        shown.append(f"\n{_WAITS}", "yellow")
    return shown if done.diff is None else Group(shown, diff(done.diff))


_WAITS: Final = (
    "some of it waits: for a legal hold, or for the thaw of a memory that has a copy, and "
    "is not used until then"
)


def _entry(entry: DiffEntry) -> Text:
    shown = Text(f"{entry.fact_id}\n", "bold")
    if entry.before is not None:
        shown.append_text(_side("-", entry.before, "red"))
    if entry.after is not None:
        shown.append_text(_side("+", entry.after, "green"))
    for version in entry.causes:
        shown.append(f"    v{version.version} {version.kind} ")
        shown.append_text(Text(" ").join(cause(version).split("\n")))
        shown.append("\n")
    return shown


def _side(sign: str, fact: Fact, style: str) -> Text:
    span = f"  {instant(fact.valid_from)} to {instant(fact.valid_to)}\n"
    return Text.assemble((f"  {sign} ", style), words(fact.content, style), (span, "cyan"))


def _conflict(conflict: PlannedConflict) -> Text:
    shown = Text(f"conflict: {conflict.fact_id}, others wrote on top\n", "bold yellow")
    for version in conflict.versions:
        shown.append(f"    v{version.version} {version.kind} ")
        shown.append_text(words(version.content or "", "yellow"))
        shown.append(" ")
        shown.append_text(Text(" ").join(cause(version).split("\n")))
        shown.append("\n")
    return shown
