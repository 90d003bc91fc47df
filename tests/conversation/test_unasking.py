"""What was asked in the words of a redacted turn cannot be read in a receipt, either."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Turn
from muniment.api.badcases import load_badcase, summary_of, write_badcase
from muniment.api.receipts import RecallReceipt
from muniment.api.repeating import says_again
from muniment.api.turns import REDACTED
from muniment.ledger.destruction import Destructions
from tests.forgetting.traces import traces
from tests.stores import MEMORY, Backend


CANARY = "canary 金丝雀 5519"
SECRET = f"Is the card\n {CANARY} still mine?"
TEA, LATER = "does she like tea?", "现在喝什么"


@pytest.mark.parametrize(
    ("question", "said", "expected"),
    [
        ("Is it  mine?\n", " is IT mine?", True),
        ("please: is it mine? thanks", "Is it mine?", True),
        ("请问我的卡号是多少呢", "我的卡号是多少", True),
        ("is it", "is it mine?", False),
        ("no", "No", True),
        ("I do not know", "no", False),
        ("好不好", "好", False),
    ],
)
def test_a_question_says_again_what_it_has_in_it_unless_that_is_short(
    question: str, said: str, *, expected: bool
) -> None:
    assert says_again(question, said) is expected


@pytest.mark.parametrize("whole", [False, True], ids=["turn", "session"])
def test_receipts_of_what_is_redacted_show_a_token_and_all_others_what_they_did(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    with backend.open(embedder="none") as store:
        turn = talked(store)
        before = store.get_receipts(user_id="ann")
        store.place_hold(user_id="ann", matter="case 9", hold_id="h-9")
        if whole:
            assert store.redact_session(turn.session_id).deferred
        else:
            assert store.redact_turn(turn.turn_id).deferred
        assert store.get_receipts(user_id="ann") == before

        with monkeypatch.context() as patched:
            patched.setattr(Destructions, "part_keys", asking_first(store))
            store.release_hold("h-9", user_id="ann")

        first, *gone, last = store.get_receipts(user_id="ann")
        assert [first, last.query] == [before[0], LATER]
        assert [(each.query, each.token) for each in gone] == [(None, REDACTED)] * 2
        assert [skeleton(each) for each in gone] == [skeleton(each) for each in before[1:]]
        assert {(e.agent, e.session_id, e.prompt_digest) for e in gone} == {(None,) * 3}
        # What was kept of a key that is gone can be taken away in its turn.
        session_id = store.start_session(user_id="ann").session_id
        tea = store.add_turn(session_id, role="user", content=TEA)
        store.redact_turn(tea.turn_id)
        assert queries(store) == [None, None, None, LATER]
        assert store.verify()
    assert traces(backend, CANARY) == []
    if backend.kind != MEMORY:
        with backend.open(embedder="none") as store:
            assert queries(store) == [None, None, None, LATER]


def test_a_hold_on_a_fact_keeps_the_receipt_that_says_it_was_given(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        turn = talked(store)
        (fact,) = store.get_all(user_id="ann")
        other = store.remember("金丝雀 5519 is a bird", user_id="ann")
        for number, bound in enumerate((fact, other), 1):
            store.place_hold(
                user_id="ann", matter="案件", fact_id=bound.fact_id, hold_id=f"h-{number}"
            )
        before = store.get_receipts(user_id="ann")

        assert store.redact_turn(turn.turn_id).deferred
        assert store.get_receipts(user_id="ann") == before
        store.release_hold("h-2", user_id="ann")
        assert store.get_receipts(user_id="ann") == before
        assert store.redact_turn(turn.turn_id).deferred
        store.release_hold("h-1", user_id="ann")

        assert [each.query for each in store.get_receipts(user_id="ann")] == [
            TEA,
            None,
            None,
        ]
        assert store.get_turn(turn.turn_id).token == REDACTED
        assert store.verify()
    assert traces(backend, CANARY) == []


def test_a_hold_on_a_fact_that_was_not_given_keeps_no_receipt(tmp_path: Path) -> None:
    with Backend(MEMORY, "memory://", tmp_path).open(embedder="none") as store:
        turn = talked(store)
        other = store.remember("has a bird", user_id="ann")
        store.place_hold(user_id="ann", matter="case", fact_id=other.fact_id)

        assert not store.redact_turn(turn.turn_id).deferred
        assert queries(store)[1:] == [None, None]


def test_a_case_and_its_causes_are_told_without_what_was_asked_then(tmp_path: Path) -> None:
    with Backend(MEMORY, "memory://", tmp_path).open(embedder="none") as store:
        turn = talked(store)
        at = store.get_receipts(user_id="ann")[-1].asked_at

        store.redact_turn(turn.turn_id)

        case = store.reproduce_badcase(user_id="ann", timestamp=at)
        (fact,) = store.get_all(user_id="ann")
        assert f"recall {REDACTED}: {fact.fact_id}" in summary_of(case)
        written = write_badcase(case, tmp_path / "case")
        assert load_badcase(written[0]).receipts == case.receipts
        assert CANARY not in "".join(each.read_text() for each in written)
        why = store.why("likes tea", user_id="ann", at=at)
        assert f"score {REDACTED}" in why.checks[-2].evidence
        assert why.stage == "not used"
        unknown = store.why("likes tea", user_id="ann", query="tea with milk?", at=at)
        assert unknown.stage == "not known"
        assert unknown.checks[-1].evidence == f"what was asked is {REDACTED}"


def test_a_question_that_says_what_a_redacted_fact_said_goes_with_it(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        fact = store.remember(f"her card is {CANARY}", user_id="ann")
        store.update(fact.fact_id, content="她的卡已注销")
        other = store.remember("likes tea", user_id="ann")
        questions = [TEA, f"Is it so that HER card is  {CANARY}?", "她的卡已注销", "卡"]
        for each in questions:
            store.search(each, user_id="ann", agent="waiter")
        before = store.get_receipts(user_id="ann")
        store.place_hold(user_id="ann", matter="case 9", hold_id="h-9")
        assert store.forget(fact.fact_id, mode="redact").deferred
        assert store.get_receipts(user_id="ann") == before

        store.release_hold("h-9", user_id="ann")

        first, *gone, last = store.get_receipts(user_id="ann")
        assert [first, last] == [before[0], before[3]]
        assert [(each.query, each.token) for each in gone] == [(None, REDACTED)] * 2
        assert [skeleton(each) for each in gone] == [skeleton(e) for e in before[1:3]]
        store.search("likes tea?", user_id="ann")
        store.forget(other.fact_id, mode="redact")
        assert queries(store) == [TEA, None, None, "卡", None]
        assert store.verify()
    assert traces(backend, CANARY) == []
    if backend.kind != MEMORY:
        with backend.open(embedder="none") as store:
            assert queries(store) == [TEA, None, None, "卡", None]


def test_a_hold_on_a_fact_keeps_the_receipt_that_would_go_with_another(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        fact = store.remember(f"her card is {CANARY}", user_id="ann")
        held, other = (store.remember(f"likes {e}", user_id="ann") for e in ("tea", "figs"))
        store.search(f"likes tea, and her card is {CANARY}", user_id="ann", limit=3)
        store.search("figs", user_id="ann", limit=1)
        for number, each in enumerate((held, other), 1):
            store.place_hold(
                user_id="ann", matter="案件", fact_id=each.fact_id, hold_id=f"h-{number}"
            )
        before = store.get_receipts(user_id="ann")

        assert store.forget(fact.fact_id, mode="redact").deferred
        assert fact.fact_id not in {e.fact_id for e in store.get_all(user_id="ann")}
        store.release_hold("h-2", user_id="ann")
        assert store.get_receipts(user_id="ann") == before
        assert store.forget(fact.fact_id, mode="redact").deferred
        store.release_hold("h-1", user_id="ann")

        assert queries(store) == [None, "figs"]
        assert store.get_fact_history(fact.fact_id).versions[0].content is None
        assert store.verify()
    assert traces(backend, CANARY) == []


@pytest.mark.parametrize("what", ["fact", "turn"])
def test_a_question_that_another_process_records_too_late_is_not_recorded(
    durable: Backend, what: str
) -> None:
    def open_store(window: float) -> MemoryStore:
        return durable.open(embedder="none", receipt_window=window)

    with open_store(0.0) as ours, open_store(60.0) as theirs:
        said = ours.remember(f"her card is {CANARY}", user_id="ann")
        session_id = ours.start_session(user_id="ann").session_id
        turn = ours.add_turn(session_id, role="user", content=SECRET)
        ours.search(TEA, user_id="ann")
        theirs.search(f"her card is {CANARY}", user_id="ann")
        theirs.search(SECRET, user_id="ann")

        if what == "fact":
            ours.forget(said.fact_id, mode="redact")
        else:
            ours.redact_turn(turn.turn_id)
        theirs.search(LATER, user_id="ann")
        theirs.flush_receipts()

        assert queries(ours) == [TEA, None, None, LATER]
        late = ours.get_receipts(user_id="ann")[1:3]
        assert [each.token for each in late] == [REDACTED] * 2
        assert [each.action for each in late] == ["search"] * 2
        assert ours.verify()
        if what == "fact":
            ours.redact_turn(turn.turn_id)
        else:
            ours.forget(said.fact_id, mode="redact")
    assert traces(durable, CANARY) == []


def test_a_recall_made_because_of_a_redacted_turn_goes_with_it_in_whatever_words(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        store.remember("likes tea", user_id="ann")
        ours, other = (store.start_session(user_id="ann").session_id for _ in "ab")

        def say(text: str, role: str = "user") -> Turn:
            return store.add_turn(ours, role=role, content=text)

        say("hello")
        store.search("greeting", user_id="ann", session_id=ours)
        secret = say(SECRET)
        store.search("which card number is hers", user_id="ann", session_id=ours)
        store.build_context("她的卡号还有效吗", user_id="ann", session_id=ours)
        store.search("elsewhere", user_id="ann", session_id=other)
        say("let me look", role="assistant")
        store.search("status of that card", user_id="ann", session_id=ours)
        store.build_context("no session is named", user_id="ann", recent_turns=2)
        say("and what about tea?")
        store.search("tea", user_id="ann", session_id=ours)
        store.build_context("later", user_id="ann", session_id=ours)
        asked = queries(store)

        store.redact_turn(secret.turn_id)

        kept = ["greeting", "elsewhere", "no session is named", "tea", "later"]
        assert queries(store) == [each if each in kept else None for each in asked]
        assert store.verify()
        store.redact_session(ours)
        assert [each for each in queries(store) if each] == ["elsewhere"]
    assert traces(backend, CANARY) == []


def talked(store: MemoryStore) -> Turn:
    """Say what is secret, and ask for it: once of three times not in its words."""
    store.remember("likes tea", user_id="ann")
    session_id = store.start_session(user_id="ann").session_id
    turn = store.add_turn(session_id, role="user", content=SECRET)
    store.search(TEA, user_id="ann", agent="waiter")
    store.search(" ".join(SECRET.upper().split()), user_id="ann", agent="waiter")
    store.build_context(f"tea, {SECRET}", user_id="ann", session_id=session_id)
    return turn


def asking_first(store: MemoryStore) -> Callable[..., None]:
    """Ask something else once a redaction is in the ledger, its keys there still."""
    part_keys = Destructions.part_keys

    def late(*given: Any, **named: Any) -> None:  # noqa: ANN401 - as they were given
        store.search(LATER, user_id="ann")
        store.flush_receipts()
        part_keys(*given, **named)

    return late


def queries(store: MemoryStore) -> list[str | None]:
    return [each.query for each in store.get_receipts(user_id="ann")]


def skeleton(receipt: RecallReceipt) -> tuple[object, ...]:
    served = [(each.fact_id, each.version, each.rank) for each in receipt.facts]
    return receipt.position, receipt.asked_at, receipt.action, receipt.model, served
