"""What is shared and proposed, as a person reads it."""

from typing import TypeAlias, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.cli.answers import Shared
from muniment.api.cli.tables import columns, instant, more, said, words
from muniment.api.entrusting import HandedOver
from muniment.api.proposed import Proposal, ProposalPage, ProposalState


Together: TypeAlias = Proposal | ProposalPage | Shared | HandedOver

_STYLES = {
    ProposalState.OPEN: "bold yellow",
    ProposalState.APPROVED: "bold green",
    ProposalState.DONE: "green",
    ProposalState.REJECTED: "red",
    ProposalState.REDACTED: "dim",
}


def rendered(answer: Together) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case Proposal():
            return _proposals((answer,))
        case ProposalPage():
            if not len(answer):
                return Text("nothing was proposed", "dim")
            return Group(_proposals(answer.items), *more(answer.next_cursor))
        case Shared():
            return _shared(answer)
        case HandedOver():
            return _handed_over(answer)
        case _:
            assert_never(answer)


def _proposals(listed: tuple[Proposal, ...]) -> RenderableType:
    table = columns("proposal", "is", "to do what", "by whom and why")
    for each in listed:
        agreed = f"\n{len(each.approved_by)} of {each.needed} agree"
        table.add_row(
            each.proposal_id,
            Text.assemble((each.state.value, _STYLES[each.state]), (agreed, "dim")),
            _wanted(each),
            _why(each),
        )
    return table


def _wanted(proposal: Proposal) -> Text:
    """Return what is to be done, to whose memory, and what a fact would say then."""
    whom = "" if proposal.to is None else f" with {proposal.to}"
    what = words(f"{proposal.verb} of {proposal.scope}{whom}, {proposal.size:,} facts")
    if proposal.content is not None:
        what.append("\n")
        what.append_text(words(proposal.content, "bold"))
    return what


def _why(proposal: Proposal) -> Text:
    lines = [
        f"{instant(proposal.proposed_at)} by {proposal.proposed_by or 'nobody named'}",
        *([f"because {proposal.reason}"] if proposal.reason else []),
        *(f"agrees: {each}" for each in proposal.approved_by),
        *([f"refused: {proposal.note}"] if proposal.note else []),
    ]
    return words("\n".join(lines))


def _shared(found: Shared) -> RenderableType:
    table = columns("fact", "says", "answers for it", "to be looked at")
    for each in found.shared:
        due = "" if each.review_at is None else instant(each.review_at)
        due += "\noverdue" if each.overdue else ""
        table.add_row(
            each.fact.fact_id,
            said(each.fact),
            Text("nobody", "dim") if each.owner is None else words(each.owner),
            Text(due, "bold red" if each.overdue else ""),
        )
    return table if found.shared else Text("nothing", "dim")


def _handed_over(done: HandedOver) -> RenderableType:
    did = {
        "keep": f"kept, now with {done.to}",
        "archive": "no longer used; restore brings them back",
        "delete": "made unreadable for good",
    }[done.policy]
    dealt = [each for each in done.fact_ids if each not in done.deferred]
    lines = [f"{len(dealt):,} facts {did}", *dealt]
    if done.deferred:
        lines.append(f"{len(done.deferred):,} facts {_WAIT}:")
        lines += done.deferred
    return words("\n".join(lines))


_WAIT = "are not used any more, and stay readable until what binds them ends"
