"""The rows that a verification expects are those of a fold, value by value."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.scope import Scope
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import FACT, DraftEvent, StampedEvent, event_row
from muniment.projections import agreement
from muniment.projections.agreement import agree, rows_expected
from muniment.projections.beliefs import LOST, in_order, rows_of
from muniment.projections.rectangles import values_of
from tests.oracle import Recorded
from tests.stores import backend_at
from tests.strategies import facts, lives, nonsense


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger whose keys seal what is never stored; facts are opened two at a time."""
    directory = tmp_path_factory.mktemp("agreement") / "store"
    here = backend_at("sqlite", directory=directory, postgres_url=None)
    with here.ledger() as opened, pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "_CHUNK", 2)
        yield opened.ledger


def sealed(
    ledger: Ledger, name: str, fact: list[Recorded], whose: str
) -> list[StampedEvent]:
    """Return the events of a fact as they are stored; somebody erased has no key."""
    subject = ledger.vault.find_or_make(Scope.user("ann" if whose == "erased" else whose))
    key_id, key = ledger.vault.take(subject, 1)[0]
    events = (
        DraftEvent(
            originator_id=f"{FACT}{name}",
            originator_version=each.version,
            event=each.event,
            subject=subject,
            key=(2**40 if whose == "erased" else key_id, key),
            content_tag=None,
        )
        for each in fact
    )
    return [
        StampedEvent(
            position=each.position,
            tx_id=each.tx_id,
            recorded_at=each.recorded_at,
            sealed=ledger.mapper.to_stored_event(event),
        )
        for each, event in zip(fact, events, strict=True)
    ]


@given(
    st.lists(
        st.tuples(facts(lives | nonsense), st.sampled_from(["ann", "李雷", "erased"])),
        max_size=4,
    )
)
def test_rows_of_whatever_facts_are_expected_as_a_fold_has_them(
    ledger: Ledger, lived: list[tuple[list[Recorded], str]]
) -> None:
    stored = [
        sealed(ledger, f"{number}", fact, whose)
        for number, (fact, whose) in enumerate(lived)
        if fact
    ]
    folded = [
        row
        for fact in stored
        for row in in_order(rows_of(list(ledger.mapper.opened_of_all(fact))))
    ]

    expected = list(
        rows_expected(ledger.mapper, (event_row(each) for fact in stored for each in fact))
    )

    for values, row in zip(expected, folded, strict=True):
        known = values_of("", row)[1:]
        # What no key opens agrees with nothing, and is named by whoever folds.
        assert (values == known) == (row.content_tag != LOST)
        assert values[:-1] == known[:-1]


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=3)


@given(rows, rows)
def test_rows_agree_that_are_the_same_in_the_same_order(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    assert agree(one, other) == (one == other)
