"""
Faults of other systems, on archives, exports and restores, tried on this one.

The numbers are those by which the project lists them; a name says what went wrong there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import ErasureStatus, MemoryStore, Principal
from muniment.api.found import SearchHits
from muniment.archive.archiver import Archiver
from muniment.archive.container import contents
from muniment.archive.evidence_check import check
from muniment.archive.shelf import shelf_at
from muniment.domain.access import Role
from muniment.domain.time import FOREVER
from muniment.settings import Settings
from tests.archive.told import Told, instant, lose_ledger, told
from tests.forgetting.traces import traces
from tests.stores import NEW_YEAR, SECOND, SQLITE, SettableClock, backend_at


OFFICER = Principal(id="officer-1", roles=(Role.COMPLIANCE_OFFICER,))


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Told]:
    """A store in a directory that was told much."""
    found = told(backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None))
    yield found
    found.store.close()


def without_model(place: Path, *, upkeep: bool = True) -> Settings:
    """Return a store in a directory that embeds without a model."""
    url = f"sqlite:///{place}/ledger.db"
    return Settings(database_url=url, embedder="hashing", upkeep=upkeep)


def found_by(hits: SearchHits) -> list[tuple[str | None, dict[str, tuple[int, float]]]]:
    """Return each content with the ways that found it: scores go by age and use as well."""
    return [
        (
            hit.fact.content,
            {k: (leg.rank, round(leg.score, 6)) for k, leg in hit.legs.items()},
        )
        for hit in hits
    ]


def rows(store: MemoryStore) -> list[Any]:
    return list(store._lookup.timeline.rows())


def test_m47_c2_from_the_archive_alone_every_version_and_row_comes_back(
    story: Told,
) -> None:
    store = story.store
    held = store.place_hold(user_id="ann", matter="case 9", issued_by="counsel")
    store.archive()
    store.prune()
    before = rows(store), story.answers(), store.prove(7).envelope
    lose_ledger(story)

    MemoryStore.rebuild_from_archive(story.backend.settings())
    story.reopen()

    found = rows(story.store), story.answers(), story.store.prove(7).envelope
    assert found == before
    # S11: and what was held is held in the ledger that came back.
    assert held.hold_id in [each.hold_id for each in story.store.list_holds(user_id="ann")]
    assert story.store.erase(user_id="ann", reason="asked").status is ErasureStatus.DEFERRED
    assert story.answers() == before[1]


def test_m49_what_was_imported_or_restored_is_found_as_in_its_source(
    tmp_path: Path,
) -> None:
    def searched(store: MemoryStore) -> list[Any]:
        return [
            found_by(store.search(each, user_id="ann", explain=True))
            for each in ("tea", "绿茶", "green", "every morning")
        ]

    with MemoryStore.open(without_model(tmp_path / "from")) as source:
        for text in ("green tea every morning", "她喜欢绿茶", "black coffee"):
            source.remember(text, user_id="ann", entities=["茶"])
        expected = searched(source)
        exported = source.export(user_id="ann")
        source.archive()
    for file in (tmp_path / "from").glob("ledger.db*"):
        file.unlink()

    MemoryStore.rebuild_from_archive(tmp_path / "from")
    for place in ("to", "from"):
        with MemoryStore.open(without_model(tmp_path / place)) as store:
            if place == "to":
                store.import_export(exported.json())
            assert searched(store) == expected
    assert all(expected)


@pytest.mark.parametrize("user_id", ["42", "0b4e0c62-7f0a-4f1c-9d55-5d1a3c1f2b11", "安"])
def test_b13_who_was_erased_stays_gone_in_hot_cold_and_rebuilt_whatever_the_id(
    tmp_path: Path, user_id: str
) -> None:
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    with backend.open() as store:
        fact = store.remember("CANARY one", user_id=user_id)
        store.correct(fact.fact_id, content="CANARY two")
        store.archive()
        store.prune()

        store.erase(user_id=user_id, reason="asked")
        hot = store.get_all(user_id=user_id)
        store.rebuild()

        assert not hot
        assert not store.get_all(user_id=user_id)
        assert store.verify()
    story = Told(backend, SettableClock(), store, {}, [])
    lose_ledger(story)
    MemoryStore.rebuild_from_archive(backend.settings())
    with backend.open() as restored:
        assert not restored.get_all(user_id=user_id)
    assert traces(backend, "CANARY") == []


def test_b15_b33_no_row_of_a_long_history_goes_with_archive_prune_or_rebuild(
    tmp_path: Path,
) -> None:
    """Over many segments, and more than the 5,000 events that are read at once."""
    others: list[Any] = [{"content": f"another {number}"} for number in range(5_100)]
    with MemoryStore.open(without_model(tmp_path / "store", upkeep=False)) as store:
        facts = [store.remember(text, user_id="ann").fact_id for text in "ab"]
        for number in range(200):
            if number == 100:
                store.remember_many(others, user_id="ann")
            store.correct(facts[number % 2], content=f"version {number}")
        before = [store.get_fact_history(each).versions for each in facts], rows(store)

        shelf, timeline = shelf_at(str(tmp_path / "store/archive")), store._lookup.timeline
        archiver = Archiver(store._ledger, shelf, timeline, segment_events=7)
        written = archiver.run(FOREVER, progress=lambda _done, _of: None)
        assert store.prune() == 200
        cold = [store.get_fact_history(each).versions for each in facts], rows(store)
        store.rebuild()
        rebuilt = [store.get_fact_history(each).versions for each in facts], rows(store)

    assert (written.events, written.segments > 25) == (5_302, True)
    assert [len(each) for each in before[0]] == [101, 101]
    assert cold == before
    assert rebuilt == before


def test_b45_the_age_from_which_on_something_is_archived_is_kept_to_the_microsecond(
    tmp_path: Path,
) -> None:
    clock = SettableClock(NEW_YEAR)
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    with backend.open(clock=clock) as store:
        for _ in range(3):
            store.remember(f"a fact at {clock.now}", user_id="ann")
            clock.now += 1
        last = max(each.recorded_at for each in store.get_all(user_id="ann"))
        clock.now += SECOND

        planned = [
            store.plan_archive(until=instant(NEW_YEAR + each)).events
            for each in (-1, 0, 1, 2, 3)
        ]

    assert planned == [0, 1, 2, 3, 3]
    assert last.microsecond == 2


def test_s15_c5_an_export_has_no_cap_and_reconciles_what_it_holds(tmp_path: Path) -> None:
    with MemoryStore.open(without_model(tmp_path / "store", upkeep=False)) as store:
        session = store.start_session(user_id="ann")
        store.add_turns(
            session_id=session.session_id,
            turns=[{"role": "user", "content": f"turn {n}"} for n in range(120)],
        )
        officer = store.acting_as(OFFICER)
        for number in range(110):
            store.search(f"fact {number}", user_id="ann", limit=1)
            officer.get_all(user_id="ann", limit=1, reason=f"complaint 2026-{number}")
        for first in range(0, 10_050, 1_005):
            items: list[Any] = [{"content": f"fact {first + n}"} for n in range(1_005)]
            store.remember_many(items, user_id="ann")
        store.archive()
        store.prune()

        found = store.export(user_id="ann").document

        assert found.counts.facts == len(found.facts) == 10_050
        assert found.counts.versions == 10_050
        assert found.counts.conversation == 121
        assert {name: len(lines) for name, lines in found.others.items()} == {
            "turns": 120,
            "receipts": 110,
            "looks": 110,
        }
        assert found.counts.others == {"turns": 120, "receipts": 110, "looks": 110}


def test_evidence_of_the_held_holds_turns_receipts_holds_and_who_looked(
    tmp_path: Path,
) -> None:
    file = tmp_path / "evidence.zip"
    with MemoryStore.open(tmp_path / "store") as store:
        fact = store.remember("用户写 Python", user_id="ann")
        session = store.start_session(user_id="ann")
        store.add_turn(session_id=session.session_id, role="user", content="我写 Python")
        store.search("Python", user_id="ann")
        officer = store.acting_as(OFFICER)
        officer.get_fact_history(fact.fact_id, reason="complaint 2026-17")
        store.place_hold(user_id="ann", matter="case 9", issued_by="counsel")

        store.export_evidence(file, user_id="ann", matter="case 9", reason="ordered")

    files = contents(file.read_bytes())
    lines = {
        name: [json.loads(each) for each in files[name].splitlines()]
        for name in ("events.jsonl", "turns.jsonl", "receipts.jsonl", "transactions.jsonl")
    }
    topics = {each["envelope"]["topic"] for each in lines["events.jsonl"]}
    assert {"access.recorded.v1", "receipt.left.v1", "subject.hold_placed.v1"} <= topics
    assert [each["content"] for each in lines["turns.jsonl"]] == ["我写 Python"]
    assert len(lines["receipts.jsonl"]) == 1
    (look,) = (
        each
        for each in lines["events.jsonl"]
        if each["envelope"]["topic"] == "access.recorded.v1"
    )
    assert "complaint 2026-17" in json.dumps(look["content"])
    assert check(file.read_bytes()).proven
