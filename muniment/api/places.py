"""Whether a store can be at a place: what is there, and whether it can be written."""

import errno
import os
from pathlib import Path

from muniment import migrations
from muniment.errors import NotAStoreError, ReadOnlyStoreError, StoreNotFoundError
from muniment.ledger.archiving_lock import LOCK_SUFFIX
from muniment.ledger.database import is_foreign, sqlite_file


_OF_THE_MACHINE = frozenset({errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENOSPC})
"""What no other place would help against; `OSError` says it."""


def check_place(url: str, *, create: bool, ours: frozenset[str]) -> None:
    """
    Refuse a directory that is something else; make it where one is to be made.

    Args:
        url: The database.
        create: Whether a store is to be made where there is none.
        ours: What the directory may hold without a ledger, if making one was cut short.

    Raises:
        StoreNotFoundError: If there is no store, and none is to be made.
        NotAStoreError: If something else is there.
        ReadOnlyStoreError: If it cannot be written.
    """
    file = sqlite_file(url)
    if file is None:
        return
    try:
        _check_directory(file, create=create, ours=ours)
    except OSError as error:
        if error.errno in _OF_THE_MACHINE:
            raise
        problem = f"it cannot be read or made ({error.strerror or error})"
        raise NotAStoreError(str(file.parent), problem) from error


def check_writable(file: Path) -> None:
    """
    Refuse an SQLite database that could not even be read: a log is made beside it.

    Raises:
        ReadOnlyStoreError: If the file, or its directory, cannot be written.
    """
    for each in (file, file.parent):
        if each.exists() and not os.access(each, os.W_OK):
            raise ReadOnlyStoreError(str(each))


def _check_directory(file: Path, *, create: bool, ours: frozenset[str]) -> None:
    directory = file.parent
    if not directory.exists():
        if not create:
            raise StoreNotFoundError(str(directory))
        # Others may be making it at this moment, too.
        directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    if not directory.is_dir():
        raise NotAStoreError(str(directory), "it is not a directory")
    if file.exists():
        _check_file(file)
        return
    strange = {each.name for each in directory.iterdir()} - _around(ours | {file.name})
    if strange:
        raise NotAStoreError(str(directory), f"it holds {min(strange)}")
    if not create:
        raise StoreNotFoundError(str(directory))
    check_writable(file)


def _check_file(file: Path) -> None:
    """Refuse what stands where the ledger should, and is none."""
    if not file.is_file():
        raise NotAStoreError(str(file.parent), f"{file.name} is not a file")
    check_writable(file)
    if is_foreign(file, migrations.VERSION_TABLE):
        problem = f"{file.name} holds the tables of something else"
        raise NotAStoreError(str(file.parent), problem)


def _around(names: frozenset[str]) -> frozenset[str]:
    """Return *names*, and those of what SQLite and locks keep beside them."""
    ends = ("-wal", "-shm", "-journal", LOCK_SUFFIX)
    return names | {f"{name}{end}" for name in names for end in ends}
