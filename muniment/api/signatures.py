"""The verbs that a principal and a client have: typed beside this, in a stub."""


class Verbs:
    """
    The verbs of `MemoryStore`, for type checkers; each is found by its name as it runs.

    Reading verbs take ``reason``, ``matter`` and ``break_glass`` besides, and those that
    may have to wait for another's approval take ``approval``.
    """

    __slots__ = ()
