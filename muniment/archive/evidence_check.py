"""What a package of evidence proves, file by file and line by line."""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.archive.container import AlteredError, contents
from muniment.archive.heads_check import heads_check, raw_key
from muniment.archive.stamp_check import TIME_STAMP, stamp_check
from muniment.archive.states_check import STATES, check_states, time_text
from muniment.archive.unzstd import NotZstdError, unzstd
from muniment.ledger.proof import (
    Envelope,
    RefusedError,
    TreeHead,
    check_inclusion,
    leaf_hash,
    read_head,
    read_note,
    transaction_digest,
)
from muniment.strict_json import read_json


EVIDENCE = "muniment evidence 1"
MANIFEST, SIGNATURE, HEAD = "manifest.json", "signature.txt", "tree_head.txt"
EVENTS, TRANSACTIONS = "events.jsonl", "transactions.jsonl"
HEADS, DICTIONARY = "tree_heads.jsonl", "dictionary.zdict"
DICTIONARY_SHA256 = "ce3893264771b6d28359fcb630fd48fe1d3ec6833110691b5e47f4d30f3bfe12"
"""Of the only one there is; by another the same payloads would say something else."""

_SIGNED = (MANIFEST, SIGNATURE)
_STAMPED = "time stamp "
"""How the signature names the SHA-256 of a time stamp, on a line of its own."""
_FORM, _OF_SUBJECT, _OF_LEDGER, _HEADER_AT, _NONCE_BYTES = 2, 3, 4, 3, 12
_TEXT_FIELDS = ("action", "subject_ref")
_BYTES_FIELDS = ("idempotency_tag", "request_tag", "header")
_NUMBER_FIELDS = ("tx_id", "recorded_at", "first_position", "last_position")


@dataclass
class Report:
    """
    What a check found, in sentences.

    Attributes:
        proven: What holds whoever made the package.
        stated: What the package says and nothing in it proves.
    """

    proven: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)


def check(
    raw: bytes,
    *,
    key: str | None = None,
    heads: Sequence[str] = (),
    stamp_roots: Sequence[bytes] = (),
) -> Report:
    """
    Check a package.

    Args:
        raw: The zip file.
        key: The ledger's public key, as ``muniment public-key`` prints it.
        heads: Signed tree heads that were kept elsewhere.
        stamp_roots: Certificates, PEM, of authorities whose time stamps are trusted.

    Raises:
        AlteredError: If anything in it is not what it was; names the file.
    """
    return _Check(contents(raw), key, heads, stamp_roots).report()


class _Check:
    def __init__(
        self,
        files: dict[str, bytes],
        key: str | None,
        heads: Sequence[str],
        stamp_roots: Sequence[bytes],
    ) -> None:
        self._files = files
        self._stamp_roots = stamp_roots
        self._given_key, self._given_heads = key, heads
        self._report = Report()
        self._manifest: dict[str, Any] = {}
        self._public_key = b""
        self._facts: dict[str, list[dict[str, Any]]] = {}
        self._digests: dict[int, bytes] = {}
        self._tied: set[int] = set()

    def report(self) -> Report:
        self._signed()
        self._whole()
        head = self._head()
        self._transactions()
        self._events(head)
        self._states()
        self._outside(head)
        self._stamped()
        self._limits()
        return self._report

    def _signed(self) -> None:
        """Check the signature over the manifest, and with it whose it is."""
        for name in _SIGNED:
            if name not in self._files:
                raise AlteredError(name, "it is missing")
        note = _text(SIGNATURE, self._files[SIGNATURE])
        try:
            manifest = read_json(self._files[MANIFEST])
            self._public_key = raw_key(self._given_key or manifest["verifier_key"])
            text = read_note(note, public_key=self._public_key)
        except RefusedError as error:
            # A key that came with the package may be what was altered.
            is_key_good = self._given_key is not None or self._is_key_good()
            named = SIGNATURE if is_key_good else MANIFEST
            raise AlteredError(named, str(error)) from error
        except (ValueError, KeyError, TypeError) as error:
            raise AlteredError(MANIFEST, f"it cannot be read ({error})") from error
        origin, kind, digest, *more = text.split("\n")
        if kind != EVIDENCE:
            raise AlteredError(SIGNATURE, "it does not sign evidence")
        if digest != _sha256_hex(self._files[MANIFEST]):
            raise AlteredError(MANIFEST, "it is not the one that was signed")
        if manifest["origin"] != origin:
            raise AlteredError(MANIFEST, f"it is not of {origin}, who signed it")
        self._compare_stamp(more)
        self._manifest = manifest
        self._report.proven.append(
            f"The manifest was signed by the key of {origin}, and every file is what the "
            "manifest says."
        )
        if self._given_key is None:
            self._report.stated.append(
                "Whose key that is: it came with the package. Get the ledger's public key "
                "by another way and name it with --key."
            )

    def _is_key_good(self) -> bool:
        """Return whether something else is signed with the key that was used."""
        try:
            read_note(_text(HEAD, self._files.get(HEAD, b"")), public_key=self._public_key)
        except (RefusedError, AlteredError):
            return False
        return True

    def _compare_stamp(self, signed: Sequence[str]) -> None:
        """Check that the time stamp is the one that was signed, or that there is none."""
        digests = [e.removeprefix(_STAMPED) for e in signed if e.startswith(_STAMPED)]
        stamp = self._files.get(TIME_STAMP)
        if stamp is None and digests:
            raise AlteredError(TIME_STAMP, "it is missing")
        if stamp is not None and digests != [_sha256_hex(stamp)]:
            raise AlteredError(TIME_STAMP, "it is not the one that was signed")

    def _stamped(self) -> None:
        """Check when an authority saw the manifest, if one did."""
        stamp, manifest = self._files.get(TIME_STAMP), self._files[MANIFEST]
        found = stamp_check(stamp, manifest, self._stamp_roots)
        (self._report.proven if found.is_proven else self._report.stated).append(found.said)

    def _whole(self) -> None:
        """Check every file against the manifest."""
        listed = self._manifest["files"]
        for name in self._files:
            if name not in listed and name not in (*_SIGNED, TIME_STAMP):
                raise AlteredError(name, "the manifest does not know it")
        for name, expected in listed.items():
            content = self._files.get(name)
            if content is None:
                raise AlteredError(name, "it is missing")
            if _sha256_hex(content) != expected["sha256"]:
                raise AlteredError(name, "it was altered, or a line was left out")
            if expected["lines"] not in (None, content.count(b"\n")):
                raise AlteredError(name, f"it should have {expected['lines']} lines")

        if _sha256_hex(self._files[DICTIONARY]) != DICTIONARY_SHA256:
            raise AlteredError(DICTIONARY, "it is not the one of Muniment")

    def _head(self) -> TreeHead:
        note = _text(HEAD, self._files[HEAD])
        try:
            head = read_head(note, public_key=self._public_key)
        except RefusedError as error:
            raise AlteredError(HEAD, str(error)) from error
        if head.origin != self._manifest["origin"]:
            raise AlteredError(HEAD, f"it is of {head.origin}")
        return head

    def _transactions(self) -> None:
        opened = unproven = before = 0
        for line in self._lines(TRANSACTIONS):
            row = {each: line[each] for each in (*_NUMBER_FIELDS, *_TEXT_FIELDS)}
            bytes_of = {each: _bytes(line[each]) for each in _BYTES_FIELDS}
            fields = [str(row[each]).encode() for each in (*_NUMBER_FIELDS, *_TEXT_FIELDS)]
            fields += [bytes_of[each] for each in _BYTES_FIELDS]
            if row["tx_id"] <= before:
                raise AlteredError(TRANSACTIONS, f"{row['tx_id']} is out of order")
            before = row["tx_id"]
            self._digests[before] = transaction_digest(fields)
            if line["key"] is None:
                unproven += line["origin"] is not None
                continue
            header = bytes_of["header"]
            place = f"transaction/{self._manifest['ledger']}/{row['tx_id']}".encode()
            plain = self._opened(TRANSACTIONS, line["key"], header[1:], place)
            if header[0] not in (_OF_SUBJECT, _OF_LEDGER) or plain != line["origin"]:
                problem = f"who did transaction {row['tx_id']} is not what was stored"
                raise AlteredError(TRANSACTIONS, problem)
            opened += 1
        if opened:
            self._report.proven.append(
                f"Of {opened:,} of {len(self._digests):,} transactions, who did it and why "
                "is what was recorded then."
            )
        if unproven:
            self._report.stated.append(
                f"Who did {unproven:,} of them and why, as it is shown: with tokens for "
                "third parties, or stored in an older form."
            )

    def _events(self, head: TreeHead) -> None:
        count = opened = before = 0
        for line in self._lines(EVENTS):
            envelope = self._envelope(line["envelope"])
            where = f"the event at position {envelope.position}"
            if envelope.position <= before:
                raise AlteredError(EVENTS, f"{where} is out of order")
            before = envelope.position
            path = [base64.b64decode(each) for each in line["proof"]]
            try:
                leaf = leaf_hash(envelope.packed())
                check_inclusion(leaf, envelope.position - 1, path, head)
            except RefusedError as error:
                raise AlteredError(EVENTS, f"{where}: {error}") from error
            opened += self._content(where, envelope, line)
            count += 1
            self._gather(where, envelope, line)
        for tx_id in self._digests.keys() - self._tied:
            raise AlteredError(TRANSACTIONS, f"{tx_id} is of no event here")
        self._compare_count("events", count)
        self._compare_count("facts", len(self._facts))
        self._report.proven.append(
            f"All {count:,} events stand where and when they say in the ledger of "
            f"{head.size:,} events whose tree head was signed; none was put in later."
        )
        self._report.proven.append(
            f"What {opened:,} of them say is what was stored then: each opens under a key "
            "of its own."
        )
        self._withheld(count)

    def _envelope(self, fields: Mapping[str, Any]) -> Envelope:
        digest = self._digests.get(fields["tx_id"])
        if digest is None:
            raise AlteredError(TRANSACTIONS, f"{fields['tx_id']} is missing")
        self._tied.add(fields["tx_id"])
        named = {**fields, "state": _bytes(fields["state"]), "transaction": digest}
        return Envelope(ledger=self._manifest["ledger"], **named)

    def _content(self, where: str, envelope: Envelope, line: Mapping[str, Any]) -> bool:
        """Check what an event says against what is stored; return if it could be opened."""
        state = envelope.state
        end = _HEADER_AT + int.from_bytes(state[1:_HEADER_AT], "big")
        header = state[_HEADER_AT:end]
        if json.loads(header) != line["header"]:
            raise AlteredError(EVENTS, f"{where} has another header than was stored")
        if line["recorded_at"] != time_text(envelope.recorded_at):
            raise AlteredError(EVENTS, f"{where} has another time than was recorded")
        if envelope.subject_ref != self._manifest["subject_ref"]:
            raise AlteredError(EVENTS, f"{where} is of somebody else")
        if (line["key"] is None) != bool(line["withheld"]):
            raise AlteredError(EVENTS, f"{where} is neither proven nor said not to be")
        if line["key"] is None:
            return False
        if state[0] != _FORM:
            raise AlteredError(EVENTS, f"{where} is stored in a form without such a key")
        place = (
            f"event/{envelope.ledger}/{envelope.stream}/{envelope.version}/"
            f"{envelope.topic}/"
        ).encode() + header
        if self._opened(EVENTS, line["key"], state[end:], place) != line["content"]:
            raise AlteredError(EVENTS, f"{where} says something else than was stored")
        return True

    def _opened(self, file: str, key: str, sealed: bytes, place: bytes) -> object:
        """Return what opens under *key*, as JSON."""
        dictionary, nonce = sealed[0], sealed[1 : 1 + _NONCE_BYTES]
        bound = b"2/%d/" % dictionary + place
        try:
            small = AESGCM(_bytes(key)).decrypt(nonce, sealed[1 + _NONCE_BYTES :], bound)
            plain = unzstd(small, self._files[DICTIONARY]) if dictionary else small
            return json.loads(plain) if plain else {}
        except (InvalidTag, NotZstdError, ValueError) as error:
            problem = f"{place.partition(b'{')[0].decode()} does not open ({error})"
            raise AlteredError(file, problem) from error

    def _gather(self, where: str, envelope: Envelope, line: Mapping[str, Any]) -> None:
        """Keep an event by its stream, where none may be missing in between."""
        events = self._facts.setdefault(envelope.stream, [])
        if envelope.version != len(events) + 1:
            problem = f"{where} is version {envelope.version}, after {len(events)}"
            raise AlteredError(EVENTS, problem)
        events.append(
            {
                "kind": envelope.topic.rpartition(".v")[0],
                "position": envelope.position,
                "tx_id": envelope.tx_id,
                "recorded_at": envelope.recorded_at,
                "header": line["header"],
                "content": line["content"],
            }
        )

    def _states(self) -> None:
        """Work out again what was believed at each point, and compare."""
        streams = self._facts.items()
        facts = {e.removeprefix("fact-"): s for e, s in streams if e.startswith("fact-")}
        count = check_states(self._lines(STATES), facts)
        self._compare_count("as_of", count)
        if count:
            self._report.proven.append(
                f"What was known at {count:,} points in time follows from the events."
            )

    def _outside(self, head: TreeHead) -> None:
        """Compare with tree heads that were kept elsewhere."""
        paths = {line["size"]: line["consistency"] for line in self._lines(HEADS)}
        try:
            found = heads_check(
                self._given_heads, head, public_key=self._public_key, paths=paths
            )
        except RefusedError as error:
            raise AlteredError(HEAD, f"it does not continue yours: {error}") from error
        self._report.proven.extend(found.proven)
        self._report.stated.extend(found.stated)

    def _withheld(self, count: int) -> None:
        reasons = Counter(
            (line["withheld"], line["content"] is not None)
            for line in self._lines(EVENTS)
            if line["withheld"]
        )
        for (reason, is_shown), number in sorted(reasons.items()):
            said = f"What {number:,} of {count:,} events say, "
            said += "as it is shown" if is_shown else "which is not shown"
            self._report.stated.append(f"{said}: {reason}.")

    def _compare_count(self, what: str, found: int) -> None:
        if self._manifest["counts"][what] != found:
            raise AlteredError(MANIFEST, f"its number of {what} is not {found}")

    def _limits(self) -> None:
        state, manifest = self._report.stated.append, self._manifest
        state(
            "That this is everything: an event that follows the last one shown of its "
            "fact, or a fact of which nothing is shown, would not be missed."
        )
        state(
            f"That {manifest['scope']} is whom the ledger calls {manifest['subject_ref']}: "
            "names are kept apart from it, so that they can be erased."
        )
        state(
            "That what was recorded is true, and the ledger's clock right: proven is what "
            "was recorded, in which order, and that it was not altered."
        )
        state(
            "The summary, the tables and other files made for reading: they are as they "
            "were signed, and not worked out again."
        )

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        for line in self._files[name].splitlines():
            yield read_json(line)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise AlteredError(name, "it is no text") from error


def _sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
