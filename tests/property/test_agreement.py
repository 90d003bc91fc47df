"""The rows that a verification expects are those of a fold, value by value."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.domain.scope import Scope
from muniment.ledger.mapper import SealingMapper
from muniment.ledger.records import FACT, DraftEvent, StampedEvent, event_row
from muniment.ledger.vault import Subject
from muniment.projections import agreement
from muniment.projections.agreement import agree, rows_expected
from muniment.projections.beliefs import LOST, in_order, rows_of
from muniment.projections.rectangles import values_of
from tests.oracle import Recorded
from tests.stores import backend_at
from tests.strategies import facts, lives, nonsense


@dataclass(frozen=True)
class Sealer:
    """
    Seals what is never stored.

    Attributes:
        mapper: Opens it again.
        keys: By user, the subject and a stream key; the one of ``erased`` is not in the
            vault.
    """

    mapper: SealingMapper
    keys: dict[str, tuple[Subject, tuple[int, bytes]]]


@pytest.fixture(scope="module")
def sealer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealer]:
    """Seals for three users; facts are opened one at a time."""
    directory = tmp_path_factory.mktemp("agreement") / "store"
    here = backend_at("sqlite", directory=directory, postgres_url=None)
    with here.ledger() as opened, pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "_CHUNK", 1)
        vault = opened.ledger.vault
        people = [vault.find_or_make(Scope.user(each)) for each in ("ann", "李雷")]
        keys = [(one, vault.take(one, 1)[0]) for one in people]
        lost = (people[0], (2**40, bytes(32)))
        known = dict(zip(("ann", "李雷", "erased"), (*keys, lost), strict=True))
        yield Sealer(opened.ledger.mapper, known)


def sealed(
    sealer: Sealer, name: str, fact: list[Recorded], whose: str
) -> list[StampedEvent]:
    """Return the events of a fact as they are stored."""
    subject, key = sealer.keys[whose]
    events = (
        DraftEvent(
            originator_id=f"{FACT}{name}",
            originator_version=each.version,
            event=each.event,
            subject=subject,
            key=key,
            content_tag=None,
        )
        for each in fact
    )
    return [
        StampedEvent(
            position=each.position,
            tx_id=each.tx_id,
            recorded_at=each.recorded_at,
            sealed=sealer.mapper.to_stored_event(event),
        )
        for each, event in zip(fact, events, strict=True)
    ]


@settings(max_examples=settings().max_examples // 4)
@given(
    st.lists(
        st.tuples(facts(lives | nonsense), st.sampled_from(["ann", "李雷", "erased"])),
        max_size=2,
    )
)
def test_rows_of_whatever_facts_are_expected_as_a_fold_has_them(
    sealer: Sealer, lived: list[tuple[list[Recorded], str]]
) -> None:
    stored = [
        sealed(sealer, f"{number}", fact, whose)
        for number, (fact, whose) in enumerate(lived)
        if fact
    ]
    folded = [
        row
        for fact in stored
        for row in in_order(rows_of(list(sealer.mapper.opened_of_all(fact))))
    ]

    expected = list(
        rows_expected(sealer.mapper, (event_row(each) for fact in stored for each in fact))
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
