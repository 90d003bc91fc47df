"""What is handed to somebody outside: the same for ever, refused once a bit is turned."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from muniment import MemoryStore
from muniment.domain.time import Instant
from muniment.ledger import proof
from muniment.ledger.attesting import Attestor
from muniment.ledger.proof import Envelope, RefusedError
from tests.proofs import signed
from tests.proofs.malice import flipped
from tests.proofs.signed import ENVELOPE, INDEX, OLD_SIZE, PUBLIC_KEY, SIZE
from tests.proofs.trees import ORIGIN


GOLDEN = Path(__file__).parents[1] / "golden"
ENVELOPE_BYTES = 248


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def check_inclusion(text: str, *, key: bytes = PUBLIC_KEY, of: Envelope = ENVELOPE) -> None:
    index, path, note = proof.read_proof(text)
    head = proof.read_head(note, public_key=key)
    proof.check_inclusion(proof.leaf_hash(of.packed()), index, path, head)


def check_consistency(text: str, *, old: str, key: bytes = PUBLIC_KEY) -> None:
    size, path, note = proof.read_consistency(text)
    first = proof.read_head(old, public_key=key)
    assert size == first.size or refuse(f"it is of {size}")
    proof.check_consistency(first, proof.read_head(note, public_key=key), path)


def refuse(problem: str) -> bool:
    raise RefusedError(problem)


def turned(text: str) -> Iterator[str]:
    """Yield *text* with every bit turned in turn, as far as it is text at all then."""
    raw = text.encode()
    for at in range(len(raw)):
        for bit in range(8):
            changed = bytearray(raw)
            changed[at] ^= 1 << bit
            try:
                yield changed.decode()
            except UnicodeDecodeError:
                continue


def refuses_every_turn(text: str, check: Callable[[str], object]) -> int:
    check(text)
    count = 0
    for each in turned(text):
        with pytest.raises(RefusedError):
            check(each)
        count += 1
    return count


@pytest.mark.parametrize("name", signed.FORMATS)
def test_what_is_written_today_has_the_golden_bytes(name: str) -> None:
    assert signed.FORMATS[name]() == golden(name)


def test_every_golden_file_of_a_proof_has_its_maker() -> None:
    assert {each.stem for each in GOLDEN.glob("*.txt")} == {*signed.FORMATS, *signed.FORMER}


def test_every_golden_proof_is_accepted() -> None:
    note = golden("tree-head.v1")
    check_inclusion(golden("inclusion-proof.v1"))
    check_consistency(golden("consistency-proof.v1"), old=signed.note(OLD_SIZE))

    head = proof.read_head(note, public_key=PUBLIC_KEY)

    assert (head.origin, head.size) == (ORIGIN, SIZE)
    for form in (1, 2):
        text = golden(f"erasure-certificate.v{form}")
        certified = proof.read_note(text, public_key=PUBLIC_KEY)
        begins = f"{ORIGIN}\nmuniment erasure certificate {form}\nstatus DONE\n"
        assert certified.startswith(begins)


def test_a_signed_note_is_what_c2sp_specifies() -> None:
    """Put together here by hand, from the specification alone."""
    text, signature = signed.note().split("\n\n")
    dash, name, encoded = signature.removesuffix("\n").split(" ")
    raw = base64.b64decode(encoded)

    Ed25519PublicKey.from_public_bytes(PUBLIC_KEY).verify(raw[4:], f"{text}\n".encode())
    assert (dash, name, len(raw)) == ("\u2014", ORIGIN, 4 + 64)
    assert raw[:4] == proof.key_id(ORIGIN, PUBLIC_KEY)
    assert text.split("\n")[1] == str(SIZE)


def test_an_inclusion_proof_is_laid_out_as_c2sp_tlog_proof() -> None:
    lines = golden("inclusion-proof.v1").split("\n")

    blank = lines.index("")
    assert lines[:2] == ["c2sp.org/tlog-proof@v1", f"index {INDEX}"]
    assert [len(base64.b64decode(each)) for each in lines[2:blank]] == [32] * 4
    assert "\n".join(lines[blank + 1 :]) == golden("tree-head.v1")


def test_an_inclusion_proof_may_carry_an_extra_line() -> None:
    first, rest = golden("inclusion-proof.v1").split("\n", 1)

    check_inclusion(f"{first}\nextra AAAA\n{rest}")


def test_another_signature_before_ours_does_no_harm() -> None:
    text, signature = signed.note().split("\n\n")
    other = proof.signature_line("witness", bytes(32), bytes(64))

    head = proof.read_head(f"{text}\n\n{other}{signature}", public_key=PUBLIC_KEY)

    assert head.size == SIZE


@pytest.mark.slow
def test_every_bit_of_a_tree_head_counts() -> None:
    def check(note: str) -> object:
        return proof.read_head(note, public_key=PUBLIC_KEY)

    assert refuses_every_turn(golden("tree-head.v1"), check) > 1_000


@pytest.mark.slow
def test_every_bit_of_an_inclusion_proof_counts() -> None:
    assert refuses_every_turn(golden("inclusion-proof.v1"), check_inclusion) > 2_000


@pytest.mark.slow
def test_every_bit_of_a_consistency_proof_counts() -> None:
    old = signed.note(OLD_SIZE)

    def check(text: str) -> None:
        check_consistency(text, old=old)

    assert refuses_every_turn(golden("consistency-proof.v1"), check) > 2_000


@pytest.mark.slow
def test_every_bit_of_a_certificate_counts() -> None:
    def check(text: str) -> object:
        return proof.read_note(text, public_key=PUBLIC_KEY)

    assert refuses_every_turn(golden("erasure-certificate.v2"), check) > 2_000


@pytest.mark.slow
def test_every_bit_of_what_a_real_store_gives_out_counts() -> None:
    with MemoryStore.open("memory://") as store:
        for number in range(5):
            store.remember(f"fact {number}", user_id="u")
        certificate = store.erase(user_id="u", reason="asked", actor="officer-1")
        proven, key = store.prove(3), store.public_key

        def check(text: str) -> None:
            check_inclusion(text, key=key, of=proven.envelope)

        assert refuses_every_turn(proven.text, check) > 2_000
        refuses_every_turn(
            certificate.text, lambda text: proof.read_note(text, public_key=key)
        )


def test_every_byte_of_the_state_and_every_field_of_an_envelope_counts() -> None:
    text = golden("inclusion-proof.v1")
    others: list[Envelope] = []
    for each in fields(Envelope):
        value = getattr(ENVELOPE, each.name)
        changes: list[Any] = [value + 1] if isinstance(value, int) else [value + value[:1]]
        if isinstance(value, bytes):
            changes = [flipped(value, at=at) for at in range(len(value))]
        others += [replace(ENVELOPE, **{each.name: change}) for change in changes]

    assert len(others) == 9 + len(ENVELOPE.state) + 32
    for other in others:
        with pytest.raises(RefusedError, match="does not lead to the root"):
            check_inclusion(text, of=other)


@pytest.mark.parametrize("length", [0, 1, 1_000, 100_000])
def test_an_envelope_has_one_size_whatever_the_event_holds(length: int) -> None:
    other = replace(ENVELOPE, state=bytes(length), stream="s" * length, ledger="l" * length)

    assert len(other.packed()) == ENVELOPE_BYTES


def test_the_fields_of_a_transaction_do_not_run_into_each_other() -> None:
    digests = [
        proof.transaction_digest(each)
        for each in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""], [b"", b"abc"])
    ]

    assert len(set(digests)) == len(digests)


def test_a_key_that_did_not_sign_is_refused() -> None:
    for text in (golden("tree-head.v1"), golden("erasure-certificate.v2")):
        with pytest.raises(RefusedError, match="no signature by the key of"):
            proof.read_note(text, public_key=bytes(32))


def test_a_certificate_is_no_tree_head() -> None:
    with pytest.raises(RefusedError, match="not a number"):
        proof.read_head(golden("erasure-certificate.v2"), public_key=PUBLIC_KEY)


@pytest.mark.parametrize(
    "size", ["011", "+11", "-11", " 11", "1_1", "\u0661\u0661", "", "0x0b"]
)
def test_a_size_has_one_spelling(size: str) -> None:
    text = golden("tree-head.v1").split("\n\n")[0].split("\n")
    text[1] = size

    with pytest.raises(RefusedError):
        proof.read_head(signed.signed("\n".join(text) + "\n"), public_key=PUBLIC_KEY)


@pytest.mark.parametrize(
    "text", ["", "\n", "\n\n", "a", "a\n\n", "a\n\nb\n", "\u2014 \n\n\n"]
)
def test_what_is_no_proof_at_all_is_refused(text: str) -> None:
    for read in (proof.read_proof, proof.read_consistency):
        with pytest.raises(RefusedError):
            read(text)
    with pytest.raises(RefusedError):
        proof.read_head(text, public_key=PUBLIC_KEY)


# Base64 and the form of the note bound it: see docs/concepts/proofs.md.
@pytest.mark.parametrize(
    ("events", "hashes", "bytes_max"), [(2**15, 15, 1_024), (10**6, 20, 1_250)]
)
def test_a_proof_among_a_million_events_stays_small(
    events: int, hashes: int, bytes_max: int
) -> None:
    with MemoryStore.open("memory://") as store:
        attestor = Attestor(store._ledger)
        note = attestor._note(events, bytes(32), Instant(1_796_028_868_942_465))
        path = [bytes([n]) * 32 for n in range((events - 1).bit_length())]

        text = proof.proof_text(events - 1, path, note)

    assert len(path) == hashes
    assert 45 * hashes < len(text.encode()) <= bytes_max
    assert len(text.encode()) - len(note.encode()) < 1_000
    assert proof.read_proof(text) == (events - 1, tuple(path), note)


# ADR 0077: with the shortest name that a ledger could have, and no line that is optional.
def test_no_proof_in_this_form_is_under_a_kilobyte_among_a_million_events() -> None:
    head = proof.TreeHead(origin="a", size=10**6, root=bytes(32))
    signature = proof.signature_line("a", PUBLIC_KEY, bytes(64))

    shortest = proof.proof_text(
        10**6 - 1, [bytes(32)] * 20, f"{proof.head_text(head)}\n{signature}"
    )

    assert len(shortest.encode()) == 1_092
