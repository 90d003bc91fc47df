"""How often a fact was of use, wherever the ledger is."""

import pytest

from muniment import MemoryStore
from muniment.api.receipting import Handed, search_receipt
from muniment.projections.conversation import USES_MAX
from muniment.recall.factors import FACTORS
from tests.searching import SteppingClock, contents
from tests.stores import Backend


def test_what_is_said_again_counts_as_of_any_moment(backend: Backend) -> None:
    clock = SteppingClock()
    with backend.open(clock=clock, embedder="none", upkeep=False) as store:
        once = store.remember("green tea", user_id="u")
        often = store.remember("black tea", user_id="u")
        of_another = store.remember("black tea", user_id="v")
        moments = [of_another.position]
        for number in range(3):
            clock.forward(days=1)
            again = store.remember("black tea", user_id="u", source=f"chat-{number}")
            assert again.fact_id == often.fact_id
            then = store.search("tea", user_id="u", explain=True, receipt=False)
            moments.append(then.position)
            assert (
                store.search("tea", user_id="u", as_of=then.recorded_at, explain=True)
                == then
            )

        counts = [_uses(store, at, once.fact_id, often.fact_id) for at in moments]
        hits = store.search("tea", user_id="u", explain=True, receipt=False)

        assert counts == [{}, *({often.fact_id: number} for number in (1, 2, 3))]
        assert contents(hits) == ["black tea", "green tea"]
        assert hits[0].factors["use"] == pytest.approx(0.1 * 3 / 7)
        assert hits[1].factors["use"] == 0
        assert tuple(hits[0].factors) == FACTORS
        assert _uses(store, moments[-1], of_another.fact_id, user="v") == {}


def test_what_is_given_every_day_is_not_counted_through(backend: Backend) -> None:
    with backend.open(embedder="none", upkeep=False) as store:
        tea = store.remember("green tea", user_id="u")
        hits = store.search("tea", user_id="u", receipt=False)
        left = search_receipt("tea", hits, [tea.scope], {})
        subject = store._ledger.vault.find(tea.scope)
        assert subject is not None

        for _ in range(USES_MAX + 20):
            store._receipts.leave(Handed(subject_ref=subject.ref, left=left))
        store._receipts.flush()

        after = store.search("tea", user_id="u", receipt=False).position
        assert after == tea.position + USES_MAX + 20
        assert _uses(store, tea.position + 7, tea.fact_id) == {tea.fact_id: 7}
        assert _uses(store, after, tea.fact_id) == {tea.fact_id: USES_MAX}
        assert len(store.get_uses(tea.fact_id)) == USES_MAX + 20


def _uses(store: MemoryStore, at: int, *fact_ids: str, user: str = "u") -> dict[str, int]:
    (subject,) = (
        each for each in store._ledger.vault.subjects() if each.scope.name == user
    )
    uses = store._recall.searcher._factors._uses
    return dict(uses.uses(subject.ref, fact_ids, position=at))
