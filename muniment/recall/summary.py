"""
Turns in fewer words, and whether what matters is still in them.

Whoever makes a summary, a model or the plain extraction here, it is held against what
was said: most of the names and numbers must be in it, half of what was decided, promised
or forbidden, and no name, number or sentence that nobody said. A model that refuses,
rambles, or does what a turn told it to does not pass: what a turn orders a model to say
does not count as said.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from muniment.recall.naming import CAPITALS, NO_NAMES, kept_in, names_in, numbers_in
from muniment.recall.tokens import asked, terms


RETENTION_LEAST: Final = 0.8
"""So much of what matters has to be in a summary."""

DECISIONS_LEAST: Final = 0.5
"""So much of what was decided, promised or forbidden has to be in a summary."""

LENGTH_MOST: Final = 0.9
"""So long may the text of a model be, against what was said."""

LENGTH_LEAST: Final = 0.1
"""So long has it to be, up to a sentence: in two words nothing is told."""

_LENGTH_DUE: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """
    One turn, or one summary of turns, that is to be summarised.

    Attributes:
        entities: Names it was said to mention.
    """

    who: str
    text: str
    entities: tuple[str, ...] = ()


class Summarizer(Protocol):
    """
    Puts lines in fewer words. Safe to use from many threads.

    Attributes:
        name: Kept with each summary.
    """

    @property
    def name(self) -> str: ...

    def summarize(self, lines: Sequence[Line], must_keep: Sequence[str]) -> str:
        """
        Return *lines* in fewer words, with all of *must_keep* in them.

        Raises:
            SummarizerUnavailableError: If it cannot now, or answers nonsense.
        """


class Extractive:
    """Takes the sentences that say most, in their order, and lists what they leave out."""

    name = "extractive"

    def __init__(self, *, share: float = 0.3) -> None:
        self._share = share

    def summarize(self, lines: Sequence[Line], must_keep: Sequence[str]) -> str:
        """Return the telling sentences of *lines*, then what else must be kept."""
        sentences = [
            (line.who, sentence) for line in lines for sentence in _sentences(line.text)
        ]
        room = max(80, int(self._share * sum(len(text) for _, text in sentences)))
        ranked = sorted(
            range(len(sentences)),
            key=lambda at: (-_telling(sentences[at][1], must_keep), at),
        )
        taken: list[int] = []
        for at in ranked:
            if len(sentences[at][1]) <= room:
                taken.append(at)
                room -= len(sentences[at][1])
        said = [f"{sentences[at][0]}: {sentences[at][1]}" for at in sorted(taken)]
        text = " ".join(said)
        kept = kept_in(text, must_keep)
        missing = [each for each in must_keep if each not in kept]
        return f"{text} ({', '.join(missing)})" if missing else text


def essentials(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return the names and numbers of *lines* that a summary has to keep, each once."""
    found: dict[str, str] = {}
    for line in lines:
        for each in (*line.entities, *_QUOTED.findall(line.text), *names_in(line.text)):
            spelled = each.strip()
            if spelled:
                found.setdefault(spelled.casefold(), spelled)
        for value, number in numbers_in(line.text).items():
            found.setdefault(value, number)
    return tuple(found.values())


def retention(summary: str, must_keep: Sequence[str]) -> float:
    """Return the share of *must_keep* that is in *summary*; 1 where there is nothing."""
    if not must_keep:
        return 1.0
    return len(kept_in(summary, must_keep)) / len({*must_keep})


def problem_with(
    summary: str, lines: Sequence[Line], must_keep: Sequence[str]
) -> str | None:
    """Return in words why *summary* does not stand for *lines*, or ``None`` if it does."""
    said = "\n".join(f"{line.who}: {line.text}" for line in lines)
    if not terms(summary):
        return "it says nothing"
    if len(summary) > max(200, LENGTH_MOST * len(said)):
        return f"it has {len(summary):,} characters, what was said {len(said):,}"
    least = min(_LENGTH_DUE, int(LENGTH_LEAST * len(said)))
    if len(summary) < least:
        return f"it has {len(summary):,} characters, {least:,} are due"
    kept = retention(summary, must_keep)
    if kept < RETENTION_LEAST:
        return (
            f"it keeps {kept:.0%} of the names and numbers, {RETENTION_LEAST:.0%} are due"
        )
    left = decisions_kept(summary, lines)
    if left < DECISIONS_LEAST:
        return f"it keeps {left:.0%} of what was decided, {DECISIONS_LEAST:.0%} are due"
    known = numbers_in(said)
    invented = [each for value, each in numbers_in(summary).items() if value not in known]
    invented += sorted(_capitals(summary) - set(_WORDS.findall(said.casefold())))
    if invented:
        return f"nobody said {invented[0]}"
    return _unsaid(summary, lines)


def decisions_kept(summary: str, lines: Iterable[Line]) -> float:
    """Return the share of what was decided, promised or forbidden that is in *summary*."""
    decided = [
        set(asked(sentence))
        for line in lines
        for sentence in _sentences(line.text)
        if _DECISIVE.search(sentence)
    ]
    found = set(asked(summary))
    wanted = [each for each in decided if each]
    if not wanted:
        return 1.0
    kept = sum(len(each & found) >= _TOLD_LEAST * len(each) for each in wanted)
    return kept / len(wanted)


def _unsaid(summary: str, lines: Sequence[Line]) -> str | None:
    """Return in words which sentence of *summary* speaks of what nobody said, if one."""
    told = {
        term
        for line in lines
        # What stands after an order may be part of it.
        for term in (*terms(line.who), *terms(_ORDERS.split(line.text, maxsplit=1)[0]))
    }
    for sentence in _sentences(summary):
        wanted = [each for each in asked(sentence) if not each.isdecimal()]
        if sum(each in told for each in wanted) < _SAID_LEAST * len(wanted):
            return f"nobody said {sentence[:60]!r}"
    return None


def _capitals(text: str) -> set[str]:
    """Return the names in *text* that are written large, word by word."""
    found = (each.group() for each in CAPITALS.finditer(text))
    words = {word for name in found for word in _WORDS.findall(name.casefold())}
    return {each for each in words if each not in NO_NAMES}


def has_turned(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether *after* is about something else than *before*: they share hardly a term."""
    one = {term for text in before for term in asked(text) if not term.isdecimal()}
    other = {term for text in after for term in asked(text) if not term.isdecimal()}
    if len(one) < _TERMS_LEAST or len(other) < _TERMS_LEAST:
        return False
    return len(one & other) / min(len(one), len(other)) < _SHARED_LEAST


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _ENDS.split(text) if each.strip()]


def _telling(sentence: str, must_keep: Sequence[str]) -> float:
    kept = len(kept_in(sentence, must_keep))
    decided = 2 * len(_DECISIVE.findall(sentence))
    return (kept + decided) / (8 + len(terms(sentence))) - 0.05 * sentence.endswith("?")


_TOLD_LEAST: Final = 0.4
"""A decision is told by so many of its telling terms."""

_SAID_LEAST: Final = 0.5
"""Of the telling terms of a sentence so many were said, or it was made up."""

_TERMS_LEAST: Final = 5
_SHARED_LEAST: Final = 0.08
_ENDS: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f\uff1b])|[\r\n]+")
_QUOTED: Final = re.compile(r"[《“「『\"]([^》”」』\"\n]{2,40})[》”」』\"]")
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_ORDERS: Final = re.compile(
    r"(?<!n't )(?<!not )\b(?:ignore|disregard|forget)\s+"
    r"(?:all|any|every|what|the|your|previous|above)\b"
    r"|\b(?:answer|reply|respond|say)\s+(?:only|nothing but|just)\b|\bsystem prompt\b"
    r"|\bnew (?:orders|instructions)\b|\b(?:your|the|any|every) summar(?:y|ies)\b"
    r"|忽略(?:以上|之前|前面|上面|所有|一切)|只(?:回答|回复|输出|说)|系统提示"
    r"|(?:总结|摘要)[^。!?\n]{0,6}(?:写|说|回|是)",
    re.IGNORECASE,
)
"""What speaks to a model instead of to whoever is talked with."""

_DECISIVE: Final = re.compile(
    r"\b(?:decided?|agreed?|will|must|never|always|deadline|by (?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day|todo|promised?|need to|plan(?:s|ned)?|don't|can't|allergic)\b"
    r"|决定|同意|必须|一定|不能|不要|截止|计划|打算|需要|答应|过敏|记得",
    re.IGNORECASE,
)
