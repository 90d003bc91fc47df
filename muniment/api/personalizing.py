"""
A retrieval pipeline of yours, made personal at three points; each can be left out.

The question is widened, by no more than half its length and only by what is relevant to
it; results are weighted by structured facts, with two of every five where they were; and
the prompt gets a section of memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from muniment.api import inputs
from muniment.api.store import MemoryStore
from muniment.domain.scope import Scope
from muniment.recall.tokens import asked, terms


T = TypeVar("T")

WINDOW: Final = 5
FLOOR: Final = 2
"""Of every five results so many stand there without any weighting."""

_FOUND_MAX: Final = 5
_BOOST_MOST: Final = 0.5
"""A result that fits a fact fully counts so much more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Personalizer:
    """
    Makes retrieval personal for one memory.

    Attributes:
        store: Where it is.
        scope: Whose memory.
        relevance_least: Share of the question's telling words that a fact has to share
            before the question is widened by it; 0 to 1.
        expands, boosts, has_section: Whether each of the three is done.
    """

    store: MemoryStore
    scope: Scope
    relevance_least: float = 0.3
    expands: bool = True
    boosts: bool = True
    has_section: bool = True

    def expanded(self, query: str) -> str:
        """Return *query* with words of what is remembered and relevant to it."""
        wanted = set(asked(query))
        if not self.expands or not wanted:
            return query
        room = len(query) // 2
        added: list[str] = []
        for hit in self.store.search(query, scope=self.scope, limit=_FOUND_MAX):
            said = asked(hit.fact.content or "")
            if len(wanted & set(said)) / len(wanted) < self.relevance_least:
                continue
            for word in dict.fromkeys(said):
                if word not in wanted and len(word) + 1 <= room:
                    added.append(word)
                    wanted.add(word)
                    room -= len(word) + 1
        return " ".join([query, *added])

    def weights(self) -> Mapping[str, float]:
        """
        Return the words of the structured facts, each with how sure the fact is.

        All words of a fact with an attribute; of any other those of its entities.
        """
        found: dict[str, float] = {}
        cursor = None
        while self.boosts:
            page = self.store.get_all(scope=self.scope, limit=1_000, cursor=cursor)
            for fact in page:
                structured = [fact.content or ""] if fact.attribute else fact.entities
                for word in (word for text in structured for word in asked(text)):
                    found[word] = max(found.get(word, 0.0), fact.confidence)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    def ranked(self, results: Sequence[tuple[T, str, float]]) -> list[T]:
        """
        Return results in a personal order.

        Args:
            results: Each with its text and its score, best first; scores are 0 or more.

        Returns:
            All of them. Of every five in a row at least two are the best that are left
            of the order as it was.
        """
        plain = list(range(len(results)))
        weights = self.weights()
        if not weights:
            return [results[at][0] for at in plain]
        personal = sorted(
            plain, key=lambda at: (-_boosted(results[at][1], results[at][2], weights), at)
        )
        ordered: list[int] = []
        while plain:
            window = personal[: WINDOW - FLOOR]
            left = [at for at in plain if at not in window]
            window += left[:FLOOR]
            ordered += window
            plain = [at for at in plain if at not in window]
            personal = [at for at in personal if at not in window]
        return [results[at][0] for at in ordered]

    def section(
        self,
        query: str,
        *,
        budget_tokens: int = 400,
        language: Literal["en", "zh"] = "en",
    ) -> str:
        """Return what a prompt should know of the user, written as data; may be empty."""
        if not self.has_section:
            return ""
        inputs.count("budget_tokens", budget_tokens, least=1, most=1_000_000)
        context = self.store.build_context(
            query,
            scope=self.scope,
            budget_tokens=budget_tokens,
            recent_turns=0,
            language=language,
        )
        return context.text


def _boosted(text: str, score: float, weights: Mapping[str, float]) -> float:
    words = set(terms(text))
    fit = max((weights[word] for word in words if word in weights), default=0.0)
    return score * (1 + _BOOST_MOST * fit)
