"""What receipts tell of a recall: whether it was made, and what became of a fact in it."""

from collections.abc import Sequence

from muniment.api.diagnoses import Check, Lost, check
from muniment.api.receipts import RecallReceipt
from muniment.domain.scope import Scope
from muniment.instants import to_text
from muniment.recall.tokens import asked as telling


def receipt_asking(
    query: str | None, receipts: Sequence[RecallReceipt]
) -> RecallReceipt | None:
    """
    Return the last of *receipts* that asked *query*; the very last where it is ``None``.

    Nobody remembers a question to the letter: else it is the last one that has all the
    telling words of it, and else the last of which nobody can tell any more.
    """
    if query is None:
        return receipts[-1] if receipts else None
    wanted = telling(query)
    readable = [each for each in receipts if each.query is not None]
    for found in (
        [each for each in readable if each.query == query],
        [each for each in readable if telling(each.query or "") == wanted],
        [each for each in readable if {*wanted} <= {*telling(each.query or "")}],
        [each for each in receipts if each.token],
    ):
        if found:
            return found[-1]
    return None


def recalled(
    query: str | None,
    receipt: RecallReceipt,
    named: tuple[str, Scope],
    checks: list[Check],
    *,
    rank: int | None,
) -> Lost:
    """
    Return what became of a fact in a recall, and note by what one can tell.

    Args:
        query: What was asked, as somebody remembers it.
        receipt: Of the recall.
        named: The fact, and whose it is.
        checks: Gets what is looked at.
        rank: Where a search puts the fact, if it does.
    """
    fact_id, whose = named
    place = f"receipt at position {receipt.position}, {to_text(receipt.asked_at)}"
    if query not in (None, receipt.query):
        place += f", which asked {receipt.query!r}"
    served = [each for each in receipt.facts if each.fact_id == fact_id]
    if not served and receipt.scopes and str(whose) not in receipt.scopes:
        evidence = f"{place}, was put to {', '.join(receipt.scopes)}, not to {whose}"
        checks.append(check("was it recalled", evidence, passed=False))
        return Lost("not asked", f"fact {fact_id} is of {whose}: {evidence}")
    if not served:
        return _not_served(receipt, place, checks, rank=rank)
    (found,) = served
    score = receipt.token if found.score is None else f"{found.score:.4f}"
    evidence = f"{place}, rank {found.rank}, score {score}"
    checks.append(check("was it recalled", evidence, passed=True))
    if found.placed is False:
        evidence = f"{receipt.tokens} of {receipt.budget} tokens were taken"
        checks.append(check("did it go into the prompt", evidence, passed=False))
        return Lost("no room", "it was recalled and found no room in the prompt")
    went = None if found.placed is None else True
    checks.append(check("did it go into the prompt", place, passed=went))
    return Lost("not used", "the agent was given it, and answered otherwise")


def not_recalled(
    query: str | None,
    receipt: RecallReceipt | None,
    receipts: Sequence[RecallReceipt],
    checks: list[Check],
    *,
    rank: int | None,
) -> Lost:
    """
    Return that no receipt tells of it; of an unreadable one nobody knows what it asked.

    Args:
        query: What was asked, if somebody says so.
        receipt: One that cannot be read any more, if there is one.
        receipts: All there are.
        checks: Gets what is looked at.
        rank: Where a search puts the fact, if it does.
    """
    unread = f"what was asked is {receipt.token}" if receipt else None
    others = [each for each in receipts if each.query is not None]
    evidence = unread or "there is no receipt"
    if others and not unread:
        last = others[-1]
        evidence = f"none of {len(others):,} receipts asked that; the last asked "
        evidence += f"{last.query!r}, {to_text(last.asked_at)}"
    passed = None if unread else False
    checks.append(check("was it recalled", evidence, passed=passed))
    if query is not None and rank is None:
        return Lost("not found", f"no leg of a search for {query!r} finds it")
    if unread:
        return Lost("not known", f"it may have been recalled: {evidence}")
    if others:
        return Lost("not recalled", f"no recall asked {query!r}: {evidence}")
    return Lost("not recalled", "no recall of this memory left a receipt by then")


def _not_served(
    receipt: RecallReceipt, place: str, checks: list[Check], *, rank: int | None
) -> Lost:
    given = len(receipt.facts)
    evidence = f"{place}, has {given} facts, not this one"
    checks.append(check("was it recalled", evidence, passed=False))
    where = f"it ranked {rank}" if rank else "no leg found it"
    sentence = f"{where}, and {given} were given"
    if rank is not None and rank <= max(given, 1):
        sentence += ": the call asked for less, by a filter or in another way"
    return Lost("not found", sentence)
