"""
Key-encryption keys from a service: a key management service, or a module of hardware.

The setting names a function, ``package.module:factory``. Called without arguments it
returns one or more `muniment.ledger.keys.KeyEncryptionKey`: the one in use, and while it
is rotated, the new one after it. It is called when a store is opened, and again when a
key is asked for that was not at hand.
"""

import importlib
from collections.abc import Callable, Sequence

from muniment.errors import ConfigurationError
from muniment.ledger.keys import KeyEncryptionKey


KeyService = Callable[[], Sequence[KeyEncryptionKey]]


def service_named(name: str) -> KeyService:
    """
    Return what gives the keys of the service *name*.

    Raises:
        ConfigurationError: If it names no function, or that gives no key.
    """
    module, _, attribute = name.partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"the key service {name!r} cannot be loaded: {error}", _REMEDY
        ) from error
    if not callable(factory):
        raise ConfigurationError(f"the key service {name!r} is no function", _REMEDY)

    def keys() -> Sequence[KeyEncryptionKey]:
        found = tuple(factory())
        if not found or not all(_is_key(each) for each in found):
            raise ConfigurationError(f"the key service {name!r} gave no key", _REMEDY)
        return found

    return keys


def _is_key(found: object) -> bool:
    return isinstance(getattr(found, "kek_id", None), str) and all(
        callable(getattr(found, each, None)) for each in ("wrap", "unwrap")
    )


_REMEDY = (
    "name a function as package.module:factory that returns its key-encryption keys, "
    "see docs/concepts/keys-and-the-vault.md"
)
