"""What a caller should do: the eight kinds of error, under one base."""


class MunimentError(Exception):
    """Base of every error raised on purpose."""


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
