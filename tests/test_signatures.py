"""What a type checker knows of a principal's store and of a client is what they do."""

import inspect

import pytest

from muniment import MemoryStore
from muniment.api.access import ActingStore
from muniment.api.operation import Operation
from muniment.api.operations import OPERATIONS
from muniment.api.signatures import Verbs
from muniment.api.verbs import fields_of
from muniment.client import Client
from tests import verb_signatures


def test_the_typed_verbs_are_those_of_the_facade() -> None:
    kept = verb_signatures.FILE.read_text(encoding="utf-8")

    assert kept == verb_signatures.made(), "run: python -m tests.verb_signatures"


NOT_SENT = {
    "actor": "who asks says who it is",
    "by_actor": "the same, where actor is a part of the question",
    "issued_by": "the same",
    "user_id": "a scope says it",
    "agent": "a function of the caller's, of reproduce_badcase",
    "count_tokens": "a function of the caller's",
    "progress": "a function of the caller's",
    "summarizer": "a function of the caller's",
    "witness": "a function of the caller's",
    "file": "it is written where the client is",
    "plan": "it is made again of what it was asked with",
    "older_than": "sent as older_than_us",
}
"""What a verb takes and no request says, and why."""

HEADERS = {"idempotency_key", "expected_version"}
ANSWERS_A_FILE = {"export", "export_evidence"}
"""A second answer to the same key could not give the file again."""


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.verb)
def test_a_request_can_say_all_that_a_verb_takes(operation: Operation) -> None:
    verb = operation.verb
    found = None if verb == "whoami" else inspect.getattr_static(MemoryStore, verb)
    taken = set(fields_of(inspect.unwrap(found))) if callable(found) else set()
    named = {each[1:-1] for each in operation.path.split("/") if each[:1] == "{"}
    said = {operation.renamed.get(each, each) for each in operation.needed}
    said |= {operation.renamed.get(each, each) for each in operation.taken}

    missing = taken - said - named - set(NOT_SENT)
    by_header = HEADERS if operation.keyed or verb in ANSWERS_A_FILE else set()

    assert missing <= by_header
    assert ("expected_version" in missing) == operation.if_match


def test_every_typed_verb_is_one_of_the_client_and_of_a_principal() -> None:
    kept = verb_signatures.FILE.read_text(encoding="utf-8")
    typed = {line.split("(")[0][8:] for line in kept.splitlines() if line[:8] == "    def "}

    assert typed == {each.verb for each in OPERATIONS}
    assert issubclass(ActingStore, Verbs)
    assert issubclass(Client, Verbs)
