"""Two ledgers in the same tables never see each other."""

import pytest
import sqlalchemy as sa

from muniment import MemoryStore, Settings
from muniment.api.key_files import KEY_FILE
from muniment.errors import ConfigurationError, MunimentError, NotFound
from tests.stores import Backend


LEDGERS = ("acme", "acme-corp", "acme_corp", "a")


def contents(store: MemoryStore) -> list[str | None]:
    return [each.content for each in store.get_all(user_id="alice").items]


def test_ledgers_of_like_names_hold_each_its_own(durable: Backend) -> None:
    for name in LEDGERS:
        with durable.open(ledger=name) as store:
            fact = store.remember(f"of {name}", user_id="alice")
            assert (fact.tx_id, fact.position) == (1, 1)

    for name in LEDGERS:
        with durable.open(ledger=name) as store:
            assert contents(store) == [f"of {name}"]
            assert store._ledger.present().head.position == 1
            assert len(list(store._lookup.timeline.rows())) == 1


def test_no_verb_reaches_into_another_ledger(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        fact = one.remember("mine", user_id="alice")
        one.remember("more", user_id="alice", session_id="s")
        fact_id, then = fact.fact_id, fact.recorded_at

        for asked in (
            lambda: two.get(fact_id),
            lambda: two.get_fact_history(fact_id),
            lambda: two.update(fact_id, content="theirs"),
            lambda: two.correct(fact_id, content="theirs"),
            lambda: two.end(fact_id),
            lambda: two.forget(fact_id),
            lambda: two.restore(fact_id),
            lambda: two.rollback_fact(fact_id, to_version=0),
            lambda: two.undo(1),
        ):
            with pytest.raises(NotFound):
                asked()
        assert contents(two) == []
        assert two.get_memory_as_of(user_id="alice", timestamp=then).facts == ()
        assert two.blame(user_id="alice") == ()
        assert two.list_modified_facts(user_id="alice", start=then) == ()
        assert not two.diff_memory(
            user_id="alice", time_a=then, time_b=one.get(fact_id).recorded_at
        )
        assert two._ledger.present().head.position == 0
        assert contents(one) == ["mine", "more"]


def test_a_cursor_of_one_ledger_is_refused_by_another(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        for store in (one, two):
            store.remember_many(["a", "b", "c"], user_id="alice")
        cursor = one.get_all(user_id="alice", limit=1).next_cursor

        with pytest.raises(MunimentError):
            two.get_all(user_id="alice", limit=1, cursor=cursor)


def test_a_freeze_binds_one_ledger_alone(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        one.freeze(user_id="alice")

        assert two.remember("free", user_id="alice").content == "free"


def test_a_promise_binds_one_ledger_alone(durable: Backend) -> None:
    with durable.ledger(ledger="one") as one, durable.ledger(ledger="two") as two:
        with one.ledger.recorder.appending() as append:
            append.promise(append.now)

        assert one.ledger.present().horizon > two.ledger.present().horizon


def test_one_person_in_two_ledgers_is_two_subjects(durable: Backend) -> None:
    for name in ("one", "two"):
        with durable.open(ledger=name) as store:
            store.remember("said", user_id="alice")

    with durable.sql() as connection:
        columns = "ledger, subject_ref, content_tag, state, key_id"
        found = connection.execute(
            sa.text(
                f"SELECT belief.{columns.replace(', ', ', belief.', 2)} "
                "FROM belief JOIN ledger_event USING (ledger, position)"
            )
        ).fetchall()
    assert len(found) == 2
    for one, two in zip(*found, strict=True):
        assert one != two


@pytest.mark.parametrize("name", ["", "Acme", "a/b", "a b", "-a", "a" * 64, "ä", "a\n"])
def test_a_name_that_is_no_ledger_is_refused(durable: Backend, name: str) -> None:
    with pytest.raises(ConfigurationError, match="ledger"):
        Settings(
            database_url=durable.database_url,
            key_file=durable.directory / KEY_FILE,
            ledger=name,
        )
