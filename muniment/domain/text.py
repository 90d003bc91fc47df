"""Which text, and which values of callers, every store keeps exactly."""

import re
from collections.abc import Mapping


Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What metadata may hold; numbers are finite."""

_UNKEEPABLE = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]")


def is_one_line(text: str) -> bool:
    """Whether *text* has no control character and no lone surrogate."""
    return _UNKEEPABLE.search(text) is None


def copied(values: Mapping[str, Json]) -> dict[str, Json]:
    """
    Return *values* as their taker's own, to the deepest list.

    What is kept is given out again: nobody may find in it what another has put there.
    """
    return {name: _copied(value) for name, value in values.items()}


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return copied(value)
    return [_copied(each) for each in value] if isinstance(value, list) else value
