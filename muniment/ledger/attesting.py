"""Tree heads and proofs: what a ledger signs about itself, for those outside."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muniment.domain.time import Instant
from muniment.errors import InvalidValueError, TamperedError
from muniment.ledger import proof, sealing
from muniment.ledger.leaves import digest_of, envelope_of
from muniment.ledger.ledger import Ledger
from muniment.ledger.merkle import Tree, TreeStore
from muniment.ledger.proof import Envelope, RefusedError, TreeHead
from muniment.ledger.recorder import Append


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionProof:
    """
    That an event stands in a ledger.

    Attributes:
        envelope: Where and when it stands, and what is stored.
        text: The proof with its signed tree head, as c2sp.org/tlog-proof.
    """

    envelope: Envelope
    text: str


class Attestor:
    """
    Signs for one ledger.

    Attributes:
        origin: Names the ledger in what it signs.
        public_key: Checks its signatures; Ed25519, 32 bytes.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        seed = sealing.derived(ledger.vault.ledger_key, "tree-head")
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes_raw()
        self.origin = ledger.origin

    def signed(self, text: str) -> str:
        """Return *text*, which ends with a line break, as a signed note."""
        signature = self._key.sign(text.encode())
        line = proof.signature_line(self.origin, self.public_key, signature)
        return f"{text}\n{line}"

    def tree_head(self) -> str:
        """
        Return the signed head of the tree as it is now; kept, and the same if asked again.

        Raises:
            TamperedError: If an earlier head is not the beginning of this tree.
        """
        with self._ledger.recorder.appending() as append:
            return self.tree_head_in(append)

    def tree_head_in(self, append: Append) -> str:
        """
        Return the signed head of all that *append* holds; kept if its block ends well.

        Raises:
            TamperedError: If an earlier head is not the beginning of this tree.
        """
        size = append.head.position
        last = append.last_tree_head()
        if last is not None and last[0] == size:
            return last[1]
        self._check_continues(append.tree, last, size)
        note = self._note(size, Tree(append.tree).root(size), append.now)
        append.add_tree_head(size, note)
        return note

    def inclusion(self, position: int) -> InclusionProof:
        """
        Return the proof that the event at *position* is in the ledger.

        Raises:
            InvalidValueError: If there is no such position.
        """
        note = self.tree_head()
        head = self.read(note)
        if not 1 <= position <= head.size:
            raise InvalidValueError("position", position, f"from 1 to {head.size:,}")
        (event,) = self._ledger.recorder.read(after=position - 1, limit=1)
        row = self._ledger.recorder.transaction(event.tx_id)
        if row is None:
            raise TamperedError(position, "missing", f"transaction {event.tx_id} is gone")
        envelope = envelope_of(self._ledger.name, event, digest_of(row))
        with self._ledger.recorder.tree() as store:
            path = Tree(store).inclusion(position - 1, head.size)
        return InclusionProof(
            envelope=envelope, text=proof.proof_text(position - 1, path, note)
        )

    def consistency(self, size: int) -> str:
        """
        Return the proof that the first *size* events are the beginning of the ledger.

        Returns:
            The old size, the hashes in base64 and the signed tree head, in the form a
            c2sp.org/tlog-witness takes.

        Raises:
            InvalidValueError: If the ledger is not that long.
        """
        note = self.tree_head()
        head = self.read(note)
        if not 0 <= size <= head.size:
            raise InvalidValueError("size", size, f"from 0 to {head.size:,}")
        with self._ledger.recorder.tree() as store:
            path = Tree(store).consistency(size, head.size)
        return proof.consistency_text(size, path, note)

    def read(self, note: str) -> TreeHead:
        """
        Return the tree head in *note*, once it is known to be this ledger's.

        Raises:
            TamperedError: If this ledger did not sign it.
        """
        try:
            head = proof.read_head(note, public_key=self.public_key)
        except RefusedError as error:
            raise TamperedError(None, "tree head", str(error)) from error
        if head.origin != self.origin:
            raise TamperedError(None, "tree head", f"it is of {head.origin}")
        return head

    def _check_continues(
        self, store: TreeStore, last: tuple[int, str] | None, size: int
    ) -> None:
        if last is None:
            return
        head = self.read(last[1])
        if head.size > size:
            raise TamperedError(size, "truncated", f"a head of {head.size:,} was signed")
        if Tree(store).root(head.size) != head.root:
            raise TamperedError(
                head.size, "tree", f"it does not continue the head signed at {head.size:,}"
            )

    def _note(self, size: int, root: bytes, made_at: Instant) -> str:
        head = TreeHead(
            origin=self.origin, size=size, root=root, extra=(f"made-at-us {made_at}",)
        )
        return self.signed(proof.head_text(head))


def sign_every(ledger: Ledger, transactions: int) -> None:
    """
    Let *ledger* sign a tree head with every so many transactions; 0 for never.

    In the transaction itself: so the head is durable with what it signs, whoever dies,
    and a tree that does not continue the head before it takes no more of them.
    """
    if not transactions:
        return
    attestor = Attestor(ledger)

    def sign_if_due(append: Append, first_tx: int) -> None:
        if append.head.tx_id // transactions > (first_tx - 1) // transactions:
            attestor.tree_head_in(append)

    ledger.before_commit = sign_if_due
