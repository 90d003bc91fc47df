"""What else is kept of a subject, as exports and evidence give it out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from muniment.api.shapes import shaped
from muniment.archive.sources import Line
from muniment.domain.scope import Scope
from muniment.domain.time import Instant, Period
from muniment.ledger.vault import Subject


@dataclass(frozen=True, slots=True)
class Kept:
    """
    A `muniment.archive.sources.Source` over a verb of the store.

    Attributes:
        name: What its file is called, without its ending.
        kept: Returns what is kept of a subject within a period, in order.
    """

    name: str
    kept: Callable[[Scope, Period], Iterable[object]]

    def lines(self, subject: Subject, *, start: Instant, end: Instant) -> Iterator[Line]:
        for each in self.kept(subject.scope, Period(start, end)):
            shape = shaped(each)
            assert isinstance(shape, dict), "an object has the shape of one"
            yield shape
