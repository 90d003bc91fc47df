"""What evidence says in two forms says one thing, whoever signed it."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from muniment.archive import package
from muniment.archive.container import AlteredError
from muniment.archive.evidence_check import (
    DICTIONARY,
    DICTIONARY_SHA256,
    EVENTS,
    MANIFEST,
    TRANSACTIONS,
)
from muniment.archive.states_check import STATES
from muniment.ledger.compression import NEWEST, dictionary_bytes
from tests.archive.packages import Made, report, signed_again


def other_count(manifest: dict[str, Any]) -> None:
    manifest["counts"]["events"] -= 1


def other_subject(manifest: dict[str, Any]) -> None:
    manifest["subject_ref"] = "0" * 20


@pytest.mark.parametrize(
    ("change", "named"), [(other_count, MANIFEST), (other_subject, EVENTS)]
)
def test_not_even_who_made_it_can_say_it_of_somebody_else_or_of_more(
    made: Made, change: Callable[[dict[str, Any]], object], named: str
) -> None:
    manifest = json.loads(made.files[MANIFEST])
    change(manifest)

    with pytest.raises(AlteredError) as refused:
        report(signed_again(made, {MANIFEST: json.dumps(manifest).encode()}), made)

    assert refused.value.file == named


def test_another_dictionary_cannot_make_payloads_say_something_else(made: Made) -> None:
    dictionary = made.files[DICTIONARY]
    other = dictionary.replace(b"user_explicit", b"user_disputed")

    assert other != dictionary
    assert hashlib.sha256(dictionary_bytes(NEWEST)).hexdigest() == DICTIONARY_SHA256
    with pytest.raises(AlteredError) as refused:
        report(signed_again(made, {DICTIONARY: other}), made)
    assert refused.value.file == DICTIONARY


def test_a_name_that_comes_twice_in_one_object_is_refused(made: Made) -> None:
    first, rest = made.files[STATES].split(b"\n", 1)
    twice = first.replace(b'{"facts":', b'{"facts":[],"facts":', 1) + b"\n" + rest

    with pytest.raises(ValueError, match="twice"):
        report(signed_again(made, {STATES: twice}), made)


def test_what_is_shown_without_proof_is_said_to_be(made: Made) -> None:
    lines = made.lines(EVENTS)
    lines[0] |= {"key": None, "withheld": "shown with tokens"}
    actors = made.lines(TRANSACTIONS)
    actors[0]["key"] = None
    changes = {
        EVENTS: package.json_lines(lines),
        TRANSACTIONS: package.json_lines(actors),
    }

    stated = report(signed_again(made, changes), made).stated

    assert any("say, as it is shown: shown with tokens." in each for each in stated)
    assert any(each.startswith("Who did 1 of them and why, as it") for each in stated)
    assert any("user:ann is whom the ledger calls" in each for each in stated)
