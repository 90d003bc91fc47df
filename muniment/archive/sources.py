"""What else goes into a package of evidence or an export; loaded without the archive."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from muniment.domain.time import Instant
from muniment.ledger.vault import Subject


Line = Mapping[str, Any]
"""One line of JSON Lines, of JSON types alone."""


class Source(Protocol):
    """
    Something else that is kept of subjects, such as turns of conversation or receipts.

    Attributes:
        name: What its file is called, without its ending: lower case, no spaces.
    """

    @property
    def name(self) -> str: ...

    def lines(self, subject: Subject, *, start: Instant, end: Instant) -> Iterable[Line]:
        """
        Yield what is kept of *subject* that was recorded in ``[start, end)``, in order.

        In clear text, and of nobody else.
        """
