"""Which facts were drawn from what was said."""

from muniment.api import showing
from muniment.api.lookup import Lookup
from muniment.api.redacting import Words
from muniment.domain.events import FactAsserted, FactRevised
from muniment.ledger.vault import Subject


def drawn_from(lookup: Lookup, subject: Subject, words: Words) -> list[str]:
    """Return the facts of *subject* of which a version was drawn from *words*, in order."""
    events = lookup.ledger.subject_events(subject)
    of_facts = [each for some in showing.by_fact(events).values() for each in some]
    says = {
        each.position
        for each in of_facts
        if isinstance(each.event, FactAsserted | FactRevised)
    }
    drawn = (
        each.fact_id
        for each in lookup.versions(subject, of_facts)
        if each.position in says and any(map(words.has, each.source_turns))
    )
    return sorted(set(drawn))
