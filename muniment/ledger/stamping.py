"""From drafts to recorded events, and from recorded events to their stamps."""

from muniment.domain.events import Event, FactAsserted, FactCorroborated, FactRevised
from muniment.domain.rollback import Stamp
from muniment.ledger.records import DraftEvent, Origin, RecordedEvent, TransactionRow


def recorded(draft: DraftEvent, row: TransactionRow, position: int) -> RecordedEvent:
    """Return an event as it was appended in the transaction of *row*."""
    return RecordedEvent(
        position=position,
        tx_id=row.tx_id,
        recorded_at=row.recorded_at,
        stream=draft.originator_id,
        version=draft.originator_version,
        subject_ref=draft.subject.ref,
        content_tag=draft.content_tag,
        event=draft.event,
    )


def stamp_of(event: RecordedEvent, origin: Origin) -> Stamp:
    """Return what the ledger put on an event, and what it was said to come from."""
    return Stamp(
        position=event.position,
        tx_id=event.tx_id,
        recorded_at=event.recorded_at,
        actor=origin.actor,
        trigger=origin.trigger,
        session_id=origin.session_id,
        source=_source(event.event),
    )


def _source(event: Event) -> str | None:
    """Return what an event was said to come from, where it says and can be read."""
    match event:
        case FactAsserted() | FactRevised() if event.content is not None:
            return event.content.evidence.source
        case FactCorroborated() if event.evidence is not None:
            return event.evidence.source
        case _:
            return None
