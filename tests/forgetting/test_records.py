"""Records that were kept long enough: what goes of receipts, looks and turns."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, RetentionRule
from muniment.api.destroying import Destroyer
from muniment.api.expiring import expired_of
from muniment.api.shapes import document
from muniment.api.turns import EXPIRED
from muniment.archive.report_check import check_report
from muniment.domain.keeping import DAY_US, Records
from muniment.errors import WordsRedactedError
from muniment.ledger import payload, proof
from muniment.ledger.destruction import Destructions, Step
from muniment.ledger.ledger import Ledger
from muniment.ledger.sql_append import SqlAppend
from tests.forgetting.recorded import (
    AFTER_ALL_US,
    CANARY,
    RULES,
    USER,
    Recorded,
)
from tests.forgetting.traces import Backup
from tests.stores import MEMORY, SECOND, SQLITE, Backend, backend_at


@pytest.fixture
def quick(tmp_path: Path) -> Backend:
    """The quickest place, for what is decided above any database."""
    return backend_at(MEMORY, directory=tmp_path / "store", postgres_url=None)


GONE: dict[str, list[object]] = {
    "receipts": [None],
    "looks": [None, None],
    "turns": [None, None, None],
    "summaries": [],
    "session": [{}],
}


# C14: retention by class, and a proof report.
def test_c14_each_kind_of_record_goes_when_its_own_time_is_over(backend: Backend) -> None:
    memory = Recorded.of(backend)
    with memory.store as store:
        used, before = memory.uses(), memory.read()
        memory.clock.now += 40 * DAY_US
        assert memory.due() == {Records.TURN: 3}
        memory.retain()
        assert memory.read() == {**GONE, **{e: before[e] for e in ("receipts", "looks")}}
        memory.clock.now += 200 * DAY_US
        memory.recall()
        store.add_turn(memory.session_id, role="user", content="later")
        assert memory.due() == {Records.RECEIPT: 1, Records.LOOK: 1}
        memory.retain()
        later = memory.read()
        memory.clock.now += AFTER_ALL_US
        assert memory.due() == {Records.RECEIPT: 1, Records.EMERGENCY: 1, Records.TURN: 1}
        memory.retain()

        # The look by which the glass was broken is kept for six years, the last here.
        assert later["looks"] == [CANARY, None]
        assert later["receipts"] == [None, f"tea {CANARY}"]
        assert later["turns"] == [None, None, None, "later"]
        assert memory.read() == {
            **GONE,
            "receipts": [None, None],
            "turns": [None, None, None, None],
        }
        (first, _), (look, _) = store.get_receipts(user_id=USER), store.access_log()
        assert (first.token, first.turns, first.facts[0].fact_id, first.action) == (
            EXPIRED,
            (),
            memory.fact_id,
            "search",
        )
        assert (look.token, look.actor, look.count) == (EXPIRED, "engineer", 1)
        assert {each.token for each in store.get_turns(memory.session_id)} == {EXPIRED}
        assert store.get_session(memory.session_id).token == EXPIRED
        # What agents were given counts as it did, though nobody knows what they asked.
        assert memory.uses()[1] == used[1]
        assert memory.uses()[0][: len(used[0])] == used[0]
        assert store.get(memory.fact_id).content == "tea"
        assert store.verify()


def test_what_the_report_says_is_signed_and_each_act_has_its_proof(
    backend: Backend,
) -> None:
    memory = Recorded.of(backend)
    with memory.store as store:
        memory.clock.now += AFTER_ALL_US
        store.place_hold(user_id="bob", matter="case", hold_id="h-1")
        store.place_hold(user_id=USER, matter="case", hold_id="h-2")
        waiting = store.report_retention(RULES)
        store.release_hold("h-2", user_id=USER)
        (receipt,) = memory.retain()
        report = store.report_retention(RULES, start=receipt.recorded_at)

        assert (waiting.acts, waiting.due) == ((), ())
        assert {(e.records, e.count, e.holds) for e in waiting.held} == {
            (Records.RECEIPT, 1, ("h-2",)),
            (Records.LOOK, 1, ("h-2",)),
            (Records.EMERGENCY, 1, ("h-2",)),
            (Records.TURN, 3, ("h-2",)),
        }
        assert (report.status, report.held, report.due) == ("DONE", (), ())
        assert [(e.records, e.count, e.remaining, e.actor) for e in report.acts] == [
            (Records.RECEIPT, 1, 0, "keeper"),
            (Records.LOOK, 1, 0, "keeper"),
            (Records.EMERGENCY, 1, 0, "keeper"),
            (Records.TURN, 3, 0, "keeper"),
        ]
        key = store.public_key
        for act in report.acts:
            envelope = act.proof.envelope
            index, path, note = proof.read_proof(act.proof.text)
            leaf = proof.leaf_hash(envelope.packed())
            proof.check_inclusion(leaf, index, path, proof.read_head(note, public_key=key))
            header, _, _ = payload.unpacked(envelope.state, place="here")
            assert json.loads(header)["count"] == act.count
            assert index == act.position - 1
            assert f"act {act.position} " in report.text
        assert "reason policy 4" in report.text
        raw = document(report).encode()
        written = base64.b64encode(key).decode()
        assert "Each of its 4 acts stands" in check_report(raw, key=written).proven[1]


def test_a_hold_on_one_fact_keeps_every_record_of_its_memory(quick: Backend) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        before = memory.read()
        store.place_hold(user_id=USER, fact_id=memory.fact_id, matter="case", hold_id="h-1")
        memory.clock.now += AFTER_ALL_US

        assert memory.due() == {}
        assert memory.retain() == ()
        assert memory.read() == before
        store.release_hold("h-1", user_id=USER)
        memory.retain()
        assert memory.read() == GONE


def test_a_hold_that_comes_after_the_plan_wins(
    quick: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        before = memory.read()
        memory.clock.now += AFTER_ALL_US
        whole = Ledger.transact

        def late(self: Ledger, request: Any) -> object:  # noqa: ANN401 - of the ledger
            if request.action == "retain":
                monkeypatch.undo()
                store.place_hold(user_id=USER, matter="case", hold_id="h-1")
            return whole(self, request)

        monkeypatch.setattr(Ledger, "transact", late)
        (receipt,) = memory.retain()

        assert receipt.tx_id is None
        assert memory.read() == before


STEPS: dict[str, tuple[type, str]] = {
    "announcement": (Destructions, "announce"),
    "event": (SqlAppend, "insert"),
    "transaction": (Ledger, "transact"),
    "keys": (Destructions, "part_keys"),
    "scrub": (Destructions, "scrub"),
    "record of the end": (Destructions, "finish"),
}
"""What carries out each step, in order."""


class _Died(BaseException):
    """Whatever was going on ends here, and nothing of it is cleaned up."""


@pytest.mark.parametrize("step", STEPS)
def test_what_dies_at_any_step_is_done_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    memory = Recorded.of(backend)
    before = memory.read()
    memory.clock.now += AFTER_ALL_US
    owner, name = STEPS[step]
    whole: Callable[..., object] = getattr(owner, name)

    def deadly(*args: object, **rest: object) -> object:
        whole(*args, **rest)
        raise _Died

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, deadly)
        with pytest.raises(_Died):
            memory.retain()
    memory.store.close()
    with backend.open(clock=memory.clock, embedder="none", upkeep=False) as store:
        memory.store = store
        is_said = list(STEPS).index(step) >= list(STEPS).index("transaction")

        assert memory.read() == (GONE if is_said else before)
        assert store._ledger.vault.destructions.unfinished() == []
        assert bool(memory.retain()) != is_said
        assert memory.read() == GONE
        assert store.report_retention().status == "DONE"
        assert store.verify()


def test_a_backup_from_before_shows_nothing_of_what_went(tmp_path: Path) -> None:
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    memory = Recorded.of(backend)
    memory.store.place_hold(user_id=USER, matter="case", hold_id="h-1")
    backup = Backup.of(backend, tmp_path / "backup.db")
    memory.store.release_hold("h-1", user_id=USER)
    memory.clock.now += AFTER_ALL_US
    memory.retain()
    memory.store.close()
    backup.restore()

    heads = set()
    for _ in range(2):
        with backend.open(clock=memory.clock, embedder="none", upkeep=False) as store:
            memory.store = store
            heads.add(store.tree_head())
            assert memory.read() == GONE
            assert {each.count for each in store.report_retention().acts} == {1, 3}
            assert {e.step for e in store._ledger.vault.destructions.all()} == {Step.DONE}
            assert store.verify()
    with backend.open(clock=memory.clock, embedder="none", upkeep=False) as store:
        # Said again once, and not at each opening.
        assert {store.tree_head()} == heads
        memory.store = store
        memory.recall()
        assert memory.read()["receipts"] == [None, f"tea {CANARY}"]


def test_what_comes_after_a_cut_stays_readable_whatever_went_before(
    quick: Backend,
) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        for day in range(1, 5):
            memory.clock.now += 100 * DAY_US
            store.add_turn(memory.session_id, role="user", content=f"day {day}")
            memory.recall()
            memory.retain()
        memory.clock.now += SECOND
        store.add_turn(memory.session_id, role="user", content="last")

        kept = [f"tea {CANARY}"] * 2
        assert memory.read()["turns"] == [*[None] * 6, "day 4", "last"]
        assert memory.read()["receipts"] == [*[None] * 3, *kept]
        # A later one covers the earlier: what is listed does not grow with each run.
        assert len(store._ledger.vault.destructions.all()) == 3


def test_what_is_said_once_all_of_a_session_went_goes_too_when_the_session_has_ended(
    quick: Backend,
) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        memory.clock.now += AFTER_ALL_US
        memory.retain()
        store.add_turn(memory.session_id, role="user", content="later")
        store.end_session(memory.session_id)
        memory.clock.now += AFTER_ALL_US

        assert memory.due() == {Records.TURN: 1}
        memory.retain()
        assert memory.read() == {**GONE, "turns": [None] * 4}
        assert memory.due() == {}


def test_what_was_announced_and_never_said_is_not_done_where_another_was_said(
    quick: Backend,
) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        receipts = memory.read()["receipts"]
        memory.clock.now += AFTER_ALL_US
        (receipt,) = store.retain([each for each in RULES if each.records is Records.LOOK])
        vault = store._ledger.vault
        (done,) = vault.destructions.all()
        expired = expired_of(done)
        assert expired is not None
        # Of a process that died before it said so; then that place was taken.
        stream = replace(expired, records=Records.RECEIPT).stream
        vault.destructions.announce(replace(done, stream=stream, step=Step.ANNOUNCED))
        Destroyer(store._lookup).resume()

        assert (receipt.position, vault.destructions.all()) == (done.position, [done])
        assert memory.read()["receipts"] == receipts


def test_what_is_drawn_from_what_went_is_refused_and_what_was_drawn_stays(
    quick: Backend,
) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        memory.clock.now += AFTER_ALL_US
        memory.retain()
        turn_id = f"{memory.session_id}.1"

        with pytest.raises(WordsRedactedError):
            store.remember("late", user_id=USER, source_turns=[turn_id])
        assert [e.token for e in store.get_source_turns(memory.fact_id)] == [EXPIRED]
        # Whoever asks for the words to be forgotten reaches what was drawn from them.
        assert store.redact_turn(turn_id).fact_ids == (memory.fact_id,)
        assert store.verify()


def test_why_and_a_badcase_say_that_records_are_expired_and_guess_nothing(
    quick: Backend,
) -> None:
    memory = Recorded.of(quick)
    with memory.store as store:
        asked_at = store.get_receipts(user_id=USER)[0].asked_at
        memory.clock.now += AFTER_ALL_US
        memory.retain()
        case = store.reproduce_badcase(user_id=USER, timestamp=asked_at)

        assert {(e.kind, e.token) for e in case.gone} == {
            ("turn", EXPIRED),
            ("receipt", EXPIRED),
        }
        assert store.why("tea", user_id=USER, query="tea", at=asked_at).stage == "not known"
        given = store.why("tea", user_id=USER, at=asked_at)
        assert given.stage == "not used"
        assert EXPIRED in given.checks[-2].evidence
        unsaid = store.why(f"{CANARY} 2", user_id=USER, at=asked_at)
        assert "3 turns" in unsaid.checks[-1].evidence


def test_an_export_and_its_import_say_what_went(backend: Backend, tmp_path: Path) -> None:
    memory = Recorded.of(backend)
    with memory.store as store:
        memory.clock.now += 200 * DAY_US
        store.add_turn(memory.session_id, role="user", content="later")
        memory.clock.now += SECOND
        store.retain([RetentionRule(records=Records.TURN, older_than_us=30 * DAY_US)])
        store.retain(RULES[:1])
        exported = store.export(user_id=USER).document
        store.export_evidence(tmp_path / "e.zip", user_id=USER, matter="m", reason="why")
    with MemoryStore.open(tmp_path / "other", clock=memory.clock) as other:
        other.import_export(exported)
        turns = other.get_turns(memory.session_id)

        kept = str([exported.conversations, exported.others["receipts"]])
        said = f"{CANARY} 1"
        assert (said in kept, "later" in kept, EXPIRED in kept) == (False, True, True)
        assert [each.content for each in turns] == [None, None, None, "later"]
        assert [each.token for each in turns] == [EXPIRED, EXPIRED, EXPIRED, None]
