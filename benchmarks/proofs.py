"""What the tree adds to a write, how fast a store is verified, and how large proofs are."""

import base64
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, partial
from itertools import count

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.least import least
from benchmarks.places import Place
from benchmarks.sizes import Sizes
from benchmarks.timing import Work, percentiles_ms, race, seconds
from benchmarks.versions import revise
from benchmarks.workload import USERS, fact_fields, user_id
from muniment import MemoryStore
from muniment.ledger import proof, sql_append
from muniment.ledger.leaves import LeafHasher
from muniment.ledger.merkle import Tree
from muniment.ledger.proof import HASH_BYTES, TreeHead
from muniment.ledger.sql_tree import SqlTree
from muniment.ledger.verification import LedgerCheck
from tests.proofs.trees import Tiles


_PAGE = 5_000
_PROOFS = 1_000
_ORIGIN = f"muniment/{'0' * 16}/main"


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the rates of batches with and without a tree, of checks, and of proofs."""
    leaves = sizes.batch**2  # a million, where a batch is of a thousand
    return {
        **_tree_cost(place, sizes),
        **_verifying(place, sizes),
        f"one inclusion proof of {leaves:,} events": _proofs(leaves),
    }


def _tree_cost(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the facts per second of batches, with and without the tree."""
    numbers, batches = count(), count()
    with (
        MemoryStore.open(place.settings("with_tree")) as with_tree,
        MemoryStore.open(place.settings("without_tree")) as without_tree,
    ):

        def remember(store: MemoryStore, times: int) -> None:
            for _ in range(times // sizes.batch):
                items = [fact_fields(next(numbers)) for _ in range(sizes.batch)]
                store.remember_many(items, user_id=user_id(next(batches)))

        def plain(times: int) -> None:
            with _no_tree():
                remember(without_tree, times)

        contenders: dict[str, Work] = {
            "remember_many without a tree": plain,
            "remember_many": lambda times: remember(with_tree, times),
        }
        figures = race(
            contenders,
            baseline="remember_many without a tree",
            rounds=sizes.tree_rounds,
            count=sizes.batch * sizes.batches,
            clock=time.process_time,
        )
    return {name: asdict(figure) for name, figure in figures.items()}


def _verifying(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the events per second of a verification, and of its parts."""
    with MemoryStore.open(place.settings("verified")) as store:
        for first in range(0, sizes.verified, sizes.batch):
            items = [fact_fields(first + each) for each in range(sizes.batch)]
            store.remember_many(items, user_id=user_id(first // sizes.batch))
        store.tree_head()
        found = _raced(store, sizes, "")
    with MemoryStore.open(place.settings("revised")) as store:
        for first in range(0, sizes.verified_facts, USERS):
            items = [fact_fields(first + each) for each in range(USERS)]
            told = store.remember_many(items, user_id=f"u-{first}").facts
            revise(store.update, [each.fact_id for each in told], versions=10)
        store.tree_head()
        return {**found, **_raced(store, sizes, " of facts with ten versions")}


def _raced(store: MemoryStore, sizes: Sizes, of_what: str) -> dict[str, object]:
    ledger = store._ledger  # noqa: SLF001 - the parts of a verb are measured

    def read(_times: int) -> None:
        after = 0
        while page := ledger.recorder.read_rows(after=after, limit=_PAGE):
            after = page[-1][0]

    def walk(_times: int) -> None:
        assert not list(LedgerCheck(ledger, progress=lambda *_: None).findings())

    def verify(_times: int) -> None:
        assert store.verify()

    contenders: dict[str, Work] = {
        f"events{of_what} read": read,
        f"events{of_what} read, hashed and compared": walk,
        f"events{of_what} verified, projections too": verify,
    }
    if not of_what:
        contenders["primitives alone: rows, hashes, keys, ciphers"] = partial(least, store)
    figures = race(
        contenders,
        baseline=f"events{of_what} read",
        rounds=min(sizes.rounds, 2),
        count=ledger.present().head.position,
        clock=time.process_time,
    )
    return {name: asdict(figure) for name, figure in figures.items()}


@cache
def _proofs(size: int) -> dict[str, float]:
    """Return how long it takes to check a proof of text, signature too, and its size."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(HASH_BYTES))
    public_key = key.public_key().public_bytes_raw()
    store = Tiles()
    leaves = [proof.leaf_hash(b"%d" % number) for number in range(size)]
    store.grow(leaves)
    extra = ("made-at-us 1767225600000000",)
    head = TreeHead(origin=_ORIGIN, size=size, root=Tree(store).root(size), extra=extra)
    text = proof.head_text(head)
    line = proof.signature_line(_ORIGIN, public_key, key.sign(text.encode()))
    taken, longest, inclusion = [], 0, 0
    for number in range(_PROOFS):
        index = _spread(number, size)
        path = Tree(store).inclusion(index, size)
        proven = proof.proof_text(index, path, f"{text}\n{line}")
        longest = max(longest, len(proven.encode()))
        inclusion = max(inclusion, len(proven.encode()) - len(f"{text}\n{line}".encode()))

        def check(proven: str = proven, leaf: bytes = leaves[index]) -> None:
            at, hashes, note = proof.read_proof(proven)
            signed = proof.read_head(note, public_key=public_key)
            proof.check_inclusion(leaf, at, hashes, signed)

        taken.append(seconds(check, time.process_time))
    depth = (size - 1).bit_length()
    return {
        **percentiles_ms(taken),
        "bytes": longest,
        "bytes_of_inclusion": inclusion,
        "bytes_of_hashes": depth * HASH_BYTES,
        "bytes_of_hashes_in_base64": depth * (len(base64.b64encode(bytes(HASH_BYTES))) + 1),
    }


def _spread(number: int, size: int) -> int:
    """Return an index of a tree; the last one first."""
    if number == 0:
        return size - 1
    return int.from_bytes(hashlib.sha256(b"%d" % number).digest()[:8], "big") % size


@contextmanager
def _no_tree() -> Iterator[None]:
    """Hash nothing and keep no tile meanwhile; the leaf of each event is empty."""
    blank: dict[tuple[object, str], Callable[..., object]] = {
        (SqlTree, "grow"): lambda *_: None,
        (LeafHasher, "leaf_of"): lambda *_: b"",
        (sql_append, "digest_of"): lambda _: b"",
    }
    whole = {place: getattr(*place) for place in blank}
    _put(blank)
    try:
        yield
    finally:
        _put(whole)


def _put(parts: Mapping[tuple[object, str], object]) -> None:
    for (owner, name), part in parts.items():
        setattr(owner, name, part)
