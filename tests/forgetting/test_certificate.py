"""An erasure certificate says what is so, and is checked without the store."""

import re

import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.api.certificates import ErasureCertificate
from muniment.ledger import proof
from muniment.ledger.proof import RefusedError
from tests.stores import POSTGRESQL, Backend


USER = "ann"


def erased(store: MemoryStore) -> ErasureCertificate:
    """Erase a user with three facts beside another user."""
    facts = [store.remember(f"fact {n}", user_id=USER).fact_id for n in range(3)]
    store.update(facts[0], content="changed")
    store.forget(facts[1], mode="redact")
    store.remember("stays", user_id="bob")
    return store.erase(user_id=USER, reason="asked\nby letter", actor="dpo")


def fields(certificate: ErasureCertificate) -> list[str]:
    """Return the lines of a certificate that are signed."""
    return certificate.text.partition("\n\n")[0].split("\n")


def checked(text: str, *, public_key: bytes) -> None:
    """Check the signature of a certificate, as anybody can with `muniment.ledger.proof`."""
    body, blank, signatures = text.rpartition("\n\n")
    if not blank or not signatures.endswith("\n"):
        raise RefusedError("no signature")
    origin = body.partition("\n")[0]
    mark, name, encoded = signatures[:-1].split(" ")
    signature = proof._decoded(encoded, 68)
    if (mark, name) != ("\u2014", origin):
        raise RefusedError("another name")
    if signature[:4] != proof.key_id(origin, public_key):
        raise RefusedError("another key")
    proof._check_signature(public_key, signature[4:], body + "\n")


def test_a_certificate_says_what_the_store_holds(durable: Backend) -> None:
    with durable.open() as store:
        certificate = erased(store)

        lines = fields(certificate)
        assert lines[0] == store.origin
        assert f"status {certificate.status}" in lines
        assert f"position {certificate.position}" in lines
        assert "actor dpo" in lines
        assert "reason asked by letter" in lines
        for report in certificate.stores:
            line = (
                f"store {report.store} removed {report.removed} "
                f"remaining {report.remaining} verified"
            )
            assert line in lines
        ref = {"ref": certificate.subject_ref}
        with durable.sql() as connection:
            left = {
                table: connection.execute(
                    sa.text(f"SELECT count(*) FROM {table} WHERE subject_ref = :ref"), ref
                ).scalar_one()
                for table in ("belief", "ledger_event")
            }
        with durable.sql(vault=True) as connection:
            keys = sum(
                connection.execute(
                    sa.text(f"SELECT count(*) FROM {table} WHERE subject_ref = :ref"), ref
                ).scalar_one()
                for table in ("stream_key", "subject_key")
            )
        assert left == {"belief": 0, "ledger_event": certificate.skeletons}
        assert keys == 0
        assert {each.store: each.remaining for each in certificate.stores} == {
            "vault": 0,
            "timeline": 0,
            "conversation": 0,
            "recall": 0,
        }


def test_what_was_removed_is_counted(durable: Backend) -> None:
    with durable.open() as store:
        facts = [store.remember(f"fact {n}", user_id=USER).fact_id for n in range(3)]
        store.update(facts[0], content="changed")
        plan = store.plan_erasure(user_id=USER)
        with durable.sql() as connection:
            rows = connection.execute(sa.text("SELECT count(*) FROM belief")).scalar_one()
        with durable.sql(vault=True) as connection:
            keys = connection.execute(
                sa.text("SELECT count(*) FROM stream_key")
            ).scalar_one()

        certificate = store.erase(user_id=USER, reason="asked")

        removed = {each.store: each.removed for each in certificate.stores}
        others = {"conversation": 0, "recall": 0}
        assert removed == plan.rows == {"timeline": rows, "vault": keys} | others


def test_a_certificate_names_nobody(backend: Backend) -> None:
    with backend.open() as store:
        store.remember("x", user_id="CANARY-user", actor="CANARY-actor")

        certificate = store.erase(user_id="CANARY-user", reason="asked", actor="dpo")

        assert "CANARY" not in repr(certificate)


def test_a_certificate_says_what_it_does_not_reach(backend: Backend) -> None:
    with backend.open() as store:
        text = erased(store).text

        for place in ("write-ahead logs", "replicas", "backups"):
            assert place in text
        assert re.search(r"remains \d+ events without content", text)


def test_signature_and_proof_are_checked_without_the_store(backend: Backend) -> None:
    with backend.open() as store:
        certificate = erased(store)
        public_key, origin = store.public_key, store.origin
        envelope = store.prove(certificate.position or 0).envelope

    checked(certificate.text, public_key=public_key)
    index, path, note = proof.read_proof(certificate.proof)
    head = proof.read_head(note, public_key=public_key)
    proof.check_inclusion(proof.leaf_hash(envelope.packed()), index, path, head)
    assert index + 1 == certificate.position == envelope.position
    assert head.origin == origin
    assert envelope.topic == "subject.erased.v1"
    assert envelope.subject_ref == certificate.subject_ref
    lines = fields(certificate)
    assert f"tree size {head.size}" in lines
    assert f"tree root {note.split(chr(10))[2]}" in lines


def test_the_rest_is_intact_and_continues_what_was_signed_before(
    backend: Backend,
) -> None:
    with backend.open() as store:
        stays = store.remember("stays", user_id="bob")
        before = store.prove(stays.position)
        first = store.tree_head()

        certificate = erased(store)

        after = store.prove(stays.position)
        assert after.envelope == before.envelope
        assert store.verify(published=[first])
        key = store.public_key
        old = proof.read_head(first, public_key=key)
        size, path, note = proof.read_consistency(store.prove_consistency(old.size))
        new = proof.read_head(note, public_key=key)
        assert size == old.size
        proof.check_consistency(old, new, path)
        assert new.size == certificate.position


def test_a_certificate_with_any_byte_flipped_is_refused(backend: Backend) -> None:
    if backend.kind == POSTGRESQL:
        pytest.skip("the text is made by the same code, whatever the database")
    with backend.open() as store:
        text, public_key = erased(store).text, store.public_key
    raw = text.encode()

    for place in range(len(raw)):
        for flip in (0x01, 0x20, 0x80):
            flipped = bytearray(raw)
            flipped[place] ^= flip
            try:
                altered = flipped.decode()
            except UnicodeDecodeError:
                continue
            with pytest.raises((RefusedError, ValueError)):
                checked(altered, public_key=public_key)


def test_a_certificate_outlives_the_process(durable: Backend) -> None:
    with durable.open() as store:
        certificate = erased(store)

    with durable.open() as store:
        kept = [e for e in store._ledger.vault.destructions.all() if not e.stream]
        assert len(kept) == 1
        assert certificate.text.split("\n")[3] in str(kept[0].certificate)
        assert kept[0].position == certificate.position
