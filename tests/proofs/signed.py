"""Proofs, heads and certificates as they are written down, from a key that is known."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from muniment.api.certificates import (
    ErasureCertificate,
    ErasureStatus,
    StoreReport,
    certificate_text,
)
from muniment.ledger import proof
from muniment.ledger.merkle import Tree
from muniment.ledger.proof import Envelope, TreeHead
from tests.proofs.trees import ORIGIN, Tiles, leaf


SEED = bytes(range(32))
_KEY = Ed25519PrivateKey.from_private_bytes(SEED)
PUBLIC_KEY = _KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

SIZE, INDEX, OLD_SIZE = 11, 5, 6
ENVELOPE = Envelope(
    ledger="main",
    position=INDEX + 1,
    tx_id=4,
    recorded_at=1_767_225_600_000_000,
    stream="fact-01kdvr1v80000000000000000",
    version=1,
    topic="fact.asserted.v1",
    subject_ref="00112233445566778899aabbccddeeff",
    key_id=3,
    transaction=proof.transaction_digest([b"4", b"", "记住".encode()]),
    state=b"\x01\x00\x02{}" + bytes(range(40)),
)


def tree() -> Tree:
    """Return a tree of `SIZE` leaves; that of `INDEX` is of `ENVELOPE`."""
    leaves = [leaf(number) for number in range(SIZE)]
    leaves[INDEX] = proof.leaf_hash(ENVELOPE.packed())
    store = Tiles()
    store.grow(leaves)
    return Tree(store)


def signed(text: str, *, origin: str = ORIGIN) -> str:
    """Return *text* as a signed note."""
    line = proof.signature_line(origin, PUBLIC_KEY, _KEY.sign(text.encode()))
    return f"{text}\n{line}"


def note(size: int = SIZE) -> str:
    """Return the signed head of the first *size* leaves."""
    extra = ("made-at-us 1767225600000000",)
    root = tree().root(size)
    return signed(
        proof.head_text(TreeHead(origin=ORIGIN, size=size, root=root, extra=extra))
    )


def inclusion() -> str:
    """Return the proof that `ENVELOPE` is in the tree."""
    return proof.proof_text(INDEX, tree().inclusion(INDEX, SIZE), note())


def consistency() -> str:
    """Return the proof that the tree begins with its first `OLD_SIZE` leaves."""
    return proof.consistency_text(OLD_SIZE, tree().consistency(OLD_SIZE, SIZE), note())


def certificate() -> str:
    """Return the signed certificate of an erasure."""
    made = ErasureCertificate(
        status=ErasureStatus.DONE,
        subject_ref=ENVELOPE.subject_ref,
        position=SIZE,
        stores=(
            StoreReport(store="vault", removed=3, remaining=0, verified=True),
            StoreReport(store="timeline", removed=2, remaining=0, verified=True),
        ),
        skeletons=4,
    )
    head = note().split("\n")[1:3]
    lines = [f"tree size {head[0]}", f"tree root {head[1]}"]
    return signed(certificate_text(ORIGIN, lines, made, asked=["actor o-1", "reason r"]))


FORMATS = {
    "envelope.v1": lambda: ENVELOPE.packed().hex() + "\n",
    "tree-head.v1": note,
    "inclusion-proof.v1": inclusion,
    "consistency-proof.v1": consistency,
    "erasure-certificate.v2": certificate,
}
"""How each is made, by the name of its golden file."""

FORMER = {"erasure-certificate.v1"}
"""These are not made any more, and read."""
