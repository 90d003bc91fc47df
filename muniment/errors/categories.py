"""What a caller should do: the eight kinds of error, under one base."""

from collections.abc import Callable, Mapping


class MunimentError(Exception):
    """
    Base of every error raised on purpose.

    It says the same when it was copied, or pickled on its way out of another process.
    """

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        # Left to itself, `Exception` would be made anew of its message alone.
        return _made_again, (type(self), self.args, dict(vars(self)))


class InvalidInput(MunimentError):
    """The request can never work as sent."""


class NotFound(MunimentError):
    """The thing named is not there."""


class Conflict(MunimentError):
    """The world moved; read again, then decide again."""


class Forbidden(MunimentError):
    """The caller may not do this."""


class Frozen(MunimentError):
    """Writes to the subject are refused while an incident is looked into."""


class Held(MunimentError):
    """A legal hold stands in the way."""


class Unavailable(MunimentError):
    """Try later; nothing was written unless the message says so."""


class Corruption(MunimentError):
    """Stored data contradicts itself; stop, never retry."""


def _made_again(
    kind: type[MunimentError], said: tuple[object, ...], facts: Mapping[str, object]
) -> MunimentError:
    """Return the error of a *kind* that *said* this, with the facts it kept."""
    made = kind.__new__(kind, *said)
    vars(made).update(facts)
    return made
