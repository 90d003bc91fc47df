"""A field that a fact has no more: a revision says so, and keeps all that it leaves out."""

from collections.abc import Iterator
from typing import Any

import pytest

from muniment import MemoryStore
from muniment.errors import InvalidValueError


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://") as opened:
        yield opened


CLEARABLE: dict[str, tuple[object, object]] = {
    "category": ("drink", None),
    "attribute": ("favourite", None),
    "expires_at": ("2099-01-01T00:00:00Z", None),
    "entities": (("茶",), ()),
    "metadata": ({"a": 1}, {}),
}


@pytest.mark.parametrize("field", CLEARABLE)
@pytest.mark.parametrize("verb", ["update", "correct"])
def test_a_field_can_be_cleared_and_the_others_stay(
    store: MemoryStore, verb: str, field: str
) -> None:
    said: Any = {name: given for name, (given, _) in CLEARABLE.items()}
    fact = store.remember("likes tea", user_id="ann", **said)

    revised = getattr(store, verb)(fact.fact_id, clear=[field])

    assert revised.content == fact.content
    for name, (_, nothing) in CLEARABLE.items():
        left = nothing if name == field else getattr(fact, name)
        assert getattr(revised, name) == left
    assert store.get(fact.fact_id) == revised
    # Once more is a repeat, and no second version of the same.
    assert getattr(store, verb)(fact.fact_id, clear=[field]) == revised


def test_what_cannot_be_cleared_or_is_set_besides_is_refused(store: MemoryStore) -> None:
    fact = store.remember("likes tea", user_id="ann", category="drink")
    refused: list[Any] = [
        {"clear": ["content"]},
        {"clear": ["importance"]},
        {"clear": ["Category"]},
        {"clear": "category"},
        {"clear": 7},
        {"clear": ["category"], "category": "food"},
        {"clear": ["metadata"], "metadata": {"a": 1}},
    ]

    for fields in refused:
        with pytest.raises(InvalidValueError):
            store.update(fact.fact_id, **fields)

    assert store.get(fact.fact_id) == fact
