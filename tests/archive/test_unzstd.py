"""Payloads are made small by one library and unpacked by another, to the same bytes."""

import hashlib
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import dictionary
from muniment.archive.unzstd import NotZstdError, unzstd
from muniment.errors import BrokenSealError, NewerSchemaError
from muniment.ledger.compression import (
    NEWEST,
    compressed,
    decompressed,
    dictionary_bytes,
)


SHA256 = {1: "ce3893264771b6d28359fcb630fd48fe1d3ec6833110691b5e47f4d30f3bfe12"}
"""Of every dictionary there ever was: payloads that name one need it as it was."""

DICTIONARY = dictionary_bytes(NEWEST)


def check(plain: bytes) -> int:
    number, small = compressed(plain)
    assert decompressed(number, small, place="here") == plain
    if number:
        assert unzstd(small, DICTIONARY) == plain
    return len(small)


def test_a_dictionary_never_changes() -> None:
    assert {
        number: hashlib.sha256(dictionary_bytes(number)).hexdigest()
        for number in range(1, NEWEST + 1)
    } == SHA256


@given(st.text(max_size=300), st.sampled_from(["user_explicit", "tool"]))
def test_what_is_packed_is_unpacked(text: str, source: str) -> None:
    check(msgspec.json.encode({"source": source, "text": text}))


def test_what_is_long_or_random_or_alike_is_unpacked_too() -> None:
    rng = random.Random(7)  # noqa: S311 - made up
    words = [
        rng.choice(["tea", "茶", "coffee", " and ", "\n", "0123"]) for _ in range(9_000)
    ]

    for plain in (
        b"",
        b"a",
        b"a" * 70_000,
        rng.randbytes(3_000),
        "".join(words).encode(),
        ("".join(words[:2_000]) * 3).encode() + rng.randbytes(500),
        bytes(rng.choice(b"abcdefgh") for _ in range(5_000)),
    ):
        check(plain)


def test_payloads_become_a_third_of_what_they_were() -> None:
    rng = random.Random(8)  # noqa: S311 - made up
    plain = [msgspec.json.encode(dictionary.origin(rng)) for _ in range(100)]

    assert sum(map(len, plain)) > 3 * sum(map(check, plain))


def test_bytes_that_are_no_frame_are_refused_and_end() -> None:
    _, small = compressed(
        msgspec.json.encode({"source": "user_explicit", "text": "喜欢茶"})
    )

    for bad in (b"", b"\x00", small[:-1], small + b"\x00", small * 2):
        with pytest.raises(NotZstdError):
            unzstd(bad, DICTIONARY)
        with pytest.raises(BrokenSealError):
            decompressed(1, bad, place="here")
    for at in range(len(small) * 8):
        altered = bytearray(small)
        altered[at // 8] ^= 1 << at % 8
        try:
            unzstd(bytes(altered), DICTIONARY)
        except NotZstdError:
            continue


def test_a_dictionary_of_a_later_version_says_so() -> None:
    with pytest.raises(NewerSchemaError):
        decompressed(NEWEST + 1, b"x", place="here")
