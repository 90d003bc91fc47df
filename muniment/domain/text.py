"""Which text every store keeps exactly."""

import re


_UNKEEPABLE = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]")


def is_one_line(text: str) -> bool:
    """Whether *text* has no control character and no lone surrogate."""
    return _UNKEEPABLE.search(text) is None
