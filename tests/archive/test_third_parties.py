"""Whoever else stands in what is given out of somebody becomes a token, by rule."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment import MemoryStore, Scope
from muniment.api.third_parties import Names, known_others
from muniment.archive.container import contents
from muniment.archive.evidence_check import check
from muniment.domain.text import Json
from muniment.domain.time import Instant
from muniment.errors import InvalidValueError
from muniment.ledger.ids import new_fact_ids
from muniment.ledger.vault import Vault


TEAM = Scope.team("eng")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """A team's memory, with three of the ledger's users in it, and some who are none."""
    with MemoryStore.open(tmp_path_factory.mktemp("shared") / "store") as found:
        for user_id in ("bob", "u-77", "王小明", "42", "x"):
            found.remember("mine", user_id=user_id)
        found.remember(
            "Bob and u-77. reviewed bobsled, with 王小明一起; carol paid 42 to x.",
            scope=TEAM,
            actor="bob",
            reason="asked by user:u-77",
            entities=["王小明", "Carol"],
            metadata={"owner": "bob", "bob": 1},
        )
        found.remember("eng plans the summer", scope=TEAM)
        session = found.start_session(scope=TEAM)
        found.add_turn(session_id=session.session_id, role="user", content="ask bob")
        yield found


def test_c5_other_users_of_the_ledger_are_tokens_in_evidence(
    store: MemoryStore, tmp_path: Path
) -> None:
    file = tmp_path / "team.zip"

    store.export_evidence(file, scope=TEAM, matter="m", reason="r", third_parties=["carol"])

    raw, files = file.read_bytes(), contents(file.read_bytes())
    assert check(raw).proven
    history = files["history.jsonl"].decode().splitlines()
    first = json.loads(history[0])
    assert first["content"] == (
        "[third party 3] and [third party 4]. reviewed bobsled, with [third party 2]一起; "
        "[third party 1] paid 42 to x."
    )
    assert first["metadata"] == {"owner": "[third party 3]", "[third party 3]": 1}
    assert (first["actor"], first["reason"]) == (
        "[third party 3]",
        "asked by user:[third party 4]",
    )
    assert json.loads(history[1])["content"] == "eng plans the summer"
    assert b"ask [third party 3]" in files["turns.jsonl"]
    assert json.loads(files["manifest.json"])["third_parties"] == 4
    for word in ("u-77", "王小明", "carol", '"bob"'):
        assert word.encode() not in raw.replace(files["verify.py"], b"")


def test_c5_an_export_hides_others_where_that_is_asked_for(
    store: MemoryStore, tmp_path: Path
) -> None:
    whole = store.export(scope=TEAM)
    hiding = store.export(scope=TEAM, hide_others=True)

    assert (whole.document.hidden, hiding.document.hidden) == (0, 3)
    assert hiding.document.scope == "team:eng"
    # The copy of before is in the later one.
    assert hiding.document.counts.about == whole.document.counts.about + 1
    assert hiding.document.counts.versions == whole.document.counts.versions
    for word in ("u-77", "王小明", '"bob"'):
        assert word in whole.json()
        assert word not in hiding.json() + hiding.html()
    with (
        MemoryStore.open(tmp_path / "other") as other,
        pytest.raises(InvalidValueError, match="hides nobody"),
    ):
        other.import_export(hiding.json())


def test_whose_memory_it_is_is_never_hidden(store: MemoryStore) -> None:
    vault = store._ledger.vault

    found = known_others(vault, Scope.user("bob"), ["bob met u-77", ["BOB"], {"k": "eng"}])

    assert found == ("u-77", "eng")


def test_a_name_that_is_found_is_hidden_as_a_word_and_one_that_is_given_anywhere() -> None:
    text = "bob bobsled bob@x.org xbob_ Bob's 小bob"

    hidden = str(Names((), ("bob",)).hidden(text)).replace("[third party 1]", "…")

    assert hidden == "… bobsled …@x.org xbob_ …'s 小…"
    assert "bob" not in str(Names(("bob",)).hidden(text)).casefold()
    # Ids that the ledger made up are no names.
    assert Names(("01m",)).hidden({"fact_id": "01m8"}) == {"fact_id": "01m8"}


def test_a_name_that_is_a_part_of_a_field_of_ours_leaves_the_field() -> None:
    said: Json = {"metadata": {"met": "Bob met Li", "with": [{"Bob": 1}]}, "content": "met"}

    hidden = Names(("met", "Bob")).hidden(said)

    assert hidden == {
        "metadata": {
            "[third party 1]": "[third party 2] [third party 1] Li",
            "with": [{"[third party 2]": 1}],
        },
        "content": "[third party 1]",
    }


def test_metadata_exempts_nothing_by_the_name_of_a_field() -> None:
    copied_from = next(new_fact_ids(Instant(0)))
    said: Json = {
        "fact_id": "Bob",
        "metadata": {
            "survivor": "Bob",
            "with": {"fact_id": ["Bob"]},
            "shared_from": "Bob",
            "copies": [{"shared_from": copied_from}],
        },
    }

    hidden = Names(("Bob", copied_from[:4])).hidden(said)

    assert hidden == {
        "fact_id": "Bob",
        "metadata": {
            "survivor": "[third party 1]",
            "with": {"fact_id": ["[third party 1]"]},
            "shared_from": "[third party 1]",
            # The ledger made this up: four characters of it are nobody.
            "copies": [{"shared_from": copied_from}],
        },
    }


def test_others_are_found_in_metadata_whatever_its_fields_are_called(
    store: MemoryStore,
) -> None:
    said: Json = {"fact_id": "x1", "metadata": {"survivor": "bob", "shared_from": "u-77"}}

    assert known_others(store._ledger.vault, TEAM, [said]) == ("bob", "u-77")
    assert known_others(store._ledger.vault, TEAM, [{"survivor": "bob"}]) == ()


class Counted:
    """A connection to a vault, and how often anyone had it."""

    def __init__(self, vault: Vault) -> None:
        self._standing, self.turns = vault._standing, 0

    def held(self) -> AbstractContextManager[sa.Connection]:
        self.turns += 1
        return self._standing.held()


def test_of_a_long_text_the_vault_is_asked_for_many_candidates_at_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(3_000))
    vault = store._ledger.vault
    counted = Counted(vault)
    monkeypatch.setattr(vault, "_standing", counted)

    found = known_others(vault, TEAM, [f"{written}王小明{written[::-1]}"])

    assert found == ("王小明",)
    # There are more than 18,000 candidates, each of which may be a user or a team.
    assert counted.turns < 100
