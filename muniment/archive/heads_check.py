"""What was kept elsewhere, a key and tree heads, and what it proves of a package."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muniment.ledger.proof import TreeHead, check_consistency, read_head


_KEY_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class HeadsChecked:
    """
    What is known by the tree heads that were given.

    Attributes:
        proven: What they prove, in sentences.
        stated: What they do not.
    """

    proven: tuple[str, ...]
    stated: tuple[str, ...]


def heads_check(
    notes: Sequence[str],
    head: TreeHead,
    *,
    public_key: bytes,
    paths: Mapping[int, Sequence[str]],
) -> HeadsChecked:
    """
    Check that a ledger went on from the tree heads that it published.

    Args:
        notes: These tree heads, signed.
        head: The one of the package.
        public_key: Of the ledger.
        paths: By size, how the ledger went on from its earlier tree heads to *head*.

    Raises:
        RefusedError: If it did not, or did not sign one of them.
    """
    matched = later = unknown = 0
    for note in notes:
        kept = read_head(note, public_key=public_key)
        if kept.size > head.size:
            later += 1
        elif kept.size < head.size and kept.size not in paths:
            unknown += 1
        else:
            path = [base64.b64decode(each) for each in paths.get(kept.size, ())]
            check_consistency(kept, head, path)
            matched += 1
    return _said(matched, later=later, unknown=unknown)


def notes_in(text: str) -> list[str]:
    """
    Return the signed notes in a file, one after the other.

    Raises:
        ValueError: If anything else is in it, or nothing.
    """
    blocks = [each.strip("\n") for each in text.split("\n\n") if each.strip()]
    texts, signatures = blocks[::2], blocks[1::2]
    if not blocks or len(texts) != len(signatures):
        raise ValueError("it holds no signed tree heads")
    if not all(each.startswith("\N{EM DASH} ") for each in signatures):
        raise ValueError("it holds something else than signed tree heads")
    return [f"{one}\n\n{two}\n" for one, two in zip(texts, signatures, strict=True)]


def raw_key(named: str) -> bytes:
    """
    Return the 32 bytes of a public key written as a verifier key or in base64.

    Raises:
        ValueError: If it is neither.
    """
    is_verifier_key = named.startswith("muniment/")
    written = named.split("+", 2)[-1] if is_verifier_key else named
    raw = base64.b64decode(written, validate=True)[-_KEY_BYTES:]
    if len(raw) != _KEY_BYTES:
        raise ValueError(f"a public key has {_KEY_BYTES} bytes, this one {len(raw)}")
    return raw


def _said(matched: int, *, later: int, unknown: int) -> HeadsChecked:
    proven, stated = [], []
    if matched:
        proven.append(
            f"The ledger continues {matched:,} tree heads that you kept: nothing up to "
            "the last of them was altered since it was published."
        )
    else:
        stated.append(
            "That the ledger was not written anew before the package was made: name a "
            "tree head that was published earlier with --tree-head."
        )
    if later:
        stated.append(
            f"Anything by {later:,} of the tree heads you gave: they are later than this "
            "package and show nothing."
        )
    if unknown:
        stated.append(
            f"Anything by {unknown:,} of the tree heads you gave: the package does not "
            "hold how the ledger went on from them, and they show nothing."
        )
    return HeadsChecked(proven=tuple(proven), stated=tuple(stated))
