"""What went wrong with search elsewhere, tried here; the numbers are of public reports."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Scope
from muniment.api.inputs import NAME_LENGTH_MAX
from muniment.errors import ConfigurationError, InvalidValueError
from tests.api.test_cases_scopes import HOSTILE, IDS
from tests.searching import START, SteppingClock, ask_the_engine, contents, open_at


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


def test_what_one_reader_does_to_an_answer_is_in_no_other(
    tmp_path: Path, clock: SteppingClock
) -> None:
    """What a search has read is kept for the next one, whoever asks it."""
    kept: dict[str, Any] = {"项目": ["甲"], "tags": {"deep": [{"n": 1}]}}
    with open_at(tmp_path / "store", clock=clock, embedder="hashing") as store:
        fact = store.remember("喝绿茶", user_id="u", metadata=kept)
        for _ in range(2):
            for found in (
                store.search("绿茶", user_id="u")[0].fact,
                store.build_context("绿茶", user_id="u", budget_tokens=500).facts[0],
                store.get(fact.fact_id),
                store.get_fact_history(fact.fact_id).versions[0],
            ):
                assert found.metadata == {"项目": ["甲"], "tags": {"deep": [{"n": 1}]}}
                own: Any = found.metadata
                own["项目"].append("乙")
                own["tags"]["deep"][0]["n"] = 2


# M5 (mem0#4463: one record, two time formats by read path), M11 (mem0#5160: an edit of the
# text loses custom keys), M23 (mem0#4530: old text here, new text there), B23 (immudb#1262:
# the revision differs between get and scan).
def test_a_fact_is_the_same_by_whatever_way_it_is_read(
    tmp_path: Path, clock: SteppingClock
) -> None:
    with open_at(tmp_path / "store", clock=clock, embedder="hashing") as store:
        first = store.remember("green tea", user_id="u", metadata={"colour": "绿", "n": 1})
        store.remember("black tea", user_id="u")
        clock.forward(days=1)
        fact = store.update(first.fact_id, content="oolong tea")
        clock.forward(days=1)
        store.catch_up()
        hits = store.search("oolong", user_id="u")
        ways = [
            hits[0].fact,
            store.search("oolong", user_id="u", as_of=hits.recorded_at)[0].fact,
            store.get(fact.fact_id),
            store.get(fact.fact_id, as_of=hits.recorded_at),
            *(each for each in store.get_all(user_id="u") if each.fact_id == fact.fact_id),
            *(
                each
                for each in store.get_memory_as_of(user_id="u", timestamp=hits.recorded_at)
                if each.fact_id == fact.fact_id
            ),
        ]
        said = store.get_fact_history(fact.fact_id).versions[-1]
        points = _points(store)

    assert ways == [fact] * 6
    assert fact.metadata == {"colour": "绿", "n": 1}
    assert (said.version, said.tx_id, said.position, said.content) == (
        fact.version,
        fact.tx_id,
        fact.position,
        "oolong tea",
    )
    # What held until the update, and what holds since.
    assert {each[1] for each in points if each[0] == fact.fact_id} == {1, 2}


# M13 (mem0#4195: a default dimension ignores the embedder), M69 (icm#440: a backup with
# other dimensions is fine, and cannot be used).
def test_dimensions_are_the_embedders_and_others_are_refused_at_the_start(
    tmp_path: Path,
) -> None:
    place = tmp_path / "store"
    with open_at(place, embedder="hashing") as store:
        store.remember("green tea", user_id="u")
        progress = store.catch_up()

    with pytest.raises(ConfigurationError) as refused:
        open_at(
            place,
            embedder="openai",
            embedding_base_url="http://127.0.0.1:1/v1",
            embedding_model="other",
            embedding_dimensions=768,
        )

    assert progress.generation is not None
    assert (progress.generation.model, progress.generation.dimensions) == (
        "hashing-256",
        256,
    )
    assert "hashing-256 (256 dimensions)" in str(refused.value)
    assert "other (768 dimensions)" in str(refused.value)
    assert "muniment reindex --embedder openai" in refused.value.remedy
    with open_at(place, embedder="hashing") as store:
        assert contents(store.search("tea", user_id="u")) == ["green tea"]


# M17 (mem0#4956: both employers are returned), M27 (graphiti#769: stale facts reach the
# prompt).
def test_of_two_employers_the_present_one_is_found_and_as_of_then_the_one_before(
    clock: SteppingClock,
) -> None:
    with open_at("memory://", clock=clock, embedder="hashing") as store:
        job = store.remember(
            "她在甲公司工作 works at Acme", user_id="u", attribute="employer"
        )
        clock.forward(days=1)
        before = clock.now
        clock.forward(days=1)
        store.update(job.fact_id, content="她在乙公司工作 works at Initech")

        now = contents(store.search("哪个公司 works at", user_id="u"))
        then = contents(store.search("哪个公司 works at", user_id="u", as_of=before))
        about = contents(store.search("works at", user_id="u", valid_at=before))

    assert now == ["她在乙公司工作 works at Initech"]
    assert then == about == ["她在甲公司工作 works at Acme"]


# M27 (graphiti#769, #1664: stale facts reach the prompt): what is over comes back only
# where it is asked for, and says so.
@pytest.mark.parametrize("place", ["memory", "directory"])
def test_what_is_over_is_found_only_where_it_is_asked_for_and_marked(
    place: str, tmp_path: Path, clock: SteppingClock
) -> None:
    target = "memory://" if place == "memory" else tmp_path / "store"
    with open_at(target, clock=clock, embedder="hashing", search_memory=1) as store:
        names = ("ended", "retired", "undone", "redacted", "restored", "current", "changed")
        facts = {
            name: store.remember(f"tea that is {name}", user_id="u").fact_id
            for name in names
        }
        store.remember(
            "tea that is expired", user_id="u", expires_at=START + timedelta(days=3)
        )
        store.remember(
            "tea that is to come", user_id="u", valid_from=START + timedelta(days=99)
        )
        store.remember("tea of another", user_id="v")
        before = clock.forward(days=1)
        clock.forward(days=1)
        store.update(facts["changed"], content="tea that is altered")
        store.end(facts["ended"])
        for name in ("retired", "restored"):
            store.forget(facts[name])
        store.rollback_fact(facts["undone"], to_version=0)
        store.forget(facts["redacted"], mode="redact", reason="asked")
        clock.forward(days=2)
        store.restore(facts["restored"])

        def found(**fields: Any) -> dict[str, str]:  # noqa: ANN401 - of any search
            hits = store.search("tea", user_id="u", limit=50, **fields)
            return {str(hit.fact.content)[12:]: hit.standing for hit in hits}

        current = dict.fromkeys(["restored", "current", "altered"], "current")
        over = {
            "ended": "ended",
            "expired": "expired",
            "retired": "retired",
            "undone": "retired",
        }
        assert found() == found(past=False) == current
        assert found(past=True) == current | over
        then = dict.fromkeys(
            ["ended", "retired", "undone", "restored", "current", "changed", "expired"],
            "current",
        )
        assert found(past=True, as_of=before) == found(as_of=before) == then
        with pytest.raises(InvalidValueError):
            found(past="yes")


# M39 (langgraphjs#2721: `acme` also returns what `acme-corp` has), S7 (langgraph
# CVE-2025-8709: filters are put into the query as they come).
@pytest.mark.parametrize("way", ["timeline", "engine"])
def test_a_hostile_name_is_a_name_and_no_pattern(way: str, tmp_path: Path) -> None:
    names = [name for name in (*IDS, *HOSTILE) if len(name) < NAME_LENGTH_MAX]
    with open_at(tmp_path / "store", embedder="hashing") as store:
        for name in IDS:
            store.remember("tea", user_id=name)
        facts = {
            name: store.remember(f"{n} teas", user_id="all", category=name, attribute=name)
            for n, name in enumerate(dict.fromkeys(names))
        }
        store.catch_up()
        if way == "engine":
            ask_the_engine(store)

        for name in IDS:
            (hit,) = store.search("tea", user_id=name, receipt=False)
            assert hit.fact.scope == Scope.user(name)
        for name, fact in facts.items():
            for field in ("category", "attribute"):
                narrow: Any = {field: name}
                (hit,) = store.search("tea", user_id="all", receipt=False, **narrow)
                assert hit.fact == fact
        for name in ("' OR 1=1 --", "%"):
            with pytest.raises(InvalidValueError, match="one of active, unverified"):
                store.search("tea", user_id="all", status=name)


# M49 (hindsight#3323: what is restored cannot be searched).
def test_what_is_loaded_elsewhere_again_is_found_as_in_its_source(tmp_path: Path) -> None:
    items = [
        {"content": f"{kind} tea {number}", "category": kind, "idempotency_key": kind}
        for number, kind in enumerate(("green", "black", "绿"))
    ]

    def answers(store: MemoryStore) -> list[list[tuple[str | None, float]]]:
        for item in items:
            store.remember(user_id="u", **item)  # type: ignore[arg-type]
        store.catch_up()
        # The three were recorded within a moment of each other, and fade alike.
        return [
            [(hit.fact.content, round(hit.score, 6)) for hit in found]
            for query in ("green", "tea", "绿")
            for found in [store.search(query, user_id="u")]
            if not found.unserved
        ]

    with (
        open_at(tmp_path / "a", clock=SteppingClock(), embedder="hashing") as source,
        open_at(tmp_path / "b", clock=SteppingClock(), embedder="hashing") as restored,
    ):
        expected, found = answers(source), answers(restored)
        assert restored.reconcile() == ()
        assert len(_points(restored)) == 3

    assert len(expected) == 3
    assert found == expected


# B51 (qdrant#5956: 4 of 200 deleted points survive an optimisation), B35.
def test_no_point_survives_that_was_deleted_whatever_the_engine_tidies_up(
    tmp_path: Path,
) -> None:
    with open_at(tmp_path / "store", embedder="hashing") as store:
        facts = store.remember_many([f"tea {n}" for n in range(200)], user_id="u")
        store.catch_up()
        for fact_id in facts.fact_ids[:20]:
            store.correct(fact_id, content="coffee")
        store.catch_up()
        before = len(_points(store))
        store.rollback_to_timestamp(user_id="u", rollback_to="2020-01-01T00:00:00Z")
        store.catch_up()
        current = store._recall.upkeep.current()
        assert current is not None
        current[1].optimize()

        left = _points(store)
        hits = store.search("tea coffee", user_id="u")
        reindexed = store.reindex()

        assert before == 200
        assert left == _points(store) == []
        assert hits.items == ()
        assert reindexed.reached == reindexed.head


# S17 (graphiti#632: a filter by group is honoured for some kinds of hit alone).
def test_a_scope_bounds_every_leg_and_every_as_of(clock: SteppingClock) -> None:
    with open_at("memory://", clock=clock, embedder="hashing") as store:
        scopes = [Scope.user("a"), Scope.user("ab"), Scope.team("a"), Scope.org()]
        facts = {
            scope: store.remember("Ada drinks tea", scope=scope, entities=["Ada"])
            for scope in scopes
        }
        clock.forward(days=1)
        then = clock.now

        for scope in scopes:
            others = [fact.fact_id for other, fact in facts.items() if other != scope]
            for query in ("Ada", "drinks tea", "Ada drinks tea", *others):
                for as_of in (None, then):
                    hits = store.search(query, scope=scope, as_of=as_of, explain=True)
                    assert {hit.fact.scope for hit in hits} <= {scope}
                    assert {hit.fact_id for hit in hits} <= {facts[scope].fact_id}


def _points(store: MemoryStore) -> list[tuple[str, int]]:
    """Return the fact and version of each point of the index."""
    current = store._recall.upkeep.current()
    assert current is not None, "this process has the engine"
    held, _ = current[1].scroll(after=None, limit=1_000)
    return [(each.fact_id, each.version) for each in held]
