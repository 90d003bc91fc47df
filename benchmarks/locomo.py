"""
How well search finds what answers a question, on real conversations.

    python benchmarks/locomo.py                     LoCoMo, and the Chinese MADial set
    python benchmarks/locomo.py --json FILE         the figures as a file, too

Both sets are halved: what is chosen while looking at the first half is to be judged by
the second (see `Conversation`).

Retrieval only: every turn of a conversation is remembered as it was said, nothing is
extracted, no language model reads anything. Beside the whole search, in the same run on
the same store, stand BM25 alone and the embedder alone. The conversations are data of
others and stay where they are.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final


if not __package__:  # run as a file, so that only the folder of this file is searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import shared_data
from muniment import MemoryStore, Settings
from muniment.recall import ranking
from muniment.recall.tokens import asked, terms


_DEPTHS: Final = (5, 10, 20)
_LOOKED_AT: Final = 100
ADVERSARIAL: Final = "adversarial"
ANSWERED: Final = "all but adversarial"
_KINDS: Final = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: ADVERSARIAL,
}
_TURN_ID: Final = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is remembered: a turn of a conversation, or a memory as the set words it."""

    name: str
    text: str
    said_at: datetime
    entities: tuple[str, ...]
    is_turn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, and the names of what answers it."""

    kind: str
    text: str
    recent: tuple[str, ...]
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """
    One memory to search: what is in it, in batches, and what is asked of it.

    Attributes:
        half: Of the set, 1 or 2: in LoCoMo by conversation, in MADial by dialogue.
    """

    name: str
    batches: Sequence[Sequence[Turn]]
    questions: Sequence[Asked]
    half: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one contender found for one question, best first."""

    contender: str
    kind: str
    wanted: frozenset[str]
    found: Sequence[str]
    half: int


def main() -> None:
    """Measure, and print a table for each set."""
    parser = argparse.ArgumentParser(description="Measure retrieval.")
    parser.add_argument("--embedder", default="local", help="as MUNIMENT_EMBEDDER")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--only", choices=["locomo", "madial"], help="one set alone")
    chosen = parser.parse_args()
    figures = {}
    for name, read in (("locomo", locomo), ("madial", madial)):
        if chosen.only in (None, name):
            outcomes = [
                outcome
                for conversation in read()
                for outcome in measured(conversation, chosen.embedder)
            ]
            figures[name] = table(outcomes)
            for half in (1, 2):
                of_half = [each for each in outcomes if each.half == half]
                figures[f"{name}, half {half}"] = table(of_half)
    for name, found in figures.items():
        sys.stdout.write(shown(name, found))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def locomo() -> Iterator[Conversation]:
    """Yield the conversations of LoCoMo: every turn a memory, by session."""
    text = shared_data.LOCOMO.read_text(encoding="utf-8")
    for number, sample in enumerate(json.loads(text)):
        spoken = sample["conversation"]
        batches = [
            [_turn(turn, _said_at(spoken[f"{session}_date_time"])) for turn in turns]
            for session, turns in spoken.items()
            if re.fullmatch(r"session_\d+", session)
        ]
        names = {turn.name for batch in batches for turn in batch}
        questions = [
            Asked(
                kind=_KINDS[question["category"]],
                text=question["question"],
                recent=(),
                wanted=wanted,
            )
            for question in sample["qa"]
            if (wanted := _evidence(question) & names)
        ]
        yield Conversation(
            name=sample["sample_id"],
            batches=batches,
            questions=questions,
            half=1 + number // 2,
        )


def madial() -> Iterator[Conversation]:
    """Yield the Chinese memories of MADial, and the dialogues that ought to recall some."""
    folder = shared_data.MADIAL
    memories = [next(iter(row.values())) for row in _lines(folder / "zh-memory.jsonl")]
    dialogues = list(_lines(folder / "zh-dialogue-a.jsonl"))
    for user in sorted({each["user-id"] for each in memories}):
        theirs = [
            Turn(
                name=str(each["id"]),
                text=each["event"],
                said_at=datetime.fromisoformat(each["time"]).replace(tzinfo=UTC),
                entities=(),
                is_turn=False,
            )
            for each in memories
            if each["user-id"] == user
        ]
        questions = [_recalled(each) for each in dialogues if each["user-id"] == user]
        for half in (1, 2):
            yield Conversation(
                name=f"user-{user}",
                batches=[theirs],
                questions=questions[half - 1 :: 2],
                half=half,
            )


def measured(conversation: Conversation, embedder: str) -> Iterator[Outcome]:
    """Yield what each contender finds for each question of *conversation*."""
    turns = [turn for batch in conversation.batches for turn in batch]
    counts = [dict.fromkeys(terms(turn.text), 0) for turn in turns]
    for turn, count in zip(turns, counts, strict=True):
        for term in terms(turn.text):
            count[term] += 1
    index = ranking.TermIndex(counts, [sum(count.values()) for count in counts])
    settings = Settings.model_validate({"database_url": "memory://", "embedder": embedder})
    with MemoryStore.open(settings) as store:
        for batch in conversation.batches:
            items = [_item(turn) for turn in batch]
            store.remember_many(items, user_id=conversation.name)
        store.catch_up()
        for question in conversation.questions:
            words = asked("\n".join((*question.recent, question.text)))
            scores = index.bm25(words, weights={})
            ranks = ranking.ranks(scores, depth=_LOOKED_AT)
            lexical = [turns[place].name for place in ranks]
            hits = store.search(
                question.text,
                user_id=conversation.name,
                limit=_LOOKED_AT,
                recent_turns=question.recent,
                explain=True,
            )
            names = [hit.fact.source_turns or hit.fact.metadata["name"] for hit in hits]
            found = [name[0] if isinstance(name, tuple) else str(name) for name in names]
            near = sorted(
                (hit.legs["meaning"].rank, name)
                for hit, name in zip(hits, found, strict=True)
                if "meaning" in hit.legs
            )
            contenders = {
                "BM25": lexical,
                "embedder": [name for _, name in near],
                "search": found,
            }
            for contender, names_found in contenders.items():
                yield Outcome(
                    contender=contender,
                    kind=question.kind,
                    wanted=question.wanted,
                    found=names_found,
                    half=conversation.half,
                )


def table(outcomes: Iterable[Outcome]) -> dict[str, dict[str, dict[str, float]]]:
    """Return by contender and kind of question the recall at each depth and the MRR."""
    grouped: dict[tuple[str, str], list[Outcome]] = {}
    for each in outcomes:
        grouped.setdefault((each.contender, each.kind), []).append(each)
        if each.kind != ADVERSARIAL:
            grouped.setdefault((each.contender, ANSWERED), []).append(each)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (contender, kind), same in grouped.items():
        found.setdefault(contender, {})[kind] = _figures(same)
    return found


def shown(name: str, figures: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the table of one set as text."""
    lines = [f"\n{name:34}{'n':>6}{'R@5':>8}{'R@10':>8}{'R@20':>8}{'MRR':>8}"]
    for contender, kinds in figures.items():
        for kind, row in sorted(kinds.items()):
            cells = "".join(f"{row[f'R@{depth}']:8.3f}" for depth in _DEPTHS)
            lines.append(
                f"{contender:10}{kind:24}{int(row['n']):6}{cells}{row['MRR']:8.3f}"
            )
    return "\n".join(lines) + "\n"


def _figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    count = len(outcomes)
    figures: dict[str, float] = {"n": count}
    for depth in _DEPTHS:
        shares = [
            len(each.wanted.intersection(each.found[:depth])) / len(each.wanted)
            for each in outcomes
        ]
        figures[f"R@{depth}"] = round(sum(shares) / count, 4)
    firsts = [
        next((1 / at for at, name in enumerate(each.found, 1) if name in each.wanted), 0)
        for each in outcomes
    ]
    figures["MRR"] = round(sum(firsts) / count, 4)
    return figures


def _item(turn: Turn) -> dict[str, Any]:
    item: dict[str, Any] = {
        "content": turn.text,
        "valid_from": turn.said_at,
        "entities": turn.entities,
        "metadata": {"name": turn.name},
        # What is worded alike twice is two memories.
        "attribute": turn.name,
    }
    if turn.is_turn:
        item["source_turns"] = (turn.name,)
    return item


def _turn(turn: dict[str, str], said_at: datetime) -> Turn:
    picture = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return Turn(
        name=turn["dia_id"],
        text=f"{turn['speaker']}: {turn['text']}{picture}",
        said_at=said_at,
        entities=(turn["speaker"],),
        is_turn=True,
    )


def _said_at(text: str) -> datetime:
    """Return the time of a session, such as ``1:56 pm on 8 May, 2023``."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _evidence(question: dict[str, Any]) -> frozenset[str]:
    named = " ".join(question["evidence"])
    return frozenset(_TURN_ID.findall(named))


def _recalled(dialogue: dict[str, Any]) -> Asked:
    """Return what was said up to the turn that ought to recall a memory."""
    before = dialogue["dialogue"][1 : dialogue["test-turn"][0]]
    spoken = [re.sub(r'^<[^>]*>:"?|"?\s*$', "", each) for each in before]
    return Asked(
        kind="recall",
        text=spoken[-1],
        recent=tuple(spoken[:-1]),
        wanted=frozenset(str(each) for each in dialogue["relevant-id"]),
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


if __name__ == "__main__":
    main()
