"""Many short streams of one kind, read page by page: never all of them at once."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.records import StampedEvent


_PAGE_EVENTS: Final = 1_000


def each_stream(
    recorder: LedgerRecorder,
    prefix: str,
    *,
    before: str | None = None,
    subject_ref: str | None = None,
    page: int = _PAGE_EVENTS,
) -> Iterator[tuple[str, Sequence[StampedEvent]]]:
    """
    Yield each stream whose name begins with *prefix*, and its events: the last one first.

    Whoever stops early has read a page more than was needed, whatever else there is.

    Args:
        recorder: What is read.
        prefix: As of `LedgerRecorder.read_prefix`.
        before: Only streams that sort before this one.
        subject_ref: Only of this subject.
        page: How many events are read at once; 2 at least.
    """
    while True:
        read = recorder.read_prefix(
            prefix, before=before, subject_ref=subject_ref, limit=page
        )
        for stream, events in groupby(read, key=_stream):
            before = stream
            found = list(events)
            # The page may have ended within it, and the next one begins behind it.
            is_cut = len(read) == page and found[-1] is read[-1]
            yield stream, recorder.read_stream(stream) if is_cut else found
        if len(read) < page:
            return


def _stream(event: StampedEvent) -> str:
    return str(event.sealed.originator_id)
