"""Loading facts from JSON Lines: what a line may be, what a bad one is, only once."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, MunimentError, Scope
from muniment.api.loading import Loaded, load
from muniment.errors import (
    IdempotencyConflictError,
    LoadError,
    SubjectFrozenError,
)
from tests.stores import Backend


U1 = Scope.user("u-1")
GOOD = {"content": "x", "user_id": "u-1"}


def written(file: Path, lines: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """Write *lines* to *file*, each as JSON or as it is."""
    raw = [
        each if isinstance(each, bytes) else json.dumps(each, ensure_ascii=False).encode()
        for each in lines
    ]
    file.write_bytes(b"".join(each + b"\n" for each in raw))
    return file


def contents(store: MemoryStore, scope: Scope = U1) -> list[str | None]:
    return [each.content for each in store.get_all(scope=scope, limit=1_000)]


def position(store: MemoryStore) -> int:
    return store.get_all(scope=U1).position


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "facts.jsonl"


def test_every_field_of_a_line_is_kept(store: MemoryStore, file: Path) -> None:
    line = {
        "content": "用户写 Python",
        "scope": "team:eng",
        "category": "profession",
        "attribute": "language",
        "valid_from": "2025-01-05T09:00:00+08:00",
        "valid_to": "2026-06-01T00:00:00Z",
        "source": "chat",
        "confidence": 0.75,
        "importance": 0.25,
        "core": True,
        "entities": ["Python"],
        "metadata": {"k": [1, None, "二"]},
        "expires_at": "2028-01-01T00:00:00Z",
        "session_id": "s-1",
        "source_turns": ["t-1"],
        "actor": "a-1",
        "reason": "because",
        "trigger": "import",
        "claimed_at": "2025-01-05T09:00:00Z",
    }

    found = load(store, written(file, [line]))

    (fact,) = store.get_all(scope=Scope.team("eng")).items
    (version,) = store.get_fact_history(fact.fact_id).versions
    assert found == Loaded(lines=1, facts=1, known=0, problems=())
    assert (fact.content, fact.category, fact.attribute) == (
        "用户写 Python",
        "profession",
        "language",
    )
    assert (fact.source, fact.confidence, fact.importance) == ("chat", 0.75, 0.25)
    assert (fact.core, fact.entities, fact.source_turns) == (True, ("Python",), ("t-1",))
    assert fact.metadata == {"k": [1, None, "二"]}
    assert (version.session_id, version.actor) == ("s-1", "a-1")
    assert (version.reason, version.trigger) == ("because", "import")


def test_lines_that_do_not_say_who_wrote_them_were_written_by_the_load(
    store: MemoryStore, file: Path
) -> None:
    lines = [GOOD, {**GOOD, "content": "y", "actor": "a-2", "trigger": "chat"}]

    load(store, written(file, lines), by={"actor": "importer-1", "reason": "move"})

    by = {
        version.content: (version.actor, version.trigger, version.reason)
        for fact in store.get_all(scope=U1)
        for version in store.get_fact_history(fact.fact_id)
    }
    assert by == {"x": ("importer-1", "load", "move"), "y": ("a-2", "chat", "move")}


BAD = {
    "not json": (b"{", "is not JSON"),
    "not an object": (b'["x"]', "is not a JSON object"),
    "two objects": (b'{"content":"x","user_id":"u"} {}', "is not JSON"),
    "not utf-8": (b'{"content":"\xff","user_id":"u"}', "is not UTF-8 at byte 12"),
    "utf-16": ('{"content":"x"}'.encode("utf-16"), "is not UTF-8 at byte 0"),
    "NaN": (b'{"content":"x","user_id":"u","confidence":NaN}', "holds NaN"),
    "infinity": (b'{"content":"x","user_id":"u","metadata":{"a":1e999}}', "finite"),
    "nested": (b'{"metadata":' + b"[" * 100_000, "nested too deeply"),
    "deep": (
        b'{"content":"x","user_id":"u","metadata":{"a":' + b"[" * 90 + b"]" * 90 + b"}}",
        "levels deep",
    ),
    "a number beyond counting": (b'{"content":' + b"9" * 10_000 + b"}", "is not JSON"),
    "a field twice": (b'{"content":"x","content":"y","user_id":"u"}', "field twice"),
    "an unknown field": (b'{"content":"x","user_id":"u","colour":1}', "'colour'"),
    "nobody": (b'{"content":"x"}', "is missing"),
    "two subjects": (b'{"content":"x","user_id":"u","scope":"org"}', "name one"),
    "no scope": (b'{"content":"x","scope":"everybody"}', "is not a scope"),
    "a number for a user": (b'{"content":"x","user_id":7}', "is not text"),
    "no content": (b'{"user_id":"u"}', "content must be"),
    "empty content": (b'{"content":"","user_id":"u"}', "content must be"),
    "a lone surrogate": (b'{"content":"\\ud800","user_id":"u"}', "surrogates"),
    "a naive time": (
        b'{"content":"x","user_id":"u","valid_from":"2026-01-01T00:00:00"}',
        "has no offset",
    ),
    "a period that ends first": (
        b'{"content":"x","user_id":"u","valid_from":"%(d)s","valid_to":"%(d)s"}'
        % {b"d": b"2026-01-01T00:00:00Z"},
        "must start before it ends",
    ),
    "large content": (
        b'{"content":"' + b"x" * 70_000 + b'","user_id":"u"}',
        "the limit is 65,536",
    ),
    "a line without end": (b"x" * 3_000_000, "is longer than"),
    "a control character in a key": (
        b'{"content":"x","user_id":"u","idempotency_key":"\\u0000"}',
        "control characters",
    ),
}


@pytest.mark.parametrize(("line", "problem"), BAD.values(), ids=BAD.keys())
def test_one_bad_line_is_named_and_nothing_is_loaded(
    file: Path, line: bytes, problem: str
) -> None:
    with MemoryStore.open("memory://") as store:
        written(file, [GOOD, b"", line, {**GOOD, "content": "y"}])

        with pytest.raises(LoadError, match="1 bad line") as caught:
            load(store, file)

        ((number, said),) = caught.value.problems
        assert number == 3
        assert problem in said
        assert (caught.value.loaded, position(store)) == (0, 0)


def test_or_the_rest_is_loaded(store: MemoryStore, file: Path) -> None:
    bad = [line for line, _ in BAD.values()]
    written(file, [GOOD, *bad, {**GOOD, "content": "y"}])

    found = load(store, file, keep_going=True)

    assert [each.line for each in found.problems] == list(range(2, 2 + len(bad)))
    assert (found.lines, found.facts) == (2, 2)
    assert set(contents(store)) == {"x", "y"}


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_passed_over(
    store: MemoryStore, file: Path
) -> None:
    line = json.dumps(GOOD).encode()
    file.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n  \t\n\n" + line)

    found = load(store, file)

    assert (found.lines, found.problems) == (2, ())
    assert contents(store) == ["x"]


def test_an_empty_file_loads_nothing(store: MemoryStore, file: Path) -> None:
    assert load(store, written(file, [])) == Loaded(lines=0, facts=0, known=0, problems=())


def test_a_second_load_adds_nothing(store: MemoryStore, file: Path) -> None:
    lines = [
        {"content": f"fact {number}", "user_id": f"u-{number % 3}"} for number in range(50)
    ]
    written(file, [*lines, lines[0], {**GOOD, "idempotency_key": "k-1"}])
    first = load(store, file)
    before = position(store)

    again = load(store, file)

    assert (first.facts, first.known) == (52, 0)
    assert (again.facts, again.known) == (0, 52)
    assert position(store) == before


def test_a_line_said_twice_is_kept_as_said_again(store: MemoryStore, file: Path) -> None:
    load(store, written(file, [GOOD, GOOD]))

    (fact,) = store.get_all(scope=U1).items
    kinds = [each.kind for each in store.get_fact_history(fact.fact_id)]
    assert kinds == ["asserted", "corroborated"]


def test_a_mended_file_doubles_no_fact(store: MemoryStore, file: Path) -> None:
    lines: list[Mapping[str, Any] | bytes] = [
        {**GOOD, "content": f"fact {number}", "valid_from": "2025-01-01T00:00:00Z"}
        for number in range(20)
    ]
    load(store, written(file, [*lines[:10], b"{", *lines[11:]]), keep_going=True)

    load(store, written(file, lines))

    assert sorted(map(str, contents(store))) == sorted(f"fact {n}" for n in range(20))


def test_a_file_that_grew_repeats_what_it_had_but_for_the_stretch_that_grew(
    file: Path,
) -> None:
    lines = [{**GOOD, "content": f"fact {number}"} for number in range(6_000)]
    with MemoryStore.open("memory://") as store:
        load(store, written(file, lines))

        found = load(store, written(file, [*lines, {**GOOD, "content": "one more"}]))

        kept = store.get_memory_as_of(
            scope=U1, timestamp=store.get_all(scope=U1).recorded_at
        )
    assert found.known >= 2_000
    assert found.known + found.facts == 6_001
    assert len(kept) == 6_001


def test_a_line_with_a_key_of_its_own_is_known_by_it(
    store: MemoryStore, file: Path
) -> None:
    keyed = {**GOOD, "idempotency_key": "k-1"}
    load(store, written(file, [keyed]))

    again = load(store, written(file, [{**GOOD, "content": "new"}, keyed]))

    assert (again.facts, again.known) == (1, 1)
    assert contents(store) == ["x", "new"]


def test_a_key_used_for_another_line_stops_the_load_and_says_where(
    store: MemoryStore, file: Path
) -> None:
    keyed = {**GOOD, "idempotency_key": "k-1"}
    written(file, [keyed, {**keyed, "content": "y"}])

    with pytest.raises(IdempotencyConflictError) as caught:
        load(store, file)

    assert caught.value.__notes__ == [
        "the load stopped at line 2 with 1 facts written; load the file again to go on"
    ]


def test_a_frozen_subject_stops_the_load_and_it_goes_on_when_thawed(
    store: MemoryStore, file: Path
) -> None:
    written(file, [GOOD, {"content": "y", "user_id": "u-2"}])
    store.freeze(user_id="u-2")

    with pytest.raises(SubjectFrozenError):
        load(store, file)
    store.thaw(user_id="u-2")
    found = load(store, file)

    assert (found.known, found.facts) == (1, 1)
    assert contents(store, Scope.user("u-2")) == ["y"]


def test_progress_ends_with_the_file(file: Path) -> None:
    told: dict[str, int] = {}
    lines = [{**GOOD, "content": f"fact {number}"} for number in range(1_500)]

    with MemoryStore.open("memory://") as store:
        load(store, written(file, lines), on_progress=told.__setitem__)

    size = file.stat().st_size
    assert told == {"check": size, "write": size}


LINES = 2_500


def scattered(count: int) -> list[dict[str, Any]]:
    """Return lines of many subjects, said on some days, a few of them twice."""
    chance = random.Random(7)  # noqa: S311 - the same lines every time
    return [
        {
            "content": f"fact {chance.randrange(count)}",
            "user_id": f"u-{chance.randrange(5)}",
            "valid_from": f"2025-01-{chance.randrange(1, 29):02}T00:00:00Z",
        }
        for _ in range(count)
    ]


KILLED = """
import os, signal, sys
from pathlib import Path
from muniment import MemoryStore
from muniment.api import loading

store, file, transactions = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
with MemoryStore.open(store, create=False) as opened:
    write, done = opened.remember_many, 0

    def remember_many(items, **fields):
        global done
        if done == transactions:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return write(items, **fields)

    opened.remember_many = remember_many
    loading.load(opened, file)
"""


@pytest.mark.slow
@pytest.mark.parametrize("transactions", [0, 1, 7])
def test_a_load_that_was_killed_goes_on_where_it_ended(
    tmp_path: Path, file: Path, transactions: int
) -> None:
    written(file, scattered(LINES))
    with (
        MemoryStore.open(tmp_path / "killed"),
        MemoryStore.open(tmp_path / "whole") as whole,
    ):
        load(whole, file)
        expected = said_in(whole)

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "killed", file, str(transactions)],
        check=False,
        timeout=120,
        env={**os.environ},
    )
    with MemoryStore.open(tmp_path / "killed") as store:
        stopped_at = position(store)
        found = load(store, file)
        after = said_in(store)

    assert killed.returncode == -signal.SIGKILL
    assert (stopped_at > 0) == (found.known > 0) == (transactions > 0)
    assert found.known + found.facts == LINES
    assert after == expected


def said_in(store: MemoryStore) -> list[list[tuple[str, str | None]]]:
    """Return all that was ever recorded of each subject, fact by fact."""
    return sorted(
        [(each.kind, each.content) for each in fact.versions]
        for number in range(5)
        for fact in store.list_modified_facts(
            scope=Scope.user(f"u-{number}"), start="1970-01-01T00:00:00Z"
        )
    )


def test_a_subject_with_many_origins_gets_a_transaction_for_each(
    backend: Backend, file: Path
) -> None:
    lines = [
        {**GOOD, "content": f"fact {number}", "session_id": f"s-{number % 2}"}
        for number in range(6)
    ]
    with backend.open() as store:
        load(store, written(file, lines))

        facts = store.get_all(scope=U1).items

    assert len({each.tx_id for each in facts}) == 2


def test_every_refusal_of_a_load_is_an_error_of_ours(file: Path) -> None:
    chance = random.Random(11)  # noqa: S311 - the same bytes every time
    lines = [bytes(chance.randrange(256) for _ in range(40)) for _ in range(300)]
    with MemoryStore.open("memory://") as store, pytest.raises(MunimentError) as caught:
        load(store, written(file, lines))

    assert isinstance(caught.value, LoadError)
