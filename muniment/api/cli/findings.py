"""What was found, and how far the index is, as a person reads it."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.cli.answers import Indexed, Reconciled
from muniment.api.cli.tables import columns, instant, said, words
from muniment.api.cli.terminal import visible
from muniment.api.found import SearchHit, SearchHits


def hits(found: SearchHits) -> RenderableType:
    """Return what was found, best first, under the point it was looked for at."""
    head = (
        f"{len(found):,} found, known at {instant(found.recorded_at)} about "
        f"{instant(found.valid_at)}, position {found.position}"
    )
    by = f"by words and by {found.model}" if found.model else "by words"
    scopes = {str(each.fact.scope) for each in found}
    explained = any(each.legs for each in found)
    of_several = len(scopes) > 1
    table = columns("fact", "says", "score", *(["of"] if of_several else []))
    for each in found:
        score = _score(each, explained=explained)
        of = [visible(str(each.fact.scope))] if of_several else []
        table.add_row(each.fact.fact_id, _says(each), score, *of)
    nothing = Text("nothing", "dim")
    return Group(
        Text(head, "bold"), Text(visible(by), "dim"), table if len(found) else nothing
    )


def indexed(answer: Indexed) -> RenderableType:
    """Return how far the index is."""
    shares = f"{answer.applied:,} of {answer.events:,} events indexed"
    by = "" if not answer.model else f" by {answer.model}"
    late = f", {answer.pending:,} facts not embedded yet" if answer.pending else ""
    style = "yellow" if answer.problem or answer.pending else "green"
    return Text(visible(f"{shares}{by}{late}"), style)


def reconciled(answer: Reconciled) -> RenderableType:
    """Return what differs, point by point."""
    if not answer.differences:
        return Text("the index holds what the ledger says", "green")
    did = "put right" if answer.mended else "found"
    table = columns("fact", "is", "point")
    for each in answer.differences:
        table.add_row(each.fact_id, each.fault.value, each.point_id)
    return Group(Text(f"{len(answer.differences):,} differences {did}", "yellow"), table)


def _says(hit: SearchHit) -> Text:
    if hit.standing == "current":
        return said(hit.fact)
    return Text.assemble((f"{hit.standing}\n", "yellow"), said(hit.fact))


def _score(hit: SearchHit, *, explained: bool) -> Text:
    text = Text(f"{hit.score:.4f}")
    if explained:
        text.append_text(words(f"\n{_explained(hit)}", "dim"))
    return text


def _explained(hit: SearchHit) -> str:
    legs: Sequence[str] = [f"{leg} {each.rank}" for leg, each in hit.legs.items()]
    factors = [f"{name} {value:+.3f}" for name, value in hit.factors.items() if value]
    return f"{', '.join(legs)}\n{', '.join(factors)}"
