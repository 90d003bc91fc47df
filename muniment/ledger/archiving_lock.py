"""That one process at a time writes to the archive of a ledger."""

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from muniment.errors import ArchiveUnavailableError
from muniment.ledger.database import reading


LOCK_SUFFIX = "-archiving"


@contextmanager
def archiving(engine: sa.Engine, ledger: str) -> Iterator[None]:
    """
    Hold the right to write to the archive; it ends with the process, however that ends.

    Raises:
        ArchiveUnavailableError: If another process has it.
    """
    if engine.dialect.name == "postgresql":
        digest = hashlib.sha256(f"muniment/archiving/{ledger}".encode()).digest()
        key = {"key": int.from_bytes(digest[:8], "big", signed=True)}
        autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        with reading(autocommit) as connection:
            taken = connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), key)
            if not taken.scalar():
                raise ArchiveUnavailableError(ledger, "another process writes to it")
            try:
                yield
            finally:
                connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), key)
        return
    file = Path(f"{engine.url.database}{LOCK_SUFFIX}")
    with file.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ArchiveUnavailableError(ledger, "another process writes to it") from error
        yield
