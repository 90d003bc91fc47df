"""The ledger as an application of the `eventsourcing` library."""

from typing import Any

from eventsourcing.application import Application
from eventsourcing.persistence import ApplicationRecorder, Mapper
from eventsourcing.utils import Environment

from muniment.ledger.mapper import SealingMapper
from muniment.ledger.recorder import LedgerRecorder


class LedgerApplication(Application[str]):
    """
    The library's application over one ledger's recorder and mapper.

    Its name is pinned: the library finds tracking records by it. Nothing of it is
    configured from the environment, which belongs to the caller.
    """

    name = "muniment"

    def __init__(self, recorder: LedgerRecorder, mapper: SealingMapper) -> None:
        self._given = recorder, mapper
        super().__init__()

    def construct_env(self, name: str, env: Any = None) -> Environment:
        """Return an empty environment."""
        return Environment(name, env or {})

    def construct_recorder(self) -> ApplicationRecorder:
        """Return the recorder given."""
        return self._given[0]

    def construct_mapper(self) -> Mapper[str]:
        """Return the mapper given."""
        return self._given[1]
