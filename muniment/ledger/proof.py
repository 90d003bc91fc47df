"""
Checking what a ledger proves. Needs no database and no key of the store.

Read this file alone to know what a proof means. A ledger is a list of events in order.
Each event has an *envelope*: where and when it stands, and the SHA-256 of its bytes as
they are stored, which are ciphertext. The envelopes are the leaves of a Merkle tree as
in RFC 6962. A *tree head* names the tree's size and root hash and is signed by the
ledger. Two things can be proven with a few hashes:

* inclusion: this event stands at this place in the tree of that head;
* consistency: the tree of an earlier head is the beginning of a later one.

Destroying a key changes no stored byte: the proofs of erased events stay valid, and say
nothing of what they said.

Source:
    RFC 6962 §2.1 and RFC 9162 §2.1 (Merkle trees, proofs); c2sp.org/signed-note,
    c2sp.org/tlog-checkpoint (tree heads), c2sp.org/tlog-proof (inclusion proofs).
"""

import base64
import binascii
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()

_LAYOUT = "16s QQqQQ 32s32s32s32s32s32s"
_LENGTH = struct.Struct(">Q")
_ENVELOPE, _LEAF = struct.Struct(f">{_LAYOUT}"), struct.Struct(f">1s{_LAYOUT}")
_ENVELOPE_NAME = b"muniment-event-1"
_PROOF_NAME = "c2sp.org/tlog-proof@v1"
_ED25519 = b"\x01"
_KEY_ID_BYTES = 4
_SIGNATURE_MARK = "\u2014 "


class RefusedError(ValueError):
    """What was to be checked does not hold; the message says where it breaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHead:
    """
    What a ledger signs: so many events, with this root.

    Attributes:
        origin: Names the ledger.
        size: How many events.
        root: The root hash of the tree of their envelopes.
        extra: Further lines, such as when it was made.
    """

    origin: str
    size: int
    root: bytes
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """
    Where and when an event stands, and what is stored of it.

    Attributes:
        ledger: Name of the ledger.
        position: Place in the ledger, 1 for the first event.
        tx_id: The transaction it was appended in.
        recorded_at: Of that transaction, microseconds since 1970.
        stream: The fact or subject it belongs to.
        version: Place in the stream.
        topic: Kind and schema of the event.
        subject_ref: Whose memory it is; random.
        key_id: Of the key its content is sealed with.
        transaction: `transaction_digest` of its transaction.
        state: The stored bytes: readable header and ciphertext.
    """

    ledger: str
    position: int
    tx_id: int
    recorded_at: int
    stream: str
    version: int
    topic: str
    subject_ref: str
    key_id: int
    transaction: bytes
    state: bytes

    def packed(self) -> bytes:
        """Return it as bytes: 248, whatever the event holds."""
        numbers = self.position, self.tx_id, self.recorded_at, self.version, self.key_id
        texts = self.ledger, self.stream, self.topic, self.subject_ref
        named = tuple(_sha256(each.encode()) for each in texts)
        return packed_envelope(numbers, (*named, self.transaction, _sha256(self.state)))


def packed_envelope(numbers: tuple[int, ...], hashes: tuple[bytes, ...]) -> bytes:
    """
    Return an envelope as bytes.

    Args:
        numbers: Position, transaction, recorded time, version, key.
        hashes: SHA-256 of ledger, stream, topic, subject, transaction and state.
    """
    return _ENVELOPE.pack(_ENVELOPE_NAME, *numbers, *hashes)


packed_leaf = partial(_LEAF.pack, b"\x00", _ENVELOPE_NAME)
"""Returns what `leaf_hash` hashes of the envelope of the same numbers and then hashes."""


def transaction_digest(fields: Sequence[bytes]) -> bytes:
    """Return the digest of a transaction's fields, each with its length before it."""
    return _sha256(b"".join([_LENGTH.pack(len(each)) + each for each in fields]))


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def check_inclusion(leaf: bytes, index: int, path: Sequence[bytes], head: TreeHead) -> None:
    """
    Check that *leaf* is the leaf *index*, 0 for the first, in the tree of *head*.

    Raises:
        RefusedError: If it is not.
    """
    if not 0 <= index < head.size:
        raise RefusedError(f"leaf {index} is outside of a tree of {head.size}")
    place, last, found, rest = index, head.size - 1, leaf, list(path)
    while last:
        if place % 2 or place == last:
            found = node_hash(_next(rest), found)
            while not place % 2 and place:
                place, last = place // 2, last // 2
        else:
            found = node_hash(found, _next(rest))
        place, last = place // 2, last // 2
    if rest or found != head.root:
        raise RefusedError(
            f"leaf {index} does not lead to the root of the tree of {head.size}"
        )


def check_consistency(first: TreeHead, second: TreeHead, path: Sequence[bytes]) -> None:
    """
    Check that the tree of *first* is the beginning of the tree of *second*.

    Raises:
        RefusedError: If it is not.
    """
    if first.origin != second.origin:
        raise RefusedError(f"{first.origin} and {second.origin} are two ledgers")
    if not 0 <= first.size <= second.size:
        raise RefusedError(f"a tree of {first.size} cannot begin one of {second.size}")
    if first.size in (0, second.size):
        same = first.size != second.size or first.root == second.root
        if path or not same or (first.size == 0 and first.root != EMPTY_ROOT):
            raise RefusedError(f"two trees of {first.size} differ, or too much was sent")
        return
    rest = list(path)
    place, last = first.size - 1, second.size - 1
    while place % 2:
        place, last = place // 2, last // 2
    begun = _next(rest) if place else first.root
    ended = begun
    while last:
        if place % 2 or place == last:
            step = _next(rest)
            begun, ended = node_hash(step, begun), node_hash(step, ended)
            while not place % 2 and place:
                place, last = place // 2, last // 2
        else:
            ended = node_hash(ended, _next(rest))
        place, last = place // 2, last // 2
    if rest or begun != first.root or ended != second.root:
        raise RefusedError(
            f"the tree of {second.size} does not begin with that of {first.size}"
        )


def head_text(head: TreeHead) -> str:
    """Return the text of a tree head that is signed."""
    root = base64.b64encode(head.root).decode()
    return "".join(f"{line}\n" for line in (head.origin, head.size, root, *head.extra))


def read_head(note: str, *, public_key: bytes) -> TreeHead:
    """
    Return the tree head in a signed note, once its signature is checked.

    Args:
        note: As published.
        public_key: The ledger's Ed25519 key, 32 bytes, got from elsewhere.

    Raises:
        RefusedError: If the note is not as specified, or this key did not sign it.
    """
    return _parsed_head(read_note(note, public_key=public_key))


def read_note(note: str, *, public_key: bytes) -> str:
    """
    Return the text of a signed note, such as a certificate, once its signature is checked.

    Args:
        note: As published; its first line is the origin of the ledger that signed it.
        public_key: The ledger's Ed25519 key, 32 bytes, got from elsewhere.

    Raises:
        RefusedError: If the note is not as specified, or this key did not sign it.
    """
    before, blank, signatures = note.rpartition("\n\n")
    if not blank or not signatures.endswith("\n"):
        raise RefusedError("a signed note has a blank line before its signatures")
    text = before + "\n"
    origin = text.partition("\n")[0]
    wanted = key_id(origin, public_key)
    for line in signatures[:-1].split("\n"):
        mark, name, signature = _parsed_signature(line)
        if mark and name == origin and signature[:_KEY_ID_BYTES] == wanted:
            _check_signature(public_key, signature[_KEY_ID_BYTES:], text)
            return text
    raise RefusedError(f"no signature by the key of {origin}")


def signature_line(origin: str, public_key: bytes, signature: bytes) -> str:
    """Return the line by which *signature* ends a signed note."""
    marked = base64.b64encode(key_id(origin, public_key) + signature).decode()
    return f"{_SIGNATURE_MARK}{origin} {marked}\n"


def key_id(origin: str, public_key: bytes) -> bytes:
    """Return the four bytes by which a note says which key signed it."""
    return _sha256(origin.encode() + b"\n" + _ED25519 + public_key)[:_KEY_ID_BYTES]


def proof_text(index: int, path: Sequence[bytes], note: str) -> str:
    """Return an inclusion proof with its signed tree head."""
    lines = [_PROOF_NAME, f"index {index}"]
    lines += [base64.b64encode(each).decode() for each in path]
    return "\n".join(lines) + "\n\n" + note


def read_proof(text: str) -> tuple[int, tuple[bytes, ...], str]:
    """
    Return index, path and signed note of an inclusion proof.

    Raises:
        RefusedError: If the text is not as specified.
    """
    head, blank, note = text.partition("\n\n")
    lines = head.split("\n")
    if not blank or lines[0] != _PROOF_NAME:
        raise RefusedError(f"an inclusion proof begins with {_PROOF_NAME}")
    del lines[0]
    if lines and lines[0].startswith("extra "):
        del lines[0]
    if not lines or not lines[0].startswith("index "):
        raise RefusedError("an inclusion proof names its index")
    path = tuple(_decoded(line, HASH_BYTES) for line in lines[1:])
    return _number(lines[0].removeprefix("index ")), path, note


def consistency_text(size: int, path: Sequence[bytes], note: str) -> str:
    """Return a consistency proof from a tree of *size* with the later signed tree head."""
    lines = [f"old {size}", *(base64.b64encode(each).decode() for each in path)]
    return "\n".join(lines) + "\n\n" + note


def read_consistency(text: str) -> tuple[int, tuple[bytes, ...], str]:
    """
    Return old size, path and signed note of a consistency proof.

    Raises:
        RefusedError: If the text is not as specified.
    """
    head, blank, note = text.partition("\n\n")
    lines = head.split("\n")
    if not blank or not lines[0].startswith("old "):
        raise RefusedError("a consistency proof begins with the old size")
    path = tuple(_decoded(line, HASH_BYTES) for line in lines[1:])
    return _number(lines[0].removeprefix("old ")), path, note


def _parsed_head(text: str) -> TreeHead:
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] or not all(lines[:-1]):  # noqa: PLR2004 - three and the end
        raise RefusedError("a tree head has an origin, a size and a root")
    return TreeHead(
        origin=lines[0],
        size=_number(lines[1]),
        root=_decoded(lines[2], HASH_BYTES),
        extra=tuple(lines[3:-1]),
    )


def _parsed_signature(line: str) -> tuple[bool, str, bytes]:
    name, _, signature = line.removeprefix(_SIGNATURE_MARK).rpartition(" ")
    return line.startswith(_SIGNATURE_MARK), name, _decoded(signature, None)


def _check_signature(public_key: bytes, signature: bytes, text: str) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, text.encode())
    except InvalidSignature as error:
        raise RefusedError("the signature is not of this text") from error


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or (text != "0" and text.startswith("0")):
        raise RefusedError(f"not a number: {text!r}")
    return int(text)


def _decoded(text: str, length: int | None) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RefusedError(f"not base64: {text!r}") from error
    # Base64 has several spellings of some bytes; one alone is accepted.
    if base64.b64encode(found).decode() != text or length not in (None, len(found)):
        raise RefusedError(f"not a hash: {text!r}")
    return found


def _next(rest: list[bytes]) -> bytes:
    if not rest:
        raise RefusedError("hashes are missing")
    return rest.pop(0)


def _sha256(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
