"""Whatever a search returns is believed there; what is believed is found by its words."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import MemoryStore
from muniment.api.found import SearchHits
from muniment.errors import MunimentError
from tests.searching import START, SteppingClock, open_at


TEXTS = ("green tea", "用户喝绿茶", "Grüner Tee 😀", "???", "tea, and green tea", "the")
USERS = ("u", "u2")
SCOPES = (("user:u",), ("user:u2",), ("user:u2", "user:u"))


class Asked(NamedTuple):
    """A search that was answered, to be asked again."""

    scopes: tuple[str, ...]
    query: str
    answer: SearchHits


steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["remember", "update", "correct", "end", "forget", "restore", "undo", "rebuild"]
        ),
        st.sampled_from(TEXTS),
        st.sampled_from(USERS),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=12,
)


def take(store: MemoryStore, step: tuple[str, str, str, int], fact_ids: list[str]) -> None:
    """Take one step; one that is refused changes nothing, which is checked, too."""
    verb, text, user, number = step
    chosen = fact_ids[number % len(fact_ids)] if fact_ids else "none"
    try:
        match verb:
            case "remember":
                fact_ids.append(store.remember(text, user_id=user).fact_id)
            case "update":
                store.update(chosen, content=text)
            case "correct":
                store.correct(chosen, content=text)
            case "end":
                store.end(chosen)
            case "forget":
                store.forget(chosen)
            case "restore":
                store.restore(chosen)
            case "undo":
                store.undo(number + 1)
            case _:
                store.rebuild()
    except MunimentError:
        return


def check(store: MemoryStore, user: str, at: datetime, embedder: str) -> None:
    """Hold every search as of *at* against the snapshot there."""
    believed = store.get_memory_as_of(user_id=user, timestamp=at).facts
    for query in (*TEXTS, "nothing of it"):
        hits = store.search(query, user_id=user, as_of=at, limit=100)
        found = [hit.fact for hit in hits]
        assert all(fact in believed for fact in found)
        assert len(found) == len(set(found))
        if embedder == "none" and query == "nothing of it":
            assert found == []
        both = store.search(query, user_id=user, as_of=at, limit=100, past=True)
        current = {hit.fact for hit in both if hit.standing == "current"}
        assert current == set(found)
        over = {hit.fact_id for hit in both if hit.standing != "current"}
        assert len(both) == len(current) + len(over)
        assert over.isdisjoint(fact.fact_id for fact in believed)
    for fact in believed:
        assert fact.content is not None
        hits = store.search(fact.content, user_id=user, as_of=at, limit=len(believed))
        same = [hit.fact for hit in hits if hit.fact.content == fact.content]
        assert fact in same
        assert hits[0].fact.content == fact.content
        (first, *_) = store.search(fact.fact_id, user_id=user, as_of=at, limit=1)
        assert first.fact.fact_id == fact.fact_id


@settings(deadline=None)  # opening a store makes keys and a vault on disk
@given(steps, st.sampled_from(["none", "hashing"]))
def test_a_search_returns_what_is_believed_there_and_finds_each_by_its_words(
    taken: list[tuple[str, str, str, int]], embedder: str
) -> None:
    clock = SteppingClock()
    moments = [START]
    asked: list[Asked] = []
    fact_ids: list[str] = []
    with open_at("memory://", clock=clock, embedder=embedder) as store:
        for step in taken:
            take(store, step, fact_ids)
            # Receipts of these questions, and the next step, are recorded at the very
            # time at which they are asked.
            moments.append(clock.forward(days=step[3] % 2))
            asked += [
                Asked(each, step[1], store.search(step[1], scopes=each, explain=True))
                for each in SCOPES
            ]
        for at in moments:
            for user in USERS:
                check(store, user, at, embedder)
        # What is kept in memory makes no difference, to the last bit of a score.
        for is_cold in (False, True):
            for scopes, query, answer in asked:
                if is_cold:
                    store._recall.documents.clear()
                again = store.search(
                    query,
                    scopes=scopes,
                    as_of=answer.known_at,
                    valid_at=answer.valid_at,
                    explain=True,
                )
                assert replace(again, recorded_at=answer.recorded_at) == answer
