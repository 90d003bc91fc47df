"""What agents are given, and how they are set up, as a person reads it."""

import json
from collections.abc import Mapping
from typing import TypeAlias, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.cli.answers import Configuration, Lost, Receipts, Uses
from muniment.api.cli.tables import columns, instant, words
from muniment.api.contexts import Context
from muniment.api.receipts import RecallReceipt
from muniment.domain.text import Json


Recalled: TypeAlias = Context | Receipts | Uses | Lost | Configuration


def rendered(answer: Recalled) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case Context():
            return _context(answer)
        case Receipts():
            return _receipts(answer)
        case Uses():
            text = "\n".join(map(instant, answer.uses))
            return Text(text) if text else Text("no agent was given it", "dim")
        case Lost():
            style = "bold red" if answer.lost else "green"
            return Text(f"{answer.lost:,} receipts lost at most", style)
        case Configuration():
            return _configuration(answer.configuration)
        case _:
            assert_never(answer)


def _context(found: Context) -> RenderableType:
    head = (
        f"{found.tokens:,} tokens: {len(found.facts):,} facts, {len(found.turns):,} turns, "
        f"{len(found.summaries):,} summaries, known at {instant(found.recorded_at)}"
    )
    shown: list[RenderableType] = [Text(head, "bold"), words(found.text)]
    if found.left_out:
        shown.append(words(f"no room for: {', '.join(found.left_out)}", "yellow"))
    return Group(*shown)


def _receipts(found: Receipts) -> RenderableType:
    table = columns("recalled", "asked", "given: rank, fact, in the prompt")
    for each in found.receipts:
        served = [
            f"{fact.rank} {fact.fact_id} v{fact.version}{_PLACED[fact.placed]}"
            for fact in each.facts
        ]
        given = Text("\n".join(served)) if served else Text("nothing", "dim")
        when = f"{instant(each.asked_at)}\nposition {each.at_position}"
        table.add_row(Text(when, "cyan"), _asked(each), given)
    return table if found.receipts else Text("nothing was recalled", "dim")


_PLACED = {True: " placed", False: " left out", None: ""}


def _asked(receipt: RecallReceipt) -> Text:
    by = " · ".join(
        each
        for each in (receipt.action, receipt.agent, receipt.session_id, receipt.model)
        if each
    )
    return Text.assemble(words(receipt.query), "\n", words(by, "dim"))


def _configuration(known: Mapping[str, Json]) -> RenderableType:
    table = columns("name", "value")
    for name, value in known.items():
        table.add_row(words(name), words(json.dumps(value, ensure_ascii=False, indent=2)))
    return table if known else Text("nothing was set", "dim")
