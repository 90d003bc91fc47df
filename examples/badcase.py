# ruff: noqa: INP001, T201 - a script that prints what it finds
"""
An agent answers, its memory changes, and every answer is reproduced from its receipt.

Run it with nothing else: ``python examples/badcase.py``. It keeps its store in memory.
Given a file of LoCoMo, ``… badcase.py locomo4.json``, it holds a real conversation.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from muniment import Badcase, MemorySnapshot, MemoryStore, Turn


USER = "u-1"
QUESTIONS_MAX = 25
CONVERSATION = [
    ("user", "I moved to Kiel last week, the flat has a view of the harbour."),
    ("assistant", "Congratulations on the flat!"),
    ("user", "我的猫叫豆包,它不喜欢搬家。"),
    ("user", "My deadline for the Falcon report is 12 May."),
]
QUESTIONS = ["Where did I move?", "我的猫叫什么?", "When is the Falcon deadline?"]


def answer(
    *, memory: MemorySnapshot, convo: Sequence[Turn], config: Mapping[str, object]
) -> str:
    """Answer the last question by the memory that shares most characters with it."""
    asked = _pairs(convo[-1].content or "")
    best = max(memory, key=lambda fact: (_shared(asked, fact.content), fact.fact_id))
    return f"{config['greeting']} {best.content}"


def main() -> None:
    """Tell the story."""
    turns, questions = CONVERSATION, QUESTIONS
    if len(sys.argv) > 1:
        turns, questions = _locomo(Path(sys.argv[1]))
    with MemoryStore.open("memory://") as store:
        store.record_config("greeting", "I remember:")
        _remember(store, turns)
        said = _converse(store, questions)
        print(f"{len(said)} answers, {len(store.get_receipts(user_id=USER))} receipts")
        _change(store)
        cases = [
            store.reproduce_badcase(user_id=USER, timestamp=each.asked_at, agent=answer)
            for each in store.get_receipts(user_id=USER)
        ]
        same = [case.result == then for case, then in zip(cases, said, strict=True)]
        print(f"{sum(same)} of {len(same)} reproduced, byte for byte")
        print("all as they were said:", all(case.is_reproduced for case in cases))
        _show_first(store, cases[0])


def _remember(store: MemoryStore, turns: Sequence[tuple[str, str]]) -> None:
    """Keep a conversation, and one fact of each thing the user says in it."""
    session_id = store.start_session(user_id=USER).session_id
    kept = store.add_turns(
        session_id, turns=[{"role": role, "content": text} for role, text in turns]
    )
    for turn in kept:
        if turn.role == "user":
            store.remember(
                turn.content or "",
                user_id=USER,
                session_id=session_id,
                source_turns=[turn.turn_id],
            )
    store.end_session(session_id)


def _converse(store: MemoryStore, questions: Sequence[str]) -> list[str]:
    """Let the agent answer; each answer rests on one recall, which leaves a receipt."""
    session_id = store.start_session(user_id=USER, agent="quoting").session_id
    said = []
    for question in questions:
        store.add_turn(session_id, role="user", content=question)
        recall = store.search(question, user_id=USER, session_id=session_id)
        had = store.reproduce_badcase(
            user_id=USER, timestamp=recall.recorded_at, agent=answer
        )
        store.add_turn(session_id, role="assistant", content=had.result)
        said.append(had.result)
    return said


def _change(store: MemoryStore) -> None:
    """Change all that the answers rested on."""
    for fact in store.get_all(user_id=USER, limit=1_000):
        store.correct(fact.fact_id, content=f"not so: {fact.content}")
    store.record_config("greeting", "Well,")


def _show_first(store: MemoryStore, case: Badcase) -> None:
    now = store.get_all(user_id=USER).recorded_at
    today = store.reproduce_badcase(user_id=USER, timestamp=now, agent=answer)
    print("then:", case.result)
    print("today it begins:", today.result[:5])


def _locomo(file: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the turns of a conversation of LoCoMo, and questions about it."""
    case = json.loads(file.read_text(encoding="utf-8"))[0]
    sessions = case["conversation"]
    user = sessions["speaker_a"]
    turns = [
        ("user" if turn["speaker"] == user else "assistant", turn["text"])
        for name, session in sorted(sessions.items())
        if name.startswith("session_") and isinstance(session, list)
        for turn in session
    ]
    return turns, [each["question"] for each in case["qa"][:QUESTIONS_MAX]]


def _pairs(text: str) -> set[str]:
    folded = text.casefold()
    return {folded[at : at + 2] for at in range(len(folded) - 1)}


def _shared(asked: set[str], text: str | None) -> int:
    return len(asked & _pairs(text or ""))


if __name__ == "__main__":
    main()
