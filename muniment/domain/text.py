"""Which text, and which values of callers, every store keeps exactly."""

import re


Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What metadata may hold; numbers are finite."""

_UNKEEPABLE = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]")


def is_one_line(text: str) -> bool:
    """Whether *text* has no control character and no lone surrogate."""
    return _UNKEEPABLE.search(text) is None
