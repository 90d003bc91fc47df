import pytest

from muniment.errors import BrokenSealError
from muniment.ledger.sealing import (
    derived,
    equal,
    new_key,
    packed,
    seal,
    tag,
    unpacked,
    unseal,
)


KEY = bytes(range(32))
PLAIN = "用户写 Rust".encode()
PLACE = b"event/main/fact-1/1/fact.asserted.v1/{}"


def test_what_is_sealed_is_read_with_its_key_at_its_place() -> None:
    assert unseal(KEY, seal(KEY, PLAIN, place=PLACE), place=PLACE) == PLAIN


def test_nothing_of_the_plain_text_shows_through() -> None:
    assert PLAIN not in seal(KEY, PLAIN, place=PLACE)
    assert b"Rust" not in seal(KEY, PLAIN, place=PLACE)


def test_the_same_text_is_never_sealed_to_the_same_bytes() -> None:
    sealed = {seal(KEY, PLAIN, place=PLACE) for _ in range(100)}

    assert len(sealed) == 100


@pytest.mark.parametrize(
    "place",
    [
        b"",
        b"event/main/fact-2/1/fact.asserted.v1/{}",
        b"event/main/fact-1/2/fact.asserted.v1/{}",
        b"event/main/fact-1/1/fact.revised.v1/{}",
        b"event/other/fact-1/1/fact.asserted.v1/{}",
        PLACE + b" ",
    ],
)
def test_a_payload_copied_to_another_place_does_not_open(place: bytes) -> None:
    sealed = seal(KEY, PLAIN, place=PLACE)

    with pytest.raises(BrokenSealError):
        unseal(KEY, sealed, place=place)


def test_with_another_key_it_does_not_open() -> None:
    sealed = seal(KEY, PLAIN, place=PLACE)

    with pytest.raises(BrokenSealError):
        unseal(new_key(), sealed, place=PLACE)


def test_with_one_bit_changed_it_does_not_open() -> None:
    sealed = seal(KEY, PLAIN, place=PLACE)

    for number in range(len(sealed)):
        changed = bytearray(sealed)
        changed[number] ^= 1
        with pytest.raises(BrokenSealError):
            unseal(KEY, bytes(changed), place=PLACE)


@pytest.mark.parametrize("length", [0, 1, 11, 12, 27])
def test_what_was_cut_off_does_not_open(length: int) -> None:
    sealed = seal(KEY, b"", place=PLACE)

    with pytest.raises(BrokenSealError):
        unseal(KEY, sealed[:length], place=PLACE)


def test_keys_are_long_and_differ() -> None:
    keys = {new_key() for _ in range(100)}

    assert len(keys) == 100
    assert {len(key) for key in keys} == {32}


def test_a_key_for_one_purpose_says_nothing_of_another() -> None:
    assert derived(KEY, "cursor") == derived(KEY, "cursor")
    assert derived(KEY, "cursor") != derived(KEY, "request")
    assert derived(KEY, "cursor") != derived(new_key(), "cursor")


def test_a_tag_finds_the_same_value_under_the_same_key_alone() -> None:
    assert equal(tag(KEY, PLAIN), tag(KEY, PLAIN))
    assert not equal(tag(KEY, PLAIN), tag(KEY, PLAIN + b" "))
    assert not equal(tag(KEY, PLAIN), tag(new_key(), PLAIN))
    assert len(tag(KEY, PLAIN)) == 16


@pytest.mark.parametrize("header", [b"", b"{}", b"x" * 65_535])
def test_a_stored_event_comes_apart_as_it_was_put_together(header: bytes) -> None:
    assert unpacked(packed(header, b"sealed"), place="here") == (header, b"sealed")


@pytest.mark.parametrize(
    "state", [b"", b"\x01", b"\x01\x00", b"\x02\x00\x00", b"\x01\x00\x05{}"]
)
def test_bytes_of_no_known_format_stop_the_reader(state: bytes) -> None:
    with pytest.raises(BrokenSealError):
        unpacked(state, place="fact f version 1")
