"""An export holds everything about one person, and another store takes it in whole."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muniment import MemoryStore, Principal
from muniment.api.importing import read_document
from muniment.archive.portable import schema
from muniment.domain.access import Role
from muniment.errors import (
    IncompleteExportError,
    InvalidInput,
    InvalidValueError,
    LedgerNotEmptyError,
    MunimentError,
)
from tests.archive.told import Told, told
from tests.stores import BACKENDS, SQLITE, backend_at


OFFICER = (Role.COMPLIANCE_OFFICER,)
PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "export.schema.json"
GOLDEN = Path(__file__).parents[1] / "golden" / "export.v1"


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Told]:
    """A store that was told much."""
    found = told(backend_at(SQLITE, directory=tmp_path / "from", postgres_url=None))
    found.store.forget(found.facts["ann"][3], mode="redact")
    found.store.place_hold(user_id="ann", matter="case 4711", issued_by="counsel")
    found.store.remember(
        "CANARY ann 喜欢 1", user_id="ann", category="taste", source="tool", confidence=0.5
    )
    yield found
    found.store.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[MemoryStore]:
    """An empty store."""
    with MemoryStore.open(tmp_path / "to") as store:
        yield store


def lives(store: MemoryStore, fact_ids: list[str]) -> list[Any]:
    """Return all that is to be the same in both stores."""
    return [
        (
            each.fact_id,
            [
                (v.version, v.kind, v.content, v.valid_from, v.valid_to, v.actor, v.reason)
                for v in each
            ],
            [(v.trigger, v.source, v.session_id, dict(v.metadata)) for v in each],
            each.current_content,
        )
        for each in map(store.get_fact_history, fact_ids)
    ]


def test_an_export_counts_all_there_is(story: Told) -> None:
    store = story.store
    store.archive()
    store.prune()

    found = store.export(user_id="ann", reason="asked")

    shape = json.loads(found.json())
    assert shape["scope"] == "user:ann"
    assert shape["counts"] == {
        "facts": 5,
        "versions": 11,
        "transactions": 13,
        "about": 2,
        "conversation": 0,
        "others": {"looks": 0, "receipts": 0, "turns": 0},
    }
    assert "CANARY bob" not in found.json()
    assert [each["kind"] for each in shape["about"]] == ["hold_placed", "disclosed"]
    assert "CANARY ann moved" in found.html()
    assert "case 4711" not in found.html() or "hold placed" in found.html()


def test_c13_an_export_says_who_looked_before_a_hold(
    story: Told, other: MemoryStore
) -> None:
    officer = story.store.acting_as(Principal(id="officer-1", roles=OFFICER))
    officer.get_fact_history(story.facts["bob"][0], reason="complaint 2026-17")
    held = story.store.place_hold(user_id="bob", matter="case 9").hold_id
    officer.get_fact_history(story.facts["bob"][1], reason="complaint 2026-18")

    found = story.store.export(user_id="bob").document
    assert held is not None
    story.store.release_hold(held, user_id="bob")
    later = story.store.export(user_id="bob").document

    (look,) = found.others["looks"]
    assert look["kind"] == "recorded"
    assert "complaint 2026-17" in json.dumps(look, ensure_ascii=False)
    assert len(later.others["looks"]) == 2
    # What was done to a memory elsewhere is not done to it here.
    assert other.import_export(later).facts == later.counts.facts


def test_an_export_that_would_end_short_fails(story: Told) -> None:
    with story.backend.sql() as connection:
        connection.exec_driver_sql(
            "UPDATE ledger_event SET subject_ref = 'x' WHERE position = 1"
        )

    with pytest.raises((IncompleteExportError, MunimentError)):
        story.store.export(user_id="ann")


def test_the_schema_is_published_as_it_is() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == schema()


@pytest.mark.parametrize("kind", BACKENDS)
def test_another_store_takes_it_in_whole(
    story: Told, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_database") if kind == "postgresql" else None
    backend = backend_at(kind, directory=tmp_path / "to", postgres_url=url)
    exported = story.store.export(user_id="ann")
    facts = [each.fact_id for each in exported.document.facts]

    with backend.open() as other:
        first = other.import_export(exported.json())
        second = other.import_export(exported.document)
        verified = other.verify()

        assert (first.facts, first.events, first.known) == (5, 13, 0)
        assert (second.events, second.known) == (0, 13)
        assert lives(other, facts) == lives(story.store, facts)
        assert [h.matter for h in other.list_holds(user_id="ann")] == ["case 4711"]
        claimed = other.get_fact_history(facts[0]).versions
        recorded = story.store.get_fact_history(facts[0]).versions
        assert [e.claimed_at for e in claimed] == [e.recorded_at for e in recorded]
        assert all(
            e.recorded_at > r.recorded_at for e, r in zip(claimed, recorded, strict=True)
        )
        assert verified
        assert other.rebuild() > 0
        again = other.export(user_id="ann").document
        assert again.counts.versions == exported.document.counts.versions
        assert other.update(facts[0], content="goes on").version == 3


def test_an_import_that_stopped_half_way_is_finished_by_another(
    story: Told, other: MemoryStore
) -> None:
    document = msgspec.to_builtins(story.store.export(user_id="ann").document)
    broken = json.loads(json.dumps(document))
    broken["transactions"][-1]["reason"] = "x" * 5_000

    with pytest.raises(InvalidInput):
        other.import_export(broken)
    half = other.export(user_id="ann", matter="half").document.counts.versions
    done = other.import_export(document)

    assert half > 0
    assert done.events + done.known == 13
    assert done.events == 1


def test_nobody_elses_memory_is_touched(story: Told, other: MemoryStore) -> None:
    exported = story.store.export(user_id="ann")
    document = msgspec.to_builtins(exported.document)
    other.remember("mine", user_id="ann")

    with pytest.raises(LedgerNotEmptyError):
        other.import_export(document)
    with pytest.raises(LedgerNotEmptyError):
        # The facts are there, of another user.
        story.store.import_export({**document, "scope": "user:eve", "origin": "else"})

    assert [each.content for each in other.get_all(user_id="ann")] == ["mine"]
    assert not story.store.get_all(user_id="eve")


def mutilated(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield exports that no store made."""

    def copy() -> Any:  # noqa: ANN401 - JSON
        return json.loads(json.dumps(document))

    # The first exports hid nobody and held no conversations, and did not say so.
    for key in document.keys() - {"hidden", "conversations", "sources"}:
        found = copy()
        del found[key]
        yield found
    found = copy()
    del found["facts"][0]["versions"][-1]
    yield found
    for path, value in (
        (("format",), "muniment export 2"),
        (("scope",), "user:"),
        (("extra",), 1),
        (("facts", 0, "fact_id"), "x" * 300),
        (("facts", 0, "versions", 0, "version"), 2),
        (("facts", 0, "versions", 0, "stored", "topic"), "fact.ended.v1"),
        (("facts", 0, "versions", 0, "stored", "header", "valid"), [5, 5]),
        (("facts", 0, "versions", 0, "stored", "header", "traits"), {}),
        (("facts", 0, "versions", 0, "stored", "content"), {"text": 5}),
        (("facts", 1, "versions", 3, "stored", "header", "to_version"), 99),
        (("about", 0, "stored", "topic"), "subject.erased.v1"),
        (("transactions", 0, "recorded_at"), "yesterday"),
        (("transactions", 0, "action"), ""),
    ):
        found = inner = copy()
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        yield found


def test_what_no_store_exported_is_refused(story: Told, other: MemoryStore) -> None:
    document = msgspec.to_builtins(story.store.export(user_id="ann").document)

    for each in mutilated(document):
        with pytest.raises(MunimentError):
            other.import_export(each)
    for text in ("", "[]", "null", b"\xff", '{"format": 1}'):
        with pytest.raises(InvalidValueError):
            other.import_export(text)

    assert not other.get_all(user_id="ann")


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.json")), ids=lambda e: e.stem)
def test_exports_of_every_version_are_read(other: MemoryStore, file: Path) -> None:
    counts = read_document(file).counts

    recorded = other.import_export(file).events

    assert recorded == counts.versions + counts.about + counts.conversation > 0


def test_a_conversation_moves_with_what_was_drawn_from_it(
    story: Told, other: MemoryStore
) -> None:
    store = story.store
    session = store.start_session(user_id="ann", agent="agent-1", metadata={"room": "茶"})
    said = ("我在上海工作", "And I moved to Berlin.", "CANARY thanks")
    turns = [
        store.add_turn(
            session_id=session.session_id,
            role="user",
            content=content,
            uttered_at="2026-01-02T19:17:00+08:00",
        )
        for content in said
    ]
    fact = store.remember("moved", user_id="ann", source_turns=[turns[-1].turn_id])
    store.end_session(session.session_id)
    assert store.summarize_session(session.session_id, every=2, keep=0)
    exported = store.export(user_id="ann")

    first = other.import_export(exported.json())
    second = other.import_export(exported.json())

    assert exported.document.counts.conversation == 7
    assert (second.events, second.known) == (0, first.events)
    there, here = (
        [(e.turn_id, e.content, e.uttered_at, e.utc_offset) for e in found]
        for found in (
            each.get_turns(session_id=session.session_id) for each in (store, other)
        )
    )
    assert here == there
    assert [each.content for each in other.get_source_turns(fact.fact_id)] == [said[-1]]
    again = other.export(user_id="ann").document
    assert again.counts.conversation == exported.document.counts.conversation
    assert other.verify()
    with pytest.raises(MunimentError):
        other.add_turn(session_id=session.session_id, role="user", content="too late")


def untalked(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield exports with a conversation that no store held."""
    changes: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda talk: talk.update(session_id="a person's name"),
        lambda talk: talk["session"].pop(0),
        lambda talk: talk["session"][0].update(position=10**6),
        lambda talk: talk["session"][1].update(position=0),
        lambda talk: talk.update(turns=talk["summaries"], summaries=talk["turns"]),
        lambda talk: talk["turns"][0].update(version=2),
    )
    for change in changes:
        found = json.loads(json.dumps(document))
        (talk,) = found["conversations"]
        change(talk)
        kinds = "session", "turns", "summaries"
        found["counts"]["conversation"] = sum(len(talk[each]) for each in kinds)
        yield found


def test_a_conversation_that_no_store_held_is_refused(
    story: Told, other: MemoryStore
) -> None:
    store = story.store
    session = store.start_session(user_id="ann")
    for number in range(2):
        store.add_turn(session_id=session.session_id, role="user", content=f"说 {number}")
    store.end_session(session.session_id)
    document = msgspec.to_builtins(store.export(user_id="ann").document)

    for each in untalked(document):
        with pytest.raises(MunimentError):
            other.import_export(each)
    assert not other.export(user_id="ann").document.conversations
    counts = {**document["counts"], "facts": 0, "versions": 0}
    eves = {"scope": "user:eve", "origin": "x", "facts": [], "counts": counts}
    with pytest.raises(LedgerNotEmptyError):
        # The session is there, of another user.
        store.import_export({**document, **eves})


def test_c6_what_somebody_provided_moves_without_what_was_inferred(
    story: Told, other: MemoryStore
) -> None:
    store = story.store
    store.remember("likes quiet hotels", user_id="ann", source="agent_inferred")
    session = store.start_session(user_id="ann")
    store.add_turn(session_id=session.session_id, role="user", content="我喜欢茶")

    whole = store.export(user_id="ann").document
    provided = store.export(user_id="ann", sources=["user_explicit"]).document
    other.import_export(provided)

    # One was inferred, one said by a tool, and of one nobody can read any more who said it.
    assert (len(whole.facts), len(provided.facts)) == (6, 3)
    assert provided.sources == ["user_explicit"]
    assert not provided.about
    assert set(provided.others) == {"turns"}
    facts = [each.fact_id for each in provided.facts]
    assert lives(other, facts) == lives(store, facts)
    assert other.get_turns(session_id=session.session_id)[0].content == "我喜欢茶"
    again = other.export(user_id="ann", sources=["user_explicit"]).document
    assert [e.fact_id for e in again.facts] == facts
    assert again.counts == provided.counts
