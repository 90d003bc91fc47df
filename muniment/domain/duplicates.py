"""
Which facts say the same as another, so that one of them is enough. Pure.

Words are compared as they are written, but for width, case, blanks and punctuation at
the ends. Embeddings tell little of what a single word changes: *Beijing* is nearly
*Shanghai* to them. So what they find alike has to agree in numbers, times, negations,
names and order, too, and to be short.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muniment.domain.events import Traits
from muniment.domain.text import Json
from muniment.domain.time import FOREVER, Instant, Period


LEAST_ALIKE: Final = 0.95
"""Below this, what an embedder takes for alike are different things as often as not."""

WORDS_MAX: Final = 32
"""A longer text is hardly moved by a word that changes all of its meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """
    A fact that may say the same as another of its subject.

    Attributes:
        text: What it says.
        traits: Of its one belief, which holds now …
        valid: … in this period.
        entities: Names it mentions.
        metadata: The caller's own fields.
        said_at: When it was recorded.
        apart: Facts that it was merged into and taken out of again.
    """

    fact_id: str
    text: str
    traits: Traits
    valid: Period
    entities: frozenset[str]
    metadata: Mapping[str, Json]
    said_at: Instant
    apart: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """That *goes* is to be retired, since *survivor* says all of it."""

    goes: str
    survivor: str


def merges(
    facts: Sequence[Remembered], near: Iterable[tuple[str, str]]
) -> tuple[Merge, ...]:
    """
    Return which of *facts* are to be merged into which others.

    What goes is merged into what holds at least as long, is at least as sure, as
    important and as lasting, and has its metadata: nothing that could be answered before
    is lost. What stays is merged into nothing, so there are no chains.

    Args:
        facts: Of one subject, in any order; none that is core, a copy, or bound by a hold.
        near: Pairs of them whose embeddings are as alike as is asked for, in any order.

    Returns:
        In the order of what goes; none for facts that were merged once and are apart
        again.
    """
    alike: dict[str, set[str]] = defaultdict(set)
    for one, other in near:
        alike[one].add(other)
        alike[other].add(one)
    staying: dict[str, _Read] = {}
    saying: dict[tuple[object, ...], list[str]] = defaultdict(list)
    found = []
    for fact in sorted(facts, key=_rank):
        read = _Read.of(fact)
        said = *read.words, _kind(fact)
        same = (staying[each] for each in saying[said])
        meant = (staying[e] for e in alike[fact.fact_id] if e in staying)
        candidates = (
            *(each for each in same if _stands_for(each.fact, fact)),
            *sorted(
                (e for e in meant if _stands_for(e.fact, fact) and _means(e, read)),
                key=lambda each: _rank(each.fact),
            ),
        )
        if candidates:
            survivor = candidates[0].fact.fact_id
            found.append(Merge(goes=fact.fact_id, survivor=survivor))
        else:
            staying[fact.fact_id] = read
            saying[said].append(fact.fact_id)
    return tuple(sorted(found, key=lambda each: each.goes))


def words(text: str) -> tuple[str, ...]:
    """
    Return *text* as it is compared: width, case, blanks and marks at the ends left out.

    Each Han or kana character is a word. A mark within a text stands for itself, since
    *no, likes tea* is not *no likes tea*; so does one within a word, as in 1.5 or C++,
    and a question mark anywhere.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    found = [_mark(each) for each in _WORD.findall(folded)]
    while found and found[-1] == _PAUSE:
        found.pop()
    start = next((at for at, each in enumerate(found) if each != _PAUSE), len(found))
    return tuple(found[start:])


@dataclass(frozen=True, slots=True)
class _Read:
    """A fact with what its text is compared by."""

    fact: Remembered
    words: tuple[str, ...]
    telling: tuple[str, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, fact: Remembered) -> "_Read":
        found = words(fact.text)
        return cls(fact, found, tuple(_telling(found)), _names(fact.text))


def _rank(fact: Remembered) -> tuple[int, int, float, float, int, str]:
    """Return by what facts are ordered, so that who can stand for others comes first."""
    traits, valid = fact.traits, fact.valid
    sure = -traits.confidence, -traits.importance
    return valid.start, -valid.end, *sure, fact.said_at, fact.fact_id


def _stands_for(stays: Remembered, goes: Remembered) -> bool:
    """Whether *stays* is in every answer that *goes* could be in, but for what it says."""
    one, two = stays.traits, goes.traits
    ends = FOREVER if one.expires_at is None else one.expires_at
    return (
        _kind(stays) == _kind(goes)
        and stays.metadata == goes.metadata
        and stays.valid.covers(goes.valid)
        and one.confidence >= two.confidence
        and one.importance >= two.importance
        and ends >= (FOREVER if two.expires_at is None else two.expires_at)
        and goes.entities <= stays.entities
        and goes.fact_id not in stays.apart
        and stays.fact_id not in goes.apart
    )


def _kind(fact: Remembered) -> tuple[str | None, str | None, str]:
    return fact.traits.category, fact.traits.attribute, fact.traits.status


def _means(one: _Read, other: _Read) -> bool:
    """Whether what is alike to an embedder differs in nothing that is known to matter."""
    return (
        max(len(one.words), len(other.words)) <= WORDS_MAX
        and one.telling == other.telling
        and one.names == other.names
        and one.fact.entities == other.fact.entities
        # Who owes whom: the same words in another order.
        and Counter(one.words) != Counter(other.words)
    )


def _telling(found: Sequence[str]) -> Iterator[str]:
    """Yield the words that must not differ, a negation with what it negates."""
    for at, word in enumerate(found):
        if word in _NEGATIONS or word.endswith(("n't", "n\u2019t")):
            yield f"{word} {found[at + 1] if at + 1 < len(found) else ''}"
        elif word in _TELLING or any(map(str.isnumeric, word)) or word == _QUESTION:
            yield word


def _names(text: str) -> frozenset[str]:
    """Return the words of Latin and other cased scripts that are names, as far as seen."""
    plain = unicodedata.normalize("NFKC", text)
    is_foreign = _SINGLE.search(plain) is not None
    found = [each for each in _WORD.findall(plain) if any(map(str.isalpha, each))]
    # Between Han characters a Latin word is a name; a sentence begins with a capital.
    named = found if is_foreign else found[1:]
    return frozenset(
        each.casefold()
        for each in named
        if not _SINGLE.match(each) and (is_foreign or each != each.lower())
    )


def _mark(word: str) -> str:
    if word[0] not in _MARKS:
        return word
    return _QUESTION if "?" in word else _PAUSE


_PAUSE: Final = ","
_QUESTION: Final = "?"
_MARKS: Final = ".,;:!?\"'()[]{}、。「」『』《》〈〉【】“”\u2018\u2019—\u2013·•~"
_HAN_AND_KANA: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_SINGLE: Final = re.compile(f"[{_HAN_AND_KANA}]")
_INNER: Final = rf"[^\s{re.escape(_MARKS)}{_HAN_AND_KANA}]"
_WORD: Final = re.compile(
    rf"[{_HAN_AND_KANA}]|{_INNER}+(?:[{re.escape(_MARKS)}]{_INNER}+)*"
    rf"|[{re.escape(_MARKS)}]+"
)

_NEGATING: Final = """
not no never none nothing nobody neither nor without cannot hardly rarely refuses
不 没 無 无 未 别 勿 非 否 莫 甭 弗 免
"""
_TIMES: Final = """
monday tuesday wednesday thursday friday saturday sunday january february march april may
june july august september october november december today tomorrow yesterday morning noon
afternoon evening night am pm daily weekly monthly yearly before after until since past next
last former formerly used ex once
年 月 日 号 周 星 期 今 明 昨 早 晚 午 前 后 後 曾 已 将 每
"""
_AMOUNTS: Final = """
one two three four five six seven eight nine ten eleven twelve dozen hundred thousand
million half first second third twice more less most least only always sometimes often
两 兩 半 双 多 少 只 都 常 偶
"""
_OPPOSITES: Final = """
left right up down in out off black white light dark hot cold big small old new yes true
false hate hates dislike dislikes allergic quit stopped started if unless maybe might should
must can his her he she my your their
左 右 上 下 大 小 冷 热 熱 黑 白 红 紅 绿 綠 男 女 东 東 南 西 北 恨 讨 討 厌 厭 戒 停 止 退
如 若 可 应 應 必 会 會 能 我 你 他 她 它 们
"""
_NEGATIONS: Final = frozenset(_NEGATING.split())
_TELLING: Final = frozenset((_TIMES + _AMOUNTS + _OPPOSITES).split())
