"""
The deletion policy, docs/concepts/forgetting.md, line by line: each line its test.

The lines on thinning are in `test_more_policy`, and that none is without a test.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muniment import (
    ErasureCertificate,
    ErasureStatus,
    MemoryStore,
    RetentionRule,
)
from muniment.errors import (
    FactNotCurrentError,
    FactRedactedError,
    ForgottenRequestError,
    UnknownFactError,
)
from muniment.ledger import proof
from muniment.projections.timeline import SqlTimeline


LITTLE = RetentionRule(importance_below=0.5)
CANARY = "金丝雀 canary"


class Hands:
    """A clock that goes on by a second each time it is read, or as it is told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


hands = pytest.fixture(lambda: Hands(), name="hands")  # noqa: PLW0108 - no class may be one


@pytest.fixture
def store(tmp_path: Path, hands: Hands) -> MemoryStore:
    return MemoryStore.open(tmp_path / "store", clock=hands)


def listed(store: MemoryStore) -> list[str | None]:
    return [each.content for each in store.get_all(user_id="u")]


def known(store: MemoryStore, then: datetime) -> list[str | None]:
    return [each.content for each in store.get_memory_as_of(user_id="u", timestamp=then)]


def erase(store: MemoryStore) -> ErasureCertificate:
    return store.erase(user_id="u", reason="request 17", actor="officer-1")


def said(store: MemoryStore, fact_id: str) -> list[str | None]:
    return [each.content for each in store.get_fact_history(fact_id)]


def test_f1_what_ended_held_until_then(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    store.end(fact.fact_id)

    assert listed(store) == []
    assert known(store, fact.recorded_at) == ["a"]


# C15: what was rectified is not current, and those who may look into history see it.
def test_f2_a_corrected_value_is_not_current_and_is_in_history(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    store.correct(fact.fact_id, content="b")

    assert listed(store) == ["b"]
    assert said(store, fact.fact_id) == ["a", "b"]
    assert known(store, fact.recorded_at) == ["a"]


def test_f3_a_forgotten_fact_is_kept_and_comes_back(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    store.forget(fact.fact_id)
    gone = listed(store)
    store.restore(fact.fact_id)

    assert (gone, listed(store)) == ([], ["a"])
    assert known(store, fact.recorded_at) == ["a"]


def test_f4_an_expired_fact_is_not_used_and_is_kept(
    store: MemoryStore, hands: Hands
) -> None:
    ends = hands.now + timedelta(hours=1)
    fact = store.remember("a", user_id="u", expires_at=ends)
    hands.now = ends

    assert listed(store) == []
    assert known(store, fact.recorded_at) == ["a"]


def test_f5_a_rule_retires_with_its_cause_and_restore_brings_back(
    store: MemoryStore,
) -> None:
    fact = store.remember("a", user_id="u", importance=0.1)
    (due,) = store.plan_retention([LITTLE])
    store.retain([LITTLE])

    assert due.cause == "unimportant"
    assert listed(store) == []
    assert store.get_fact_history(fact.fact_id).versions[-1].trigger == "retention"
    store.restore(fact.fact_id)
    assert listed(store) == ["a"]


def test_f6_a_merged_fact_is_kept_and_comes_back(store: MemoryStore) -> None:
    gone, kept = (store.remember(each, user_id="u") for each in "ab")
    store.merge(gone.fact_id, into=kept.fact_id)

    assert listed(store) == ["b"]
    assert known(store, kept.recorded_at) == ["a", "b"]
    store.restore(gone.fact_id)
    assert listed(store) == ["a", "b"]


def test_f7_a_redacted_fact_shows_that_it_was_and_never_what(store: MemoryStore) -> None:
    fact = store.remember(CANARY, user_id="u", category="job", actor="a-1")
    store.forget(fact.fact_id, mode="redact")

    first = store.get_fact_history(fact.fact_id).versions[0]
    (then,) = store.get_memory_as_of(user_id="u", timestamp=fact.recorded_at)
    assert (first.content, first.recorded_at) == (None, fact.recorded_at)
    assert first.actor == "a-1"
    assert (then.content, then.category) == (None, "job")
    with pytest.raises(FactRedactedError):
        store.restore(fact.fact_id)


def test_f8_an_erased_subject_is_nowhere_and_the_rest_is(store: MemoryStore) -> None:
    fact = store.remember(CANARY, user_id="u", category="job")
    other = store.remember("stays", user_id="v")
    certificate = erase(store)

    assert (listed(store), known(store, fact.recorded_at)) == ([], [])
    assert store.blame(user_id="u") == ()
    with pytest.raises(UnknownFactError):
        store.get_fact_history(fact.fact_id)
    assert certificate.skeletons == 2
    assert "actor officer-1\nreason request 17\n" in certificate.text
    assert store.get(other.fact_id).content == "stays"


def test_f9_a_hold_stops_every_way_by_which_content_goes(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u", importance=0.1)
    store.place_hold(user_id="u", matter="m")
    redacted = store.forget(fact.fact_id, mode="redact")
    erased = erase(store)
    retired = store.retain([LITTLE])

    assert (redacted.deferred, erased.status, retired) == (True, ErasureStatus.DEFERRED, ())
    assert said(store, fact.fact_id) == ["a"]


def test_f10_the_release_of_the_last_hold_counts(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    first = store.place_hold(user_id="u", matter="m", hold_id="h-1")
    store.place_hold(user_id="u", matter="n", hold_id="h-2", fact_id=fact.fact_id)
    asked = erase(store)
    store.release_hold("h-1", user_id="u")
    between = said(store, fact.fact_id)
    store.release_hold("h-2", user_id="u")

    assert (first.hold_id, between) == ("h-1", ["a"])
    assert asked.subject_ref is not None
    done = store.erasure_certificate(asked.subject_ref)
    assert done is not None
    assert done.status is ErasureStatus.DONE


def test_f11_a_fact_that_waits_to_be_redacted_is_not_used(store: MemoryStore) -> None:
    waits = store.remember("a", user_id="u")
    store.remember("b", user_id="u")
    store.place_hold(user_id="u", matter="m", fact_id=waits.fact_id)
    store.forget(waits.fact_id, mode="redact")

    assert listed(store) == ["b"]
    with pytest.raises(FactNotCurrentError):
        store.get(waits.fact_id)


def test_f12_a_subject_that_waits_to_be_erased_is_not_used(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    store.place_hold(user_id="u", matter="m")
    erase(store)

    assert listed(store) == []
    with pytest.raises(FactNotCurrentError):
        store.get(fact.fact_id)


def test_f13_a_release_does_what_waited_in_the_same_transaction(store: MemoryStore) -> None:
    facts = [store.remember(each, user_id="u") for each in "ab"]
    store.place_hold(user_id="u", matter="m", hold_id="h")
    for fact in reversed(facts):
        store.forget(fact.fact_id, mode="redact")
    released = store.release_hold("h", user_id="u")

    assert released.fact_ids == (facts[1].fact_id, facts[0].fact_id)
    assert [said(store, each.fact_id) for each in facts] == [[None, None]] * 2


def test_f14_what_waits_can_be_looked_into(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    store.place_hold(user_id="u", matter="m")
    erase(store)

    assert said(store, fact.fact_id) == ["a"]
    assert known(store, fact.recorded_at) == ["a"]


def test_f15_done_means_that_every_store_was_looked_at(store: MemoryStore) -> None:
    store.remember("a", user_id="u")
    certificate = erase(store)

    assert certificate.status is ErasureStatus.DONE
    looked_at = [each.store for each in certificate.stores]
    assert looked_at == ["vault", "timeline", "conversation", "recall"]
    assert all(each.verified and not each.remaining for each in certificate.stores)


def test_f15_until_then_it_is_partial(
    store: MemoryStore, tmp_path: Path, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("a", user_id="u")
    with monkeypatch.context() as patched:
        patched.setattr(SqlTimeline, "scrub", lambda _: False)
        certificate = erase(store)
    store.close()

    assert certificate.status is ErasureStatus.PARTIAL
    assert certificate.subject_ref is not None
    with MemoryStore.open(tmp_path / "store", clock=hands) as later:
        done = later.erasure_certificate(certificate.subject_ref)
    assert done is not None
    assert done.status is ErasureStatus.DONE


def test_f16_the_certificate_is_signed_with_its_proof(store: MemoryStore) -> None:
    store.remember("a", user_id="u")
    certificate = erase(store)

    assert certificate.position is not None
    index, path, note = proof.read_proof(certificate.proof)
    head = proof.read_head(note, public_key=store.public_key)
    leaf = proof.leaf_hash(store.prove(certificate.position).envelope.packed())
    assert index == certificate.position - 1
    proof.check_inclusion(leaf, index, path, head)
    assert certificate.text.endswith("\n")
    assert f"— {store.origin} " in certificate.text


def test_f17_erasing_twice_succeeds_and_a_return_is_a_new_life(store: MemoryStore) -> None:
    store.remember("a", user_id="u")
    first = erase(store)
    again = erase(store)
    store.remember("b", user_id="u")

    assert (again.status, again.position) == (ErasureStatus.DONE, None)
    assert listed(store) == ["b"]
    second = erase(store)
    assert second.subject_ref not in (None, first.subject_ref)


def test_f18_a_ledger_from_before_shows_nothing_beside_the_vault_of_today(
    store: MemoryStore, tmp_path: Path, hands: Hands
) -> None:
    erased = store.remember(CANARY, user_id="u")
    redacted = store.remember(CANARY, user_id="v")
    store.close()
    place = tmp_path / "store"
    shutil.copy(place / "ledger.db", tmp_path / "before.db")
    with MemoryStore.open(place, clock=hands) as later:
        erase(later)
        later.forget(redacted.fact_id, mode="redact")
    for left in place.glob("ledger.db*"):
        left.unlink()
    shutil.copy(tmp_path / "before.db", place / "ledger.db")

    with MemoryStore.open(place, clock=hands) as restored:
        assert known(restored, erased.recorded_at) == []
        with pytest.raises(UnknownFactError):
            restored.get_fact_history(erased.fact_id)
        assert said(restored, redacted.fact_id) == [None, None]


def test_f19_proofs_go_on_to_hold(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    store.remember("b", user_id="v")
    head = proof.read_head(store.tree_head(), public_key=store.public_key)
    leaf = proof.leaf_hash(store.prove(fact.position).envelope.packed())
    erase(store)

    later = store.prove(fact.position)
    size, path, note = proof.read_consistency(store.prove_consistency(head.size))
    now = proof.read_head(note, public_key=store.public_key)
    assert proof.leaf_hash(later.envelope.packed()) == leaf
    assert size == head.size
    proof.check_consistency(head, now, path)
    assert store.verify().findings == ()


def test_f20_a_limit_is_reached_not_passed(store: MemoryStore, hands: Hands) -> None:
    fact = store.remember("a", user_id="u")
    rule = RetentionRule(older_than_us=3_600_000_000)
    # The clock goes on by a second when it is read.
    hands.now = fact.recorded_at + timedelta(hours=1) - timedelta(seconds=1, microseconds=1)
    before = store.plan_retention([rule], user_id="u")
    hands.now = fact.recorded_at + timedelta(hours=1) - timedelta(seconds=1)
    reached = store.plan_retention([rule], user_id="u")

    assert (before, [each.cause for each in reached]) == ((), ["expired"])


def test_f21_a_core_fact_goes_by_its_own_end_alone(
    store: MemoryStore, hands: Hands
) -> None:
    ends = hands.now + timedelta(hours=1)
    store.remember("a", user_id="u", core=True, importance=0.1, expires_at=ends)
    before = store.plan_retention([LITTLE])
    hands.now = ends

    assert before == ()
    assert [each.cause for each in store.plan_retention([])] == ["expired"]


def test_f22_a_frozen_memory_is_left_alone(store: MemoryStore) -> None:
    store.remember("a", user_id="u", importance=0.1)
    store.freeze(user_id="u")

    assert store.retain([LITTLE]) == ()
    assert listed(store) == ["a"]


def test_f23_before_a_retirement_the_fact_is_still_known(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u", importance=0.1)
    store.retain([LITTLE])

    assert known(store, fact.recorded_at) == ["a"]


def test_f24_what_waits_may_be_written_to_and_goes_with_the_rest(
    store: MemoryStore,
) -> None:
    store.place_hold(user_id="u", matter="case 1", hold_id="h")
    store.remember(CANARY, user_id="u")
    assert erase(store).status is ErasureStatus.DEFERRED

    late = store.remember(f"{CANARY} later", user_id="u")

    assert (listed(store), said(store, late.fact_id)) == ([], [late.content])
    store.release_hold("h", user_id="u")
    with pytest.raises(UnknownFactError):
        store.get_fact_history(late.fact_id)


def test_f25_nothing_is_shown_once_the_keys_are_gone(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = store.remember(CANARY, user_id="u")
    monkeypatch.setattr(SqlTimeline, "purge", None)
    with pytest.raises(TypeError):
        erase(store)

    assert known(store, fact.recorded_at) == []
    assert store.blame(user_id="u", as_of=fact.recorded_at) == ()
    assert store.list_modified_facts(user_id="u", start=fact.recorded_at) == ()
    with pytest.raises(UnknownFactError):
        store.get_fact_history(fact.fact_id)


def test_f26_a_keyed_request_is_forgotten_with_its_subject(store: MemoryStore) -> None:
    store.remember(CANARY, user_id="u", idempotency_key="k")
    erase(store)

    with pytest.raises(ForgottenRequestError):
        store.remember(CANARY, user_id="u", idempotency_key="k")
