"""JSON that says one thing to every reader."""

import json
from typing import Any


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - whatever it holds
    """
    Return what a JSON document holds.

    Raises:
        ValueError: If it is none, or a name comes twice in one object, of which some
            readers see the first value, and others the last.
    """
    return json.loads(text, object_pairs_hook=_named_once)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice in one object")
    return found
