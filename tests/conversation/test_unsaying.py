"""One turn, or a session, is made unreadable at every as-of; that it was said stays."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from muniment import MemoryStore, Turn
from muniment.api.turns import REDACTED, WITHHELD
from muniment.errors import (
    InvalidValueError,
    SessionRedactedError,
    SubjectFrozenError,
    UnknownSessionError,
    UnknownTurnError,
    WordsRedactedError,
)
from muniment.ledger.destruction import Step
from muniment.recall.summary import Line
from tests.forgetting.traces import Backup, traces
from tests.stores import MEMORY, SQLITE, Backend, backend_at


CANARY = "canary 金丝雀 7733"
ROOT = Path(__file__).parents[2]
KILLED_BEFORE_THE_KEYS = """
import os, sys
from muniment import MemoryStore, Settings
from muniment.ledger.destruction import Destructions

def die(*_, **__):
    session_id = sys.argv[2].rpartition(".")[0]
    store.add_turn(session_id, role="user", content="said in between")
    os.kill(os.getpid(), 9)

Destructions.part_keys = die
store = MemoryStore.open(Settings.model_validate_json(sys.argv[1]))
store.redact_turn(sys.argv[2])
"""
SECRET = f"Mr Weiss pays 1,200 with the card {CANARY}, we decided."


def said(turns: Sequence[Turn]) -> list[str | None]:
    return [each.content or each.token for each in turns]


def talked(store: MemoryStore, count: int = 4, user_id: str = "ann") -> list[Turn]:
    """Say *count* things, of which the second is secret."""
    session_id = store.start_session(user_id=user_id, agent="waiter").session_id
    texts = [SECRET if n == 1 else f"On day {n} we met Person{n}." for n in range(count)]
    turns = [
        {"role": "user", "content": each, "entities": [each[:9]], "metadata": {"n": each}}
        for each in texts
    ]
    return list(store.add_turns(session_id, turns=turns))


def test_a_redacted_turn_stands_as_a_token_at_every_as_of(backend: Backend) -> None:
    with backend.open(embedder="none") as store:
        turns = talked(store)
        ours, secret = turns[0].session_id, turns[1]

        receipt = store.redact_turn(secret.turn_id, actor="dpo", reason="asked")

        expected = [turns[0].content, REDACTED, turns[2].content, turns[3].content]
        then = secret.recorded_at
        answers = [
            store.get_turns(ours),
            store.get_turns(ours, as_of=then),
            store.get_turns_before(user_id="ann", timestamp=then),
            store.turns_of(secret.scope),
        ]
        assert [said(each) for each in answers] == [expected] * 4
        shown = store.get_turn(secret.turn_id)
        assert shown == replace(
            secret, content=None, entities=(), metadata={}, token=REDACTED
        )
        assert (receipt.deferred, receipt.fact_ids) == (False, ())
        assert store.redact_turn(secret.turn_id).tx_id is None
        # What is said next is sealed under another key.
        later = store.add_turn(ours, role="user", content="later")
        assert store.redact_turn(turns[3].turn_id).tx_id is not None
        tokens = [turns[0].content, REDACTED, turns[2].content, REDACTED, "later"]
        assert said(store.get_turns(ours)) == tokens
        assert later.number == 5
        assert store.verify()
        before = list(store._conversation.rows())
        store.rebuild()
        assert list(store._conversation.rows()) == before
        steps = {each.step for each in store._ledger.vault.destructions.all()}
        assert steps == {Step.DONE}
    assert traces(backend, CANARY) == []
    if backend.kind != MEMORY:
        with backend.open(embedder="none") as store:
            assert said(store.get_turns(ours)) == tokens


def test_summaries_that_quote_a_redacted_turn_go_and_are_made_anew_without_it(
    backend: Backend,
) -> None:
    """Case M31: a summary still quoted what was erased."""
    with backend.open(embedder="none") as store:
        turns = talked(store, count=9)
        ours = turns[0].session_id
        fields = {"every": 2, "keep": 1, "meta_every": 2}
        made = store.summarize_session(ours, **fields)  # type: ignore[arg-type]
        assert [each.version for each in made if "Weiss" in (each.content or "")] == [
            1,
            5,
            7,
        ]

        store.redact_turn(turns[1].turn_id)

        left = {each.version for each in store.get_summaries(ours)}
        assert left == {2, 3, 4, 6}
        then = store.get_summaries(ours, as_of=made[-1].recorded_at)
        assert [each.version for each in then if each.token == REDACTED] == [1, 5, 7]
        assert all(each.content for each in then if each.version in left)
        anew = store.summarize_session(ours, force=True, **fields)  # type: ignore[arg-type]
        assert [(each.level, each.first_turn, each.last_turn) for each in anew] == [
            (1, 1, 2),
            (2, 1, 4),
            (3, 1, 8),
        ]
        assert "Person0" in (anew[0].content or "")
        context = store.build_context("Person3", user_id="ann", session_id=ours)
        assert REDACTED in context.text
        assert CANARY not in repr((anew, context, store.get_summaries(ours)))
        assert store.verify()
    assert traces(backend, CANARY, "Weiss") == []
    if backend.kind != MEMORY:
        with backend.open(embedder="none") as store:
            assert set(anew) <= set(store.get_summaries(ours))


def test_facts_drawn_from_a_redacted_turn_go_with_it_unless_they_are_to_stay(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        turns = talked(store)
        first, secret = turns[0].turn_id, turns[1].turn_id
        drawn = store.remember(CANARY, user_id="ann", source_turns=[secret])
        revised = store.remember("pays", user_id="ann", source_turns=[first])
        store.correct(revised.fact_id, content="pays by card", source_turns=[secret])
        heard = store.remember("met Person0", user_id="ann", source_turns=[first])
        store.remember("met Person0", user_id="ann", source_turns=[secret])
        other = talked(store)[1].turn_id
        kept, free = (
            store.remember(each, user_id="ann", source_turns=[other]) for each in "kf"
        )

        receipt = store.redact_turn(secret)
        stays = store.redact_turn(other, facts="keep")

        assert set(receipt.fact_ids) == {drawn.fact_id, revised.fact_id}
        assert stays.fact_ids == ()
        left = {each.fact_id for each in store.get_all(user_id="ann")}
        assert left == {heard.fact_id, kept.fact_id, free.fact_id}
        versions = store.get_fact_history(revised.fact_id)
        assert [each.content for each in versions] == [None] * 3
        store.place_hold(user_id="ann", matter="case", hold_id="h-1", fact_id=kept.fact_id)
        again = store.redact_turn(other)
        assert (again.deferred, again.fact_ids) == (True, (free.fact_id,))
        assert store.get_fact_history(kept.fact_id).versions[0].content == "k"
        assert store.release_hold("h-1", user_id="ann").fact_ids == (kept.fact_id,)
        with pytest.raises(InvalidValueError):
            store.redact_turn(other, facts="maybe")  # type: ignore[arg-type]


def test_a_redacted_session_says_nothing_and_takes_no_more(backend: Backend) -> None:
    with backend.open(embedder="none") as store:
        turns, others = talked(store), talked(store)
        ours = turns[0].session_id
        fact = store.remember(CANARY, user_id="ann", source_turns=[turns[2].turn_id])
        store.summarize_session(ours, keep=0, force=True)
        store.redact_turn(turns[1].turn_id)

        receipt = store.redact_session(ours, reason="asked")

        assert said(store.get_turns(ours)) == [REDACTED] * 4
        assert store.get_session(ours).token == REDACTED
        assert store.get_session(ours).agent is None
        assert [each.session_id for each in store.list_sessions(user_id="ann")] == [
            ours,
            others[0].session_id,
        ]
        assert receipt.fact_ids == (fact.fact_id,)
        assert store.redact_session(ours).tx_id is None
        assert store.redact_turn(turns[0].turn_id).tx_id is None
        with pytest.raises(SessionRedactedError):
            store.add_turn(ours, role="user", content="wait")
        assert store.summarize_session(ours, keep=0, force=True) == ()
        assert store.get_turns(others[0].session_id) == tuple(others)
        assert store.verify()
        store.redact_turn(others[1].turn_id)
    assert traces(backend, CANARY) == []


def test_a_hold_keeps_what_was_said_and_nobody_uses_it_meanwhile(backend: Backend) -> None:
    """Items C8 and C10: what is asked for under a hold waits, restricted."""
    with backend.open(embedder="none") as store:
        turns = talked(store)
        ours, secret = turns[0].session_id, turns[1].turn_id
        fact = store.remember(CANARY, user_id="ann", source_turns=[secret])
        store.summarize_session(ours, keep=0, force=True)
        hold = store.place_hold(user_id="ann", matter="case 7", fact_id=fact.fact_id)

        waits = store.redact_turn(secret, reason="asked")

        again = store.redact_turn(secret)
        assert (waits.deferred, again.deferred, again.tx_id) == (True, True, None)
        assert said(store.get_turns(ours))[1] == WITHHELD
        assert store.get_turn(secret).token == WITHHELD
        assert store.get_summaries(ours) == ()
        context = store.build_context(CANARY, user_id="ann", session_id=ours)
        assert (context.facts, context.summaries) == ((), ())
        assert CANARY not in context.text
        now = store.get_all(user_id="ann").recorded_at
        assert said(store.get_turns(ours, as_of=now))[1] == SECRET
        case = store.reproduce_badcase(user_id="ann", timestamp=now)
        assert said(case.convo)[1] == SECRET

        store.release_hold(hold.hold_id or "", user_id="ann")

        assert said(store.get_turns(ours, as_of=now))[1] == REDACTED
        assert [each.content for each in store.get_fact_history(fact.fact_id)] == [None] * 2
        assert store.verify()
    assert traces(backend, CANARY) == []


def test_a_hold_on_a_fact_drawn_from_what_waits_keeps_it_waiting(backend: Backend) -> None:
    with backend.open() as store:
        secret = talked(store)[1].turn_id
        first = store.place_hold(user_id="ann", matter="case 7").hold_id or ""
        drawn = store.remember("pays by card", user_id="ann", source_turns=[secret])
        assert store.redact_turn(secret).deferred
        second = store.place_hold(user_id="ann", matter="case 8", fact_id=drawn.fact_id)

        store.release_hold(first, user_id="ann")

        now = store.get_all(user_id="ann").recorded_at
        ours = secret.rpartition(".")[0]
        assert said(store.get_turns(ours, as_of=now))[1] == SECRET
        assert store.get_turn(secret).token == WITHHELD

        store.release_hold(second.hold_id or "", user_id="ann")

        assert store.get_turn(secret).token == REDACTED
        assert store.verify()
    assert traces(backend, CANARY) == []


@pytest.mark.parametrize("waits", [False, True])
def test_nothing_is_drawn_from_redacted_words_later(
    backend: Backend, *, waits: bool
) -> None:
    with backend.open(embedder="none") as store:
        first, secret, *_ = (each.turn_id for each in talked(store))
        whole = talked(store, count=1)[0]
        fact = store.remember("Ann pays", user_id="ann", source_turns=[first])
        if waits:
            store.place_hold(user_id="ann", matter="case", hold_id="h-1")
        store.redact_turn(secret)
        store.redact_session(whole.session_id)
        for turn in (secret, whole.turn_id):
            with pytest.raises(WordsRedactedError):
                store.remember(CANARY, user_id="ann", source_turns=[first, turn])
            items = [{"content": CANARY, "source_turns": [turn]}]
            with pytest.raises(WordsRedactedError):
                store.remember_many(items, user_id="ann")
            for verb in (store.update, store.correct):
                with pytest.raises(WordsRedactedError):
                    verb(fact.fact_id, content=CANARY, source_turns=[turn])
        assert [each.content for each in store.get_all(user_id="ann")] == ["Ann pays"]
        # Neither the turns of others nor names of no turns are looked into.
        store.remember("b", user_id="bob", source_turns=[secret, "mail 7", "none.1"])
        store.update(fact.fact_id, content="Ann paid", source_turns=[first])


def test_what_cannot_be_redacted_is_refused(backend: Backend) -> None:
    with backend.open() as store:
        turns = talked(store)
        ours = turns[0].session_id
        refused: list[tuple[type[Exception], Callable[[], object]]] = [
            (UnknownTurnError, lambda: store.redact_turn(f"{ours}.9")),
            (UnknownTurnError, lambda: store.redact_turn(f"{ours}.{10**30}")),
            (UnknownTurnError, lambda: store.get_turn(f"{ours}.{10**18}")),
            (UnknownTurnError, lambda: store.redact_turn("nothing")),
            (UnknownSessionError, lambda: store.redact_session("nothing")),
        ]
        for error, write in refused:
            with pytest.raises(error):
                write()
        store.freeze(user_id="ann")
        with pytest.raises(SubjectFrozenError):
            store.redact_turn(turns[1].turn_id)
        store.thaw(user_id="ann")
        store.erase(user_id="ann", reason="asked")
        with pytest.raises(UnknownTurnError):
            store.redact_turn(turns[1].turn_id)


def test_a_summary_in_the_making_does_not_bring_redacted_words_back(
    backend: Backend,
) -> None:
    with backend.open() as store:
        turns = talked(store)
        ours = turns[0].session_id

        class Slow:
            name = "slow"

            def summarize(self, lines: Sequence[Line], must_keep: Sequence[str]) -> str:
                del must_keep
                store.redact_turn(turns[1].turn_id)
                return " ".join(each.text for each in lines)[:200]

        with pytest.raises(WordsRedactedError):
            store.summarize_session(ours, keep=0, force=True, summarizer=Slow())

        assert store.get_summaries(ours) == ()
    assert traces(backend, CANARY) == []


def test_a_backup_of_the_ledger_does_not_bring_redacted_words_back(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open(embedder="none") as store:
        turns = talked(store)
        ours = turns[0].session_id
        store.summarize_session(ours, keep=0, force=True)
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.redact_turn(turns[1].turn_id)
    backup.restore()

    expected = [turns[0].content, REDACTED, *(each.content for each in turns[2:])]
    for _ in range(2):
        with durable.open(embedder="none") as store:
            assert said(store.get_turns(ours)) == expected
            assert store.get_summaries(ours) == ()
            expected.append(store.add_turn(ours, role="user", content="on").content)
            assert store.verify()
    assert traces(durable, CANARY) == []


def test_a_redaction_goes_on_where_its_process_was_killed(tmp_path: Path) -> None:
    place = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    with place.open(embedder="none") as store:
        turns = talked(store)
        ours = turns[0].session_id

    killed = subprocess.run(
        [
            sys.executable,
            "-c",
            KILLED_BEFORE_THE_KEYS,
            place.settings(embedder="none").model_dump_json(),
            turns[1].turn_id,
        ],
        cwd=ROOT,
        check=False,
        timeout=60,
    )

    assert killed.returncode == -9
    with place.open(embedder="none") as store:
        expected = [turns[0].content, REDACTED, *(each.content for each in turns[2:])]
        assert said(store.get_turns(ours)) == [*expected, "said in between"]
        assert store.verify()
    assert traces(place, CANARY) == []


def test_what_was_redacted_stays_so_in_an_export_and_where_it_is_imported(
    tmp_path: Path,
) -> None:
    with MemoryStore.open("memory://") as store:
        turns = talked(store)
        ours, theirs = turns[0].session_id, talked(store)[0].session_id
        store.summarize_session(ours, keep=0, force=True)
        store.end_session(ours)
        store.redact_turn(turns[1].turn_id)
        store.redact_session(theirs)
        export = store.export(user_id="ann").json()

    assert CANARY not in str(export)
    with MemoryStore.open(tmp_path / "store") as store:
        store.import_export(export)

        texts = [turns[0].content, REDACTED, turns[2].content, turns[3].content]
        assert said(store.get_turns(ours)) == texts
        assert said(store.get_turns(theirs)) == [REDACTED] * 4
        assert store.get_session(theirs).token == REDACTED
        assert store.get_summaries(ours) == ()
        with pytest.raises(SessionRedactedError):
            store.add_turn(theirs, role="user", content="on")
        assert store.verify()
