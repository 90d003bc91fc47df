"""A model of an embedding server that was in use before, asked as of its time."""

from pathlib import Path
from typing import Any

from muniment import MemoryStore
from tests import embedding_server
from tests.embedding_server import EmbeddingServer
from tests.searching import SteppingClock, asked_again, contents, open_at


def open_with_model(
    place: Path,
    server: EmbeddingServer,
    model: str,
    **fields: Any,  # noqa: ANN401 - of any setting
) -> MemoryStore:
    return open_at(
        place,
        **{
            "embedder": "openai",
            "embedding_base_url": server.url,
            "embedding_model": model,
            "embedding_dimensions": 3,
            "embedding_retries": 0,
            **fields,
        },
    )


def test_a_model_of_before_is_asked_under_its_name_at_the_server_of_now(
    tmp_path: Path,
) -> None:
    place, clock = tmp_path / "store", SteppingClock()
    with embedding_server.running() as server:
        with open_with_model(place, server, "toy-1", clock=clock) as store:
            store.remember_many(["green tea", "用户写 Python", "water"], user_id="u")
            clock.forward(days=1)
            then = store.search("what to drink", user_id="u", explain=True)
            clock.forward(days=1)
        with open_with_model(place, server, "toy-2", clock=clock, embedder="auto") as store:
            changed = store.reindex(embedder="openai")
            clock.forward(days=1)
        with open_with_model(place, server, "toy-2", clock=clock) as store:
            now = store.search("what to drink", user_id="u")
            asked = len(server.requests)
            again = asked_again(store, "what to drink", then, explain=True)
            models = {each["model"] for each in server.requests[asked:]}
            server.behaviour = embedding_server.forbidden
            without = store.search("tea", user_id="u", as_of=then.recorded_at)
        with open_at(place, clock=clock, embedder="none") as store:
            alone = store.search("tea", user_id="u", as_of=then.recorded_at)

    assert changed.generation is not None
    assert changed.generation.model == now.model == "toy-2"
    assert again == then
    assert models == {"toy-1"}
    assert contents(without) == contents(alone) == ["green tea"]
    why = without.unserved["meaning"]
    assert why.startswith("the model of then, toy-1, does not answer: ")
    assert alone.unserved["meaning"] == "the model of then, toy-1, is not configured"
