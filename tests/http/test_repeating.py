"""Every write can be sent again: by a key, or because it does nothing new."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.operations import OPERATIONS
from muniment.archive.portable import Document
from muniment.client import Client
from muniment.domain.access import Role
from muniment.errors import (
    IdempotencyConflictError,
    InvalidValueError,
    KeyAlreadyIssuedError,
)
from tests.access.matrix import REASON
from tests.served import client_of


TEAM, USER = Scope.team("repeated"), "u-again"
EVERYTHING = Principal(id=USER, roles=tuple(Role), memberships=("lead_of:repeated",))


@dataclass(frozen=True)
class Known:
    """What the repeated writes are about."""

    fact_id: str
    session_id: str
    export: Document
    file: Path


Call = Callable[[Client, Known], object]

AGAIN: Mapping[str, Call] = {
    "summarize_session": lambda c, k: c.summarize_session(k.session_id, force=True, keep=0),
    "entrust": lambda c, k: c.entrust(
        k.fact_id, owner="u-8", review_at="2027-01-01T00:00:00Z", reason=REASON
    ),
    "hand_over": lambda c, _: c.hand_over(
        "u-8", scope=TEAM, policy="keep", to="u-9", reason=REASON
    ),
    "flush_receipts": lambda c, _: c.flush_receipts(),
    "catch_up": lambda c, _: c.catch_up(),
    "reconcile": lambda c, _: c.reconcile(mend=True),
    "reindex": lambda c, _: c.reindex(embedder="none"),
    "rebuild": lambda c, _: c.rebuild(),
    "rotate_key": lambda c, _: c.rotate_key(),
    "archive": lambda c, _: c.archive(),
    "prune": lambda c, _: c.prune(),
    "export": lambda c, _: c.export(user_id=USER, reason=REASON),
    "export_evidence": lambda c, k: c.export_evidence(
        k.file, user_id=USER, matter="case 7", reason=REASON
    ),
    "import_export": lambda c, k: c.import_export(k.export, reason=REASON),
}
"""A call of each write that takes no key; two of them in a row are to do what one does."""


def test_every_write_takes_a_key_or_says_what_it_does_when_it_is_sent_again(
    url: str,
) -> None:
    document = httpx.get(f"{url}/v1/openapi.json").json()
    safe = set()

    for each in OPERATIONS:
        described = document["paths"][f"/v1{each.path}"][each.method.lower()]
        headers = {given["name"] for given in described.get("parameters", ())}
        is_keyed = "Idempotency-Key" in headers
        assert each.writes or not (is_keyed or each.repeated), each.verb
        if each.writes:
            assert is_keyed != described.get("x-idempotent", False), each.verb
        if described.get("x-idempotent"):
            assert each.repeated in described["description"]
            safe.add(each.verb)

    assert safe == set(AGAIN)


def test_what_takes_no_key_does_nothing_new_when_it_is_sent_again(
    store: MemoryStore, url: str, tmp_path: Path
) -> None:
    session_id = store.start_session(user_id=USER).session_id
    for words in ("我喜欢茶", "I live in Ulm", "我写 Python"):
        store.add_turn(session_id, role="user", content=words)
    store.remember("likes tea 茶", user_id=USER)
    fact = store.remember("tea at four", scope=TEAM)
    with MemoryStore.open("memory://") as another:
        another.remember("爱听爵士乐", user_id="u-imported")
        document = another.export(user_id="u-imported").document

    def state() -> list[object]:
        """Return all that is known, but not how often it was given out."""
        facts = store.get_all(scopes=[Scope.user("u-imported"), TEAM])
        return [
            *(store.get_fact_history(each.fact_id) for each in facts),
            store.get_all(user_id=USER).items,
            store.get_summaries(session_id),
            store.get_turns(session_id),
            store.list_shared(scope=TEAM),
            store.index_progress().pending,
            store.plan_archive().archived,
        ]

    with client_of(store, url, EVERYTHING) as client:
        for verb, call in AGAIN.items():
            known = {"fact_id": fact.fact_id, "session_id": session_id}
            files = [tmp_path / f"{verb}-{number}" for number in range(2)]
            call(client, Known(**known, export=document, file=files[0]))
            once = state()
            call(client, Known(**known, export=document, file=files[1]))

            assert state() == once, verb
    assert store.list_shared(scope=TEAM)[0].owner == "u-9"
    assert len(store.get_all(user_id="u-imported")) == 1
    assert len(store.get_summaries(session_id)) == 1


def test_a_configuration_and_a_summary_are_changed_once_for_a_key(
    store: MemoryStore, url: str
) -> None:
    session_id = store.start_session(user_id=USER).session_id
    store.add_turn(session_id, role="user", content="我喜欢茶")
    with client_of(store, url, EVERYTHING) as client:
        (summary,) = client.summarize_session(session_id, force=True, keep=0)
        first = client.record_config("prompt", "简短", idempotency_key="c-1")
        client.record_config("prompt", "long", idempotency_key="c-2")
        again = client.record_config("prompt", "简短", idempotency_key="c-1")
        with pytest.raises(IdempotencyConflictError):
            client.record_config("prompt", "other", idempotency_key="c-1")
        nothing = client.record_config("prompt", "long", idempotency_key="c-3")
        for _ in range(2):
            client.withdraw_summary(
                session_id, version=summary.version, idempotency_key="w-1"
            )
        with pytest.raises(InvalidValueError):
            client.withdraw_summary(session_id, version=summary.version)

    assert again == first
    assert nothing.position > first.position
    now = store.get_all(user_id=USER).recorded_at
    assert store.get_config_as_of(now)["prompt"] == "long"
    assert store.get_summaries(session_id) == ()


def test_a_key_that_was_shown_is_not_made_again_and_one_request_ends_one_key(
    store: MemoryStore, url: str
) -> None:
    holder, other = Principal(id="u-holder"), Principal(id="u-other")
    with client_of(store, url, EVERYTHING) as client:
        made = client.issue_api_key(holder, idempotency_key="k-1")
        with pytest.raises(KeyAlreadyIssuedError) as caught:
            client.issue_api_key(holder, idempotency_key="k-1")
        with pytest.raises(IdempotencyConflictError):
            client.issue_api_key(other, idempotency_key="k-1")
        rolled = client.roll_api_key(made.key_id, idempotency_key="k-2")
        with pytest.raises(KeyAlreadyIssuedError) as again:
            client.roll_api_key(made.key_id, idempotency_key="k-2")
        client.revoke_api_key(made.key_id, idempotency_key="k-3")
        with pytest.raises(IdempotencyConflictError):
            client.revoke_api_key(rolled.key_id, idempotency_key="k-3")
        held = [each.key_id for each in client.list_api_keys() if each.principal == holder]

    assert (caught.value.key_id, again.value.key_id) == (made.key_id, rolled.key_id)
    assert made.secret not in str(caught.value)
    assert held == [rolled.key_id, made.key_id]
    assert store.authenticate(rolled.secret).principal == holder
