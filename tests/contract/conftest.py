"""
What has to be in place before the recorder cases of `eventsourcing` can be imported.

Their module imports the library's cipher on PyCryptodome. The library has the same one
on `cryptography`, which we install; so that stands in for it, and no second package of
ciphers is needed. No case that we inherit encrypts anything.
"""

import sys

import eventsourcing.cryptography


sys.modules.setdefault("eventsourcing.cipher", eventsourcing.cryptography)
