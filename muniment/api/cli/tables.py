"""Answers as a person reads them."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muniment.api.answers import (
    BlameEntry,
    Fact,
    FactHistory,
    FactVersion,
    MemorySnapshot,
    ModifiedFact,
    Page,
)
from muniment.api.cli.terminal import visible
from muniment.instants import to_text


def words(text: str | None, style: str = "") -> Text:
    """Return content, with nothing in it that a terminal would obey."""
    return Text("(unreadable)", "dim") if text is None else Text(visible(text), style)


def instant(at: datetime | None) -> str:
    """Return a time as it can be typed again, without a fraction that is zero."""
    return (to_text(at) or "…").replace(".000000Z", "Z")


def said(fact: Fact) -> Text:
    """Return what a fact says, and below it of which kind it is and where it came from."""
    kind = "/".join(each for each in (fact.category, fact.attribute) if each)
    notes = [kind, fact.source or "", f"v{fact.version}", *(["core"] if fact.core else [])]
    below = " · ".join(each for each in notes if each)
    return Text.assemble(words(fact.content), "\n", words(below, "dim"))


def period(start: datetime | None, end: datetime | None) -> Text:
    """Return a valid period on two lines."""
    return Text(f"{instant(start)}\n{instant(end)}", "cyan")


def facts(held: Sequence[Fact]) -> RenderableType:
    """Return beliefs, one a row."""
    table = columns("fact", "says", "valid from, to")
    for fact in held:
        table.add_row(fact.fact_id, said(fact), period(fact.valid_from, fact.valid_to))
    return table if held else Text("nothing", "dim")


def snapshot(found: MemorySnapshot) -> RenderableType:
    """Return what was believed, under the point on both axes it was asked for."""
    head = (
        f"{_count(len(found), 'belief')} known at {instant(found.recorded_at)} "
        f"about {instant(found.valid_at)}, position {found.position}"
    )
    return Group(Text(head, "bold"), facts(found.facts))


def page(found: Page) -> RenderableType:
    """Return part of what is believed now, and how to get the rest."""
    return Group(facts(found.items), *more(found.next_cursor))


def more(next_cursor: str | None) -> list[RenderableType]:
    """Return how to get what a list goes on with, if it does."""
    if next_cursor is None:
        return []
    return [Text(f"more with: --cursor {next_cursor}", "dim")]


def fact(found: Fact) -> RenderableType:
    """Return one fact."""
    return facts([found])


def history(found: FactHistory) -> RenderableType:
    """Return the life of one fact."""
    now = "nothing is believed now" if found.current_content is None else "believed now: "
    head = Text(f"{found.fact_id} of {visible(str(found.scope))}, {now}", "bold")
    if found.current_content is not None:
        head.append_text(words(found.current_content))
    return Group(head, versions(found.versions))


def versions(listed: Iterable[FactVersion]) -> RenderableType:
    """Return versions, one a row, each with who made it and why."""
    table = columns("version", "says", "recorded, by whom and why")
    for each in listed:
        table.add_row(
            Text.assemble(f"v{each.version} ", (each.kind, _STYLES.get(each.kind, ""))),
            _what(each),
            cause(each),
        )
    return table


def modified(found: Sequence[ModifiedFact]) -> RenderableType:
    """Return the facts that changed in a span, with what changed them."""
    parts: list[RenderableType] = []
    for each in found:
        parts += [Text(each.fact_id, "bold"), versions(each.versions)]
    return Group(*parts) if parts else Text("nothing was recorded in that span", "dim")


def blame(found: Sequence[BlameEntry]) -> RenderableType:
    """Return what is believed, each with the event that said it."""
    table = columns("fact", "says", "recorded, by whom and why")
    for each in found:
        why = cause(each.said_by)
        if each.restored_by is not None:
            why.append_text(Text("\nbrought back: ", "yellow"))
            why.append_text(cause(each.restored_by))
        table.add_row(each.fact_id, said(each.fact), why)
    return table if found else Text("nothing is believed there", "dim")


def columns(*titles: str) -> Table:
    """Return an empty table under *titles*."""
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for title in titles:
        # An id is there to be copied, so it is never broken.
        is_name = title in _NAMES
        table.add_column(title, no_wrap=is_name, overflow="fold")
    return table


def cause(version: FactVersion) -> Text:
    """Return when an event was recorded, in which transaction, by whom and why."""
    named = {
        "by": version.actor,
        "trigger": version.trigger,
        "source": version.source,
        "session": version.session_id,
        "turns": ", ".join(version.source_turns),
        "because": version.reason,
    }
    why = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    place = f"{instant(version.recorded_at)} tx {version.tx_id}"
    return Text.assemble((place, "cyan"), "\n", words(why, "dim"))


def _what(version: FactVersion) -> Text:
    match version.kind:
        case "thinned":
            return Text(f"made unreadable: {spans(version.thinned)}", "dim")
        case "asserted" | "revised" | "corrected":
            span = f"\n{instant(version.valid_from)} to {instant(version.valid_to)}"
            return Text.assemble(words(version.content), (span, "cyan"))
        case "ended":
            return Text(f"until {instant(version.valid_to)}", "dim")
        case "restored" | "rolled_back":
            return Text(f"as after v{version.restores}", "dim")
        case _:
            return Text("", "dim")


def spans(runs: Iterable[tuple[int, int]]) -> str:
    """Return versions, given in runs, as a person writes them."""
    return ", ".join(f"v{one}" if one == two else f"v{one}-{two}" for one, two in runs)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_NAMES = {"fact", "hold", "proposal", "session", "turn", "version"}

_STYLES = {
    "asserted": "green",
    "revised": "yellow",
    "corrected": "yellow",
    "ended": "red",
    "retired": "red",
    "redacted": "red",
    "thinned": "red",
    "restored": "magenta",
    "rolled_back": "magenta",
}
