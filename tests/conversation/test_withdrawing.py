"""A summary is withdrawn once, by whoever is first."""

import pytest

from muniment.errors import InvalidValueError
from muniment.ledger.records import SUMMARIES
from muniment.ledger.transaction import Request
from tests.stores import Backend


def test_a_summary_is_withdrawn_once_whoever_else_does_it_at_once(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with backend.open() as store:
        session_id = store.start_session(user_id="ann").session_id
        for number in range(4):
            said = f"On day {number} we met Person{number}."
            store.add_turn(session_id, role="user", content=said)
        (made,) = store.summarize_session(session_id, force=True, keep=0)
        asked: list[Request] = []
        with monkeypatch.context() as held_back:
            held_back.setattr(store._ledger, "transact", asked.append)
            store.withdraw_summary(session_id, version=made.version)
            store.withdraw_summary(session_id, version=made.version)

        first, second = store._ledger.transact_all(asked)

        assert first is None
        assert isinstance(second, InvalidValueError)
        stream = store._ledger.recorder.read_stream(SUMMARIES + session_id)
        assert [each.sealed.topic for each in stream] == [
            "summary.made.v1",
            "summary.withdrawn.v1",
        ]
