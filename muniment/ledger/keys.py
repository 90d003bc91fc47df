"""The key-encryption key: the one secret that has to be kept outside of the store."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from muniment.errors import (
    BrokenSealError,
    ConfigurationError,
    MissingKeyError,
    VaultMismatchError,
)
from muniment.ledger import sealing


class KeyEncryptionKey(Protocol):
    """
    Wraps the keys of subjects and ledgers; what a key management service provides.

    Used from many threads. It is asked once for each subject that a process meets, and
    once for each new one; what it unwrapped stays in memory until a key is destroyed.

    Attributes:
        kek_id: Names the key without giving it away; kept beside what it wrapped.
    """

    @property
    def kek_id(self) -> str: ...

    def wrap(self, key: bytes, *, place: bytes) -> bytes:
        """
        Return *key* sealed, to be opened at *place* alone.

        Raises:
            KeyServiceUnavailableError: If a service cannot be reached, or refuses.
        """

    def unwrap(self, wrapped: bytes, *, place: bytes) -> bytes:
        """
        Return the key that was wrapped.

        Raises:
            BrokenSealError: If it was wrapped by another key, or altered.
            KeyServiceUnavailableError: If a service cannot be reached, or refuses.
        """


class LocalKey:
    """A `KeyEncryptionKey` whose 256 bits are in this process."""

    def __init__(self, key: bytes) -> None:
        assert len(key) == sealing.KEY_BYTES, "a key-encryption key has 256 bits"
        self._key = key
        self.kek_id = sealing.tag(key, b"key-encryption-key").hex()[:16]

    def wrap(self, key: bytes, *, place: bytes) -> bytes:
        return sealing.seal(self._key, key, place=place)

    def unwrap(self, wrapped: bytes, *, place: bytes) -> bytes:
        return sealing.unseal(self._key, wrapped, place=place)

    def text(self) -> str:
        """Return the key in 64 hexadecimal digits, as its file has it."""
        return self._key.hex()


class KeyRing:
    """
    The key-encryption keys at hand: one, or two while it is rotated.

    Args:
        load: Gives the keys; asked again when a key is missing, since another process
            may have begun a rotation.
    """

    def __init__(self, load: Callable[[], Sequence[KeyEncryptionKey]]) -> None:
        self._load = load
        self._keys = {each.kek_id: each for each in load()}

    def ids(self) -> tuple[str, ...]:
        """Return the names of the keys at hand, first the one for a new vault."""
        return tuple(self._keys)

    def key(self, kek_id: str) -> KeyEncryptionKey:
        """
        Return the key of that name.

        Raises:
            VaultMismatchError: If it is not at hand.
        """
        if kek_id not in self._keys:
            self._keys = {each.kek_id: each for each in self._load()}
        found = self._keys.get(kek_id)
        if found is None:
            raise VaultMismatchError(
                f"the vault was made with key-encryption key {kek_id}, at hand is "
                f"{', '.join(self._keys)}"
            )
        return found

    def unwrap(self, kek_id: str, wrapped: bytes, *, place: bytes) -> bytes:
        """
        Return the key that was wrapped by the key of that name.

        Raises:
            VaultMismatchError: If that key is not at hand, or it does not open.
        """
        try:
            return self.key(kek_id).unwrap(wrapped, place=place)
        except BrokenSealError as error:
            raise VaultMismatchError(
                f"the vault's {error.place} does not open under key {kek_id}"
            ) from error


def from_text(text: str, *, origin: str) -> tuple[LocalKey, ...]:
    """
    Return the keys that *text* spells: 64 hexadecimal digits each, one or more.

    Raises:
        ConfigurationError: If it does not.
    """
    try:
        found = [bytes.fromhex(each) for each in text.replace(",", " ").split()]
    except ValueError:
        found = []
    if not found or any(len(each) != sealing.KEY_BYTES for each in found):
        raise ConfigurationError(
            f"the key-encryption key in {origin} is not 64 hexadecimal digits",
            "put back the key the store was made with",
        )
    return tuple(LocalKey(each) for each in found)


def from_file(path: Path, *, create: bool) -> tuple[LocalKey, ...]:
    """
    Return the keys kept in *path*, a line each.

    Args:
        path: Readable by its owner alone.
        create: Make a new key where there is no file; only for a store with no vault.

    Raises:
        MissingKeyError: If there is no file, and none is to be made.
        ConfigurationError: If others may read the file, or it holds no key.
    """
    if create:
        # Of two processes that make a store at once, the first one's key stands.
        with contextlib.suppress(FileExistsError):
            _write(path, [new_key()], place=os.link)
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii")
    except FileNotFoundError as error:
        raise MissingKeyError(f"no file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise MissingKeyError(f"cannot read {path}: {error}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigurationError(
            f"the key file {path} can be read by others (mode {stat.S_IMODE(mode):04o})",
            f"run: chmod 600 {path}",
        )
    return from_text(text, origin=str(path))


def new_key() -> LocalKey:
    """Return a new, random key."""
    return LocalKey(sealing.new_key())


def to_file(path: Path, keys: Sequence[LocalKey]) -> None:
    """Replace what *path* holds by *keys*, in one step that survives a power cut."""
    _write(path, keys, place=os.replace)


def _write(
    path: Path, keys: Sequence[LocalKey], *, place: Callable[[str, Path], None]
) -> None:
    """Write *keys*, whole and durable before they have their name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".key-")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write("".join(f"{each.text()}\n" for each in keys))
            file.flush()
            os.fsync(file.fileno())
        place(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
