"""JSON that says one thing to every reader: no object names a field twice."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any


class RepeatedNameError(ValueError):
    """An object names a field twice: readers differ in which of the two they take."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"names {name!r} twice")


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - whatever it holds
    """
    Return what a JSON document holds.

    Raises:
        RepeatedNameError: If an object names a field twice.
        ValueError: If it is no JSON document.
    """
    return json.loads(text, object_pairs_hook=once_each)


def once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """
    Return the object of *pairs*, as the ``object_pairs_hook`` of `json.loads`.

    Raises:
        RepeatedNameError: If a name is there twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        ((often, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise RepeatedNameError(often)
    return found
