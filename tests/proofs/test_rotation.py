"""Replacing the key-encryption key: in use, interrupted, and with the wrong key."""

import stat
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.errors import ConfigurationError, MissingKeyError, VaultMismatchError
from muniment.ledger import keys, rotation
from muniment.ledger.vault_tables import ledger_key, subject_key, vault
from tests.stores import Backend


USERS = ("u", "v", "w")


class Interrupted(Exception):  # noqa: N818 - no error of ours
    """The process ends here."""


def fill(here: Backend, *, key: str | None = None) -> None:
    with here.open(key=key) as store:
        for user in USERS:
            store.remember(f"秘密 of {user}", user_id=user)


def said(store: MemoryStore) -> list[str | None]:
    return [each.content for user in USERS for each in store.get_all(user_id=user)]


SAID = [f"秘密 of {user}" for user in USERS]


def wrapped_by(here: Backend) -> set[str]:
    """Return the names of the keys that the vault, or anything in it, goes by."""
    with here.sql(vault=True) as connection:
        return {
            name
            for table in (vault, ledger_key, subject_key)
            for name in connection.execute(sa.select(table.c.kek_id)).scalars()
        }


def at_hand(here: Backend) -> list[str]:
    return (here.directory / "key").read_text(encoding="ascii").split()


def test_another_key_wraps_everything_and_the_old_one_is_gone(durable: Backend) -> None:
    fill(durable)
    old = at_hand(durable)
    told: list[int] = []

    with durable.open() as store:
        count = store.rotate_key(progress=told.append)

        assert (count, told) == (1 + len(USERS), [1, 1 + len(USERS)])
        assert said(store) == SAID
    (new,) = at_hand(durable)
    assert [new] != old
    assert stat.S_IMODE((durable.directory / "key").stat().st_mode) == 0o600
    assert wrapped_by(durable) == {keys.LocalKey(bytes.fromhex(new)).kek_id}
    with durable.open() as store:
        assert said(store) == SAID
        assert store.verify().findings == ()


def test_signatures_and_proofs_outlive_a_rotation(durable: Backend) -> None:
    fill(durable)
    with durable.open() as store:
        note, signer = store.tree_head(), store.public_key
        store.rotate_key()
    with durable.open() as store:
        assert store.public_key == signer
        assert store.verify(published=[note]).findings == ()


def test_two_open_stores_go_on_through_two_rotations(durable: Backend) -> None:
    fill(durable)
    with durable.open() as one, durable.open() as other:
        for number in range(2):
            one.rotate_key()
            for store in (other, one):
                # A subject neither has seen yet: its key is wrapped by the new key.
                name = f"new-{number}-{store is one}"
                store.remember("after", user_id=name)
                for each in (one, other):
                    (found,) = each.get_all(user_id=name)
                    assert found.content == "after"
        assert len(wrapped_by(durable)) == 1
        assert said(other) == said(one) == SAID
        assert other.verify().findings == ()


def go_by(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise Interrupted

    monkeypatch.setattr(rotation, "go_by", interrupted)


def wrap_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise Interrupted

    monkeypatch.setattr(rotation, "wrap_again", interrupted)


def some_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, calls = rotation._batch, list[int]()

    def interrupted(*given: object) -> int:
        calls.append(1)
        if len(calls) == 4:
            raise Interrupted
        return batch(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rotation, "_BATCH", 1)
    monkeypatch.setattr(rotation, "_batch", interrupted)


def last_file(monkeypatch: pytest.MonkeyPatch) -> None:
    to_file = keys.to_file

    def interrupted(path: object, held: tuple[object, ...]) -> None:
        if len(held) == 1:
            raise Interrupted
        to_file(path, held)  # type: ignore[arg-type]

    monkeypatch.setattr(keys, "to_file", interrupted)


@pytest.mark.parametrize("where", [go_by, wrap_again, some_wrapped, last_file])
def test_a_rotation_that_was_interrupted_goes_on(
    durable: Backend,
    where: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(durable)
    with monkeypatch.context() as patched, durable.open() as store:
        where(patched)
        with pytest.raises(Interrupted):
            store.rotate_key()
    first, second = at_hand(durable)

    with durable.open() as store:
        assert said(store) == SAID, "both keys are there, so everything opens meanwhile"
        store.remember("meanwhile", user_id="x")
        store.rotate_key()
        assert said(store) == SAID

    assert at_hand(durable) == [second], "the same new key, not a third"
    assert wrapped_by(durable) == {keys.LocalKey(bytes.fromhex(second)).kek_id}
    assert first != second
    with durable.open() as store:
        assert store.verify().findings == ()


def test_the_old_key_opens_nothing_afterwards(durable: Backend) -> None:
    fill(durable)
    (old,) = at_hand(durable)
    with durable.open() as store:
        store.rotate_key()
    (durable.directory / "key").write_text(f"{old}\n", encoding="ascii")

    with pytest.raises(VaultMismatchError, match="was made with key-encryption key"):
        durable.open()


def test_a_wrong_key_is_refused_and_the_right_one_still_opens(durable: Backend) -> None:
    fill(durable)
    file = durable.directory / "key"
    right = file.read_text(encoding="ascii")
    file.write_text("ab" * 32 + "\n", encoding="ascii")

    with pytest.raises(VaultMismatchError, match="at hand is"):
        durable.open()

    file.write_text(right, encoding="ascii")
    with durable.open() as store:
        assert said(store) == SAID


def test_a_key_that_is_gone_is_not_made_anew(durable: Backend) -> None:
    fill(durable)
    (durable.directory / "key").unlink()

    with pytest.raises(MissingKeyError):
        durable.open()
    assert not (durable.directory / "key").exists()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o660])
def test_a_key_that_others_can_read_is_refused(durable: Backend, mode: int) -> None:
    fill(durable)
    (durable.directory / "key").chmod(mode)

    with pytest.raises(ConfigurationError, match=f"mode {mode:04o}"):
        durable.open()


def test_keys_of_the_environment_are_rotated_by_naming_both(durable: Backend) -> None:
    old, new = "11" * 32, "22" * 32
    fill(durable, key=old)

    with (
        durable.open(key=old) as store,
        pytest.raises(ConfigurationError, match="one key-encryption key"),
    ):
        store.rotate_key()
    with durable.open(key=f"{old},{new}") as store:
        assert store.rotate_key() == 1 + len(USERS)
        assert said(store) == SAID
    with durable.open(key=new) as store:
        assert said(store) == SAID
    with pytest.raises(VaultMismatchError):
        durable.open(key=old)
