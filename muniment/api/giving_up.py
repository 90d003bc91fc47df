"""An index that is gone for good, as somebody recorded it in the configuration."""

from dataclasses import dataclass
from typing import Final

from muniment.api.certifying import one_line
from muniment.domain.receipt import ConfigurationRecorded
from muniment.instants import moment, to_text
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import CONFIGURATION


INDEX_GONE: Final = "index_gone"
"""The name in the configuration whose value is why the index of current facts is gone."""


@dataclass(frozen=True, slots=True)
class Declared:
    """
    That the index of current facts is gone for good.

    Attributes:
        position: Of the event that says so; an index that came to it is not gone.
        text: When, by whom and why, in one line.
    """

    position: int
    text: str


def declared_gone(ledger: Ledger) -> Declared | None:
    """Return that the index was declared gone, unless that was taken back."""
    stamped = ledger.recorder.read_stream(CONFIGURATION)
    for event in reversed(ledger.mapper.opened(stamped, None)):
        said = event.event
        if not isinstance(said, ConfigurationRecorded) or said.setting is None:
            continue
        if said.setting.name != INDEX_GONE:
            continue
        if said.setting.value is None:
            return None
        row = ledger.recorder.transaction(event.tx_id)
        actor = ledger.mapper.origin(ledger.mapper.nobody, row).actor if row else None
        at, why = to_text(moment(event.recorded_at)), one_line(str(said.setting.value))
        text = f"declared gone for good {at} by {one_line(actor)}: {why}"
        return Declared(event.position, text)
    return None
