"""Whom the service knows, by which key, how often; nobody gets another's answer."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest

from muniment import MemoryStore, Principal
from muniment.api.http.callers import Rates
from muniment.api.operations import OPERATIONS
from muniment.client import Client
from muniment.errors import (
    NotAuthenticatedError,
    RateLimitedError,
)
from tests.access.matrix import IDENTITIES
from tests.served import key_of


OFFICER = IDENTITIES["officer"]
SHAPE = {"type", "title", "status", "detail", "error", "request_id", "facts"}


def person(name: str) -> Principal:
    return Principal(id=name)


def test_every_operation_refuses_whoever_shows_nothing_or_something_wrong(
    store: MemoryStore, url: str
) -> None:
    """Cases S1 and S19: no route is without authentication."""
    key = key_of(store, person("u-1"))
    revoked = store.issue_api_key(person("u-1"))
    store.revoke_api_key(revoked.key_id)
    shown = [
        None,
        "",
        "Bearer",
        f"Basic {key}",
        "Bearer mnm_x",
        f"Bearer {key[:-1]}",
        f"Bearer {key[:-1]}{'0' if key[-1] != '0' else '1'}",
        f"Bearer {key} {key}",
        f"Bearer {key.upper()}",
        f"Bearer {revoked.secret}",
    ]

    with httpx.Client(base_url=f"{url}/v1") as raw:
        for operation in OPERATIONS:
            path = operation.path.replace("{", "").replace("}", "")
            for header in shown if operation.verb == "get_all" else shown[:1]:
                headers = {} if header is None else {"Authorization": header}
                answer = raw.request(operation.method, path, headers=headers)
                assert answer.status_code == 401, (operation.verb, header)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
                assert set(answer.json()) == SHAPE


def test_who_calls_too_often_waits_and_others_do_not() -> None:
    rates = Rates(60)
    for _ in range(60):
        rates.take("key a")

    with pytest.raises(RateLimitedError) as caught:
        rates.take("key a")
    rates.take("key b")

    assert caught.value.retry_after == 1


def test_a_key_for_some_verbs_opens_those_alone(store: MemoryStore, url: str) -> None:
    issued = store.issue_api_key(person("u-verbs"), verbs=["remember", "get_all"])
    store.remember("likes tea", user_id="u-verbs")

    with Client(url, api_key=issued.secret) as client:
        assert len(client.get_all(user_id="u-verbs")) == 1
        with pytest.raises(Exception, match="its key is not for it"):
            client.blame(user_id="u-verbs")


def test_a_key_is_shown_once_kept_as_a_digest_and_rolls_without_a_gap(
    store: MemoryStore, url: str
) -> None:
    """Case M53: what is revoked opens nothing from the next call on."""
    first = store.issue_api_key(person("u-roll"), reason="first key")
    second = store.roll_api_key(first.key_id, old_ends_at="2999-01-01T00:00:00Z")
    with (
        Client(url, api_key=first.secret) as old,
        Client(url, api_key=second.secret) as new,
    ):
        assert old.whoami() == new.whoami() == person("u-roll")
        store.revoke_api_key(first.key_id)
        with pytest.raises(NotAuthenticatedError):
            old.whoami()
        assert new.whoami() == person("u-roll")

    listed = {each.key_id: each for each in store.list_api_keys()}
    assert listed[first.key_id].revoked
    assert not listed[second.key_id].revoked
    assert first.secret not in repr(first) + str(listed)
    with pytest.raises(NotAuthenticatedError):
        store.authenticate(first.secret)


def test_what_ends_in_time_ends_without_anybody(store: MemoryStore) -> None:
    with pytest.raises(Exception, match="in the future"):
        store.issue_api_key(person("u-1"), ends_at="2020-01-01T00:00:00Z")


def test_fifty_clients_with_equal_request_ids_get_only_their_own(
    store: MemoryStore, url: str
) -> None:
    """Case S9: answers go to who asked, whatever ids requests have."""
    names = [f"u-many-{number}" for number in range(50)]
    for name in names:
        store.remember(f"secret of {name}", user_id=name)
    gate = threading.Barrier(len(names))

    def ask(name: str) -> list[str]:
        headers = {
            "Authorization": f"Bearer {key_of(store, person(name))}",
            "X-Request-Id": "same",
        }
        with httpx.Client(base_url=f"{url}/v1", headers=headers, timeout=60) as mine:
            gate.wait()
            found = []
            for _ in range(4):
                found += mine.get("/facts", params={"scope": f"user:{name}"}).json()[
                    "items"
                ]
                asked = {"scope": f"user:{name}", "query": "secret"}
                hits = mine.post("/search", json=asked).json()["items"]
                found += [each["fact"] for each in hits]
            return [each["content"] for each in found]

    with ThreadPoolExecutor(len(names)) as pool:
        answers = dict(zip(names, pool.map(ask, names), strict=True))

    assert answers == {name: [f"secret of {name}"] * 8 for name in names}


def test_replacing_a_principal_keeps_it_checked() -> None:
    with pytest.raises(Exception, match="one of person, agent, service"):
        replace(person("u-1"), kind="root")  # type: ignore[arg-type]


def test_a_look_is_on_record_though_whoever_asked_has_hung_up(
    store: MemoryStore, url: str
) -> None:
    fact = store.remember("likes tea", user_id="u-hung-up")
    key = key_of(store, IDENTITIES["auditor"])
    address = urlsplit(url)
    lines = [
        f"GET /v1/facts/{fact.fact_id}/history HTTP/1.1",
        f"Host: {address.netloc}",
        f"Authorization: Bearer {key}",
        "Muniment-Reason: complaint 2026-17",
    ]
    with socket.create_connection((str(address.hostname), int(str(address.port)))) as wire:
        wire.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())

    deadline = time.monotonic() + 20
    while not len(store.access_log(user_id="u-hung-up")):
        assert time.monotonic() < deadline, "the look was not recorded"
        time.sleep(0.02)

    (entry,) = store.access_log(user_id="u-hung-up")
    assert (entry.actor, entry.reason) == ("o-2", "complaint 2026-17")
