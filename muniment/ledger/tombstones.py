"""What a ledger restored from a backup is told of those who were erased since."""

from muniment.domain.events import SubjectErased
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import SUBJECT, Origin
from muniment.ledger.unsubjected import append_unsubjected


def append_tombstone(ledger: Ledger, subject_ref: str) -> int:
    """
    Say in *ledger* that a subject was erased, whose keys are gone already.

    Returns:
        The position of the event that says so.
    """
    with ledger.recorder.appending() as append:
        row = append_unsubjected(
            append,
            ledger.mapper,
            SubjectErased(),
            stream=SUBJECT + subject_ref,
            action="erase",
            origin=Origin(reason="erased before, said again after a restore"),
        )
    return row.last_position
