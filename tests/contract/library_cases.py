"""
The recorder test cases that `eventsourcing` ships, ready to be inherited.

Their module imports the library's cipher on PyCryptodome. The library has the same one
on `cryptography`, which we install; so that stands in for it, and no second package of
ciphers is needed. No case that we inherit encrypts anything.
"""

import sys

import eventsourcing.cryptography


sys.modules.setdefault("eventsourcing.cipher", eventsourcing.cryptography)

from eventsourcing.tests import persistence as cases  # noqa: E402 - see above


__all__ = ["cases"]
