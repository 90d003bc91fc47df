"""Which exit code each kind of error has; said here and nowhere else."""

from typing import Final

from muniment.errors import (
    Conflict,
    Corruption,
    Forbidden,
    Frozen,
    Held,
    InvalidInput,
    MunimentError,
    NotFound,
    Unavailable,
)


BUG: Final = 1
BAD_INPUT: Final = 2
REFUSED_FOR_NOW: Final = 4

_CODES: Final[dict[type[MunimentError], int]] = {
    InvalidInput: BAD_INPUT,
    NotFound: 3,
    Conflict: REFUSED_FOR_NOW,
    Frozen: REFUSED_FOR_NOW,
    Held: REFUSED_FOR_NOW,
    Unavailable: REFUSED_FOR_NOW,
    Forbidden: 5,
    Corruption: BUG,
}


def code_of(error: MunimentError) -> int:
    """Return the exit code of the kind of *error*; that of a bug for one without kind."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), BUG)
