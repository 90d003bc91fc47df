"""Key-encryption keys that a service has: named by a setting, rotated, gone, wrong."""

import pytest

from muniment.errors import (
    ConfigurationError,
    KeyServiceUnavailableError,
    VaultMismatchError,
)
from muniment.ledger import keys
from tests.proofs.kms import SERVICE, URL, served
from tests.stores import Backend


SAID = "秘密"


def test_a_store_is_kept_under_a_key_that_never_leaves_its_service(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = keys.new_key()
    with served(key) as (url, handler):
        monkeypatch.setenv(URL, url)
        with durable.open(key_service=SERVICE) as store:
            fact = store.remember(SAID, user_id="ann")
        with durable.open(key_service=SERVICE) as store:
            assert store.get(fact.fact_id).content == SAID
            assert store.verify()

        assert {"wrap", "unwrap"} <= set(handler.asked)
    assert not (durable.directory / "key").exists()
    with pytest.raises(VaultMismatchError, match=key.kek_id):
        durable.open(key=keys.new_key().text())


def test_a_service_that_is_gone_is_said_and_nothing_is_lost(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = keys.new_key()
    with served(key) as (url, _):
        monkeypatch.setenv(URL, url)
        store = durable.open(key_service=SERVICE)
        fact = store.remember(SAID, user_id="ann")
    with store:
        # What was unwrapped is at hand; whoever is new would need the service.
        assert store.get(fact.fact_id).content == SAID
        with pytest.raises(KeyServiceUnavailableError, match="refused"):
            store.remember("another", user_id="bob")
        assert store.get_all(user_id="ann").position == fact.position
    with pytest.raises(KeyServiceUnavailableError):
        durable.open(key_service=SERVICE)

    with served(key) as (url, _):
        monkeypatch.setenv(URL, url)
        with durable.open(key_service=SERVICE) as store:
            assert store.get(fact.fact_id).content == SAID
            store.remember("another", user_id="bob")


def test_a_service_rotates_by_giving_the_old_key_and_the_new_one(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = keys.new_key(), keys.new_key()
    with served(old) as (url, handler):
        monkeypatch.setenv(URL, url)
        with durable.open(key_service=SERVICE) as store:
            fact = store.remember(SAID, user_id="ann")
            with pytest.raises(ConfigurationError, match="one key"):
                store.rotate_key()
        handler.held[new.kek_id] = new
        with durable.open(key_service=SERVICE) as store:
            assert store.rotate_key() == 2
        del handler.held[old.kek_id]
        with durable.open(key_service=SERVICE) as store:
            assert store.get(fact.fact_id).content == SAID


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere.at_all:keys", "cannot be loaded"),
        ("tests.proofs.kms:nothing", "cannot be loaded"),
        ("tests.proofs.kms", "cannot be loaded"),
        ("", "cannot be loaded"),
        ("tests.proofs.kms:URL", "is no function"),
        ("builtins:list", "gave no key"),
        ("os:listdir", "gave no key"),
    ],
)
def test_a_service_that_is_none_is_said_before_anything_is_made(
    durable: Backend, name: str, problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        durable.open(key_service=name)

    assert not (durable.directory / "key").exists()


def test_a_key_and_a_service_contradict_each_other(durable: Backend) -> None:
    with pytest.raises(ConfigurationError, match="both"):
        durable.open(key_service=SERVICE, key="11" * 32)
