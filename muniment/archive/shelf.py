"""
Where the files of an archive are: a directory, or any filesystem that Arrow knows.

A file is there whole or not at all, and it is on the disk before `Shelf.put` returns.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs

from muniment.errors import ArchiveUnavailableError, ConfigurationError


class Shelf(Protocol):
    """
    Files by name; names are relative and use slashes.

    Attributes:
        place: Where it is, as a person knows it.
    """

    @property
    def place(self) -> str: ...

    def put(self, name: str, content: bytes) -> None:
        """
        Keep *content* as *name*, instead of what was there; durable once this returns.

        Raises:
            ArchiveUnavailableError: If it cannot be kept; what was there still is, or
                *content* is, whole.
        """

    def opened(self, name: str) -> Any:  # noqa: ANN401 - a pyarrow.NativeFile
        """
        Return a file to read at random.

        Raises:
            ArchiveUnavailableError: If it is not there.
        """

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in and below *folder*, sorted."""

    def remove(self, name: str) -> None:
        """Remove a file, which is there."""

    def url(self, name: str) -> str:
        """Return what others call a file."""


def read(shelf: Shelf, name: str) -> bytes:
    """Return what is kept as *name*."""
    with failing(shelf.place), shelf.opened(name) as file:
        content: bytes = file.read()
    return content


def shelf_at(place: str) -> Shelf:
    """
    Return the shelf that *place* names: a directory, or a URL such as ``s3://bucket/path``.

    Raises:
        ConfigurationError: If it is neither.
    """
    parts = urlsplit(place)
    if parts.scheme in ("", "file"):
        return Directory(Path(unquote(parts.path) if parts.scheme else place))
    try:
        filesystem, path = pyarrow.fs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ConfigurationError(
            f"no archive can be at {place!r}: {error}", "name a directory, s3://… or gs://…"
        ) from error
    return Remote(filesystem, path, place=place)


class Disk:
    """
    The steps by which a file comes to be on a disk.

    Each may fail, and the process may die at each: what is left is put right by the next
    run.
    """

    def write(self, file: Path, content: bytes) -> int:
        """Write *content* to a new file and return its descriptor, still open."""
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        return descriptor

    def sync(self, descriptor: int) -> None:
        """Wait until what was written is on the disk."""
        os.fsync(descriptor)

    def rename(self, file: Path, to: Path) -> None:
        """Give a file the name it is found by."""
        file.replace(to)

    def remove(self, file: Path) -> None:
        """Take a file's name away."""
        file.unlink()

    def sync_directory(self, directory: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Directory:
    """
    A `Shelf` in a directory, made when the first file is kept.

    Args:
        root: The directory.
        disk: How files come to be there.
    """

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._root = root
        self._disk = disk or Disk()

    @property
    def place(self) -> str:
        return str(self._root)

    def put(self, name: str, content: bytes) -> None:
        file = self._root / name
        unnamed = file.with_name(f".{file.name}.new")
        with failing(self.place):
            self._make(file.parent)
            descriptor = self._disk.write(unnamed, content)
            try:
                self._disk.sync(descriptor)
            finally:
                os.close(descriptor)
            self._disk.rename(unnamed, file)
            self._disk.sync_directory(file.parent)

    def opened(self, name: str) -> Any:  # noqa: ANN401 - as promised
        with failing(self.place):
            return pa.OSFile(str(self._root / name))

    def names(self, folder: str) -> list[str]:
        found = (self._root / folder).rglob("*")
        return sorted(str(e.relative_to(self._root)) for e in found if e.is_file())

    def remove(self, name: str) -> None:
        with failing(self.place):
            self._disk.remove(self._root / name)
            self._disk.sync_directory((self._root / name).parent)

    def url(self, name: str) -> str:
        return str(self._root / name)

    def _make(self, directory: Path) -> None:
        """Make a directory and those above, each durable in the one above it."""
        if directory.is_dir():
            return
        self._make(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
        self._disk.sync_directory(directory.parent)


class Remote:
    """A `Shelf` on a filesystem of Arrow; a file is kept whole when it is closed."""

    def __init__(self, filesystem: pyarrow.fs.FileSystem, path: str, *, place: str) -> None:
        self._filesystem = filesystem
        self._path = path.rstrip("/")
        self.place = place.rstrip("/")

    def put(self, name: str, content: bytes) -> None:
        file = f"{self._path}/{name}"
        with failing(self.place):
            self._filesystem.create_dir(file.rpartition("/")[0], recursive=True)
            with self._filesystem.open_output_stream(file) as stream:
                stream.write(content)

    def opened(self, name: str) -> Any:  # noqa: ANN401 - as promised
        with failing(self.place):
            return self._filesystem.open_input_file(f"{self._path}/{name}")

    def names(self, folder: str) -> list[str]:
        where = pyarrow.fs.FileSelector(
            f"{self._path}/{folder}", recursive=True, allow_not_found=True
        )
        with failing(self.place):
            found = self._filesystem.get_file_info(where)
        start = len(self._path) + 1
        return sorted(e.path[start:] for e in found if e.type == pyarrow.fs.FileType.File)

    def remove(self, name: str) -> None:
        with failing(self.place):
            self._filesystem.delete_file(f"{self._path}/{name}")

    def url(self, name: str) -> str:
        return f"{self.place}/{name}"

    def dataset(self, names: Sequence[str]) -> Any:  # noqa: ANN401 - of pyarrow
        """Return files of Parquet as one data set."""
        import pyarrow.dataset  # noqa: PLC0415 - nobody who reads an answer needs it

        files = [f"{self._path}/{each}" for each in names]
        return pyarrow.dataset.dataset(
            files, filesystem=self._filesystem, format="parquet", partitioning="hive"
        )


@contextmanager
def failing(place: str) -> Iterator[None]:
    """Turn a failure of the place into the error that says what to do."""
    try:
        yield
    except OSError as error:
        raise ArchiveUnavailableError(place, str(error)) from error
