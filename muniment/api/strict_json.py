"""JSON in which an object says the same name twice, and so says two things."""

from collections import Counter
from collections.abc import Sequence
from typing import Any


class RepeatedNameError(ValueError):
    """An object names a field twice: readers differ in which of the two they take."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"names {name!r} twice")


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
