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


ACTING = frozenset(
    [
        "add_turn",
        "add_turns",
        "apply",
        "approve",
        "correct",
        "end",
        "end_session",
        "entrust",
        "erase",
        "export",
        "export_evidence",
        "forget",
        "freeze",
        "hand_over",
        "issue_api_key",
        "merge",
        "place_hold",
        "propose_share",
        "record_config",
        "redact_session",
        "redact_turn",
        "reject",
        "release_hold",
        "remember",
        "remember_many",
        "restore",
        "retain",
        "review_broken_glass",
        "revoke_api_key",
        "roll_api_key",
        "rollback_fact",
        "rollback_to_timestamp",
        "start_session",
        "summarize_session",
        "thaw",
        "undo",
        "update",
        "withdraw_summary",
    ]
)
"""Verbs that say who did it."""

NOT_SENT = {
    **{(verb, "actor"): "who asks says who it is" for verb in ACTING},
    **{
        (verb, "on_behalf_of"): "so does whom an agent works for"
        for verb in (*ACTING, "rollback_where")
    },
    ("rollback_where", "by_actor"): "the same, where actor is a part of the question",
    ("place_hold", "issued_by"): "the same",
    ("reproduce_badcase", "agent"): "a function of the caller's",
    ("build_context", "count_tokens"): "the same",
    ("summarize_session", "summarizer"): "the same",
    ("tree_head", "witness"): "the same",
    ("archive", "progress"): "the same",
    ("catch_up", "progress"): "the same",
    ("prune", "progress"): "the same",
    ("reindex", "progress"): "the same",
    ("rotate_key", "progress"): "the same",
    ("verify", "progress"): "the same",
    ("export_evidence", "file"): "it is written where the client is",
    ("apply", "plan"): "it is made again of what it was asked with",
    ("archive", "older_than"): "sent as older_than_us",
    ("plan_archive", "older_than"): "the same",
}
"""What a verb takes and no request says, and why."""

HEADERS = {"idempotency_key", "expected_version"}
ANSWERS_A_FILE = {"export", "export_evidence"}
"""A second answer to the same key could not give the file again."""


def unsaid(operation: Operation) -> set[str]:
    """Return what the verb takes and neither path nor fields of a request say."""
    verb = operation.verb
    found = None if verb == "whoami" else inspect.getattr_static(MemoryStore, verb)
    taken = set(fields_of(inspect.unwrap(found))) if callable(found) else set()
    named = {each[1:-1] for each in operation.path.split("/") if each[:1] == "{"}
    said = {operation.renamed.get(each, each) for each in operation.needed}
    said |= {operation.renamed.get(each, each) for each in operation.taken}
    if "scope" in said:
        # The scope of a user says which user.
        said.add("user_id")
    return taken - said - named


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.verb)
def test_a_request_can_say_all_that_a_verb_takes(operation: Operation) -> None:
    """M61: fields promised, and settable nowhere."""
    verb = operation.verb
    by_header = HEADERS if operation.keyed or verb in ANSWERS_A_FILE else set()

    missing = {each for each in unsaid(operation) if (verb, each) not in NOT_SENT}

    assert missing <= by_header
    assert ("expected_version" in missing) == operation.if_match


def test_what_is_excused_is_taken_and_not_said() -> None:
    assert NOT_SENT.keys() <= {(e.verb, name) for e in OPERATIONS for name in unsaid(e)}


def test_every_typed_verb_is_one_of_the_client_and_of_a_principal() -> None:
    kept = verb_signatures.FILE.read_text(encoding="utf-8")
    typed = {line.split("(")[0][8:] for line in kept.splitlines() if line[:8] == "    def "}

    assert typed == {each.verb for each in OPERATIONS}
    assert issubclass(ActingStore, Verbs)
    assert issubclass(Client, Verbs)
