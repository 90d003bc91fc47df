"""The key-encryption key: the one secret that has to be kept outside of the store."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from muniment.errors import (
    BrokenSealError,
    ConfigurationError,
    MissingKeyError,
    VaultMismatchError,
)
from muniment.ledger import sealing


class KeyEncryptionKey:
    """
    Wraps the keys of subjects and ledgers.

    Attributes:
        kek_id: Names the key without giving it away: 16 hexadecimal digits.
    """

    def __init__(self, key: bytes) -> None:
        assert len(key) == sealing.KEY_BYTES, "a key-encryption key has 256 bits"
        self._key = key
        self.kek_id = sealing.tag(key, b"key-encryption-key").hex()[:16]

    def wrap(self, key: bytes, *, place: bytes) -> bytes:
        """Return *key* sealed, to be opened at *place* alone."""
        return sealing.seal(self._key, key, place=place)

    def unwrap(self, wrapped: bytes, *, place: bytes) -> bytes:
        """
        Return the key that was wrapped.

        Raises:
            VaultMismatchError: If it was wrapped by another key, or altered.
        """
        try:
            return sealing.unseal(self._key, wrapped, place=place)
        except BrokenSealError as error:
            raise VaultMismatchError(
                f"the vault's {error.place} does not open under key {self.kek_id}"
            ) from error


def from_text(text: str, *, origin: str) -> KeyEncryptionKey:
    """
    Return the key that *text* spells in 64 hexadecimal digits.

    Raises:
        ConfigurationError: If it does not.
    """
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != sealing.KEY_BYTES:
        raise ConfigurationError(
            f"the key-encryption key in {origin} is not 64 hexadecimal digits",
            "put back the key the store was made with",
        )
    return KeyEncryptionKey(key)


def from_file(path: Path, *, create: bool) -> KeyEncryptionKey:
    """
    Return the key kept in *path*.

    Args:
        path: Holds 64 hexadecimal digits; readable by its owner alone.
        create: Make a new key where there is no file; only for a store with no vault.

    Raises:
        MissingKeyError: If there is no file, and none is to be made.
        ConfigurationError: If others may read the file, or it holds no key.
    """
    if create:
        _write_new(path)
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


def _write_new(path: Path) -> None:
    """Write a new key, unless there is one; whole and durable before it has its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".key-")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(sealing.new_key().hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            # Of two processes that make a store at once, the first one's key stands.
            os.link(draft, path)
    finally:
        Path(draft).unlink()
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
