"""What a type checker knows of a principal's store and of a client is what they do."""

from muniment.api.access import ActingStore
from muniment.api.operations import OPERATIONS
from muniment.api.signatures import Verbs
from muniment.client import Client
from tests import verb_signatures


def test_the_typed_verbs_are_those_of_the_facade() -> None:
    kept = verb_signatures.FILE.read_text(encoding="utf-8")

    assert kept == verb_signatures.made(), "run: python -m tests.verb_signatures"


def test_every_typed_verb_is_one_of_the_client_and_of_a_principal() -> None:
    kept = verb_signatures.FILE.read_text(encoding="utf-8")
    typed = {line.split("(")[0][8:] for line in kept.splitlines() if line[:8] == "    def "}

    assert typed == {each.verb for each in OPERATIONS}
    assert issubclass(ActingStore, Verbs)
    assert issubclass(Client, Verbs)
