"""Where the key-encryption key is, and how it is replaced."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from muniment.errors import ConfigurationError
from muniment.ledger import keys
from muniment.ledger.database import sqlite_file
from muniment.ledger.key_service import service_named
from muniment.ledger.keys import KeyRing
from muniment.ledger.vault import Vault
from muniment.settings import Settings


KEY_FILE = "key"


def key_ring(settings: Settings, *, create: bool) -> KeyRing:
    """Return the key-encryption keys that *settings* name; a file is made if asked to."""
    if settings.key_service is not None:
        if settings.key is not None:
            raise ConfigurationError(
                "both a key and a key service are named", "leave one of them out"
            )
        return KeyRing(service_named(settings.key_service))
    if settings.key is not None:
        text = settings.key.get_secret_value()
        return KeyRing(lambda: keys.from_text(text, origin="MUNIMENT_KEY"))
    path = settings.key_file or default_key_file(settings)
    keys.from_file(path, create=create)
    return KeyRing(lambda: keys.from_file(path, create=False))


def rotate_key(settings: Settings, vault: Vault, progress: Callable[[int], None]) -> int:
    """Replace the key-encryption key of *vault*; see `MemoryStore.rotate_key`."""
    if settings.key_service is not None or settings.key is not None:
        known = vault.keys_at_hand()
        if len(known) == 1:
            raise ConfigurationError(
                "one key-encryption key is at hand",
                "let MUNIMENT_KEY name the old key and a new one, with a comma, or the "
                "key service give both",
            )
        return vault.rotate(known[-1], progress=progress)
    path = settings.key_file or default_key_file(settings)
    held = keys.from_file(path, create=False)
    if len(held) == 1:
        held = (*held, keys.new_key())
        keys.to_file(path, held)
    done = vault.rotate(held[-1].kek_id, progress=progress)
    keys.to_file(path, held[-1:])
    return done


def default_key_file(settings: Settings) -> Path:
    """Return where the key is if nobody said."""
    file = sqlite_file(settings.vault_url or settings.database_url)
    if file is not None:
        return file.parent / KEY_FILE
    # A server has no directory of ours: the key stays with whoever runs the store.
    place = sa.make_url(settings.database_url).set(password=None, query={})
    digest = hashlib.sha256(place.render_as_string().encode()).hexdigest()[:12]
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "muniment" / "keys" / f"{place.database}-{digest}"
