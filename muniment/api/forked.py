"""
What becomes of an open store in a process that was forked from its own.

Connections, locks and a database's memory are shared with the parent then, and the threads
that record receipts and index facts are not there. What is done with them would be lost,
or spoil what the parent does: so the store is closed there, and nothing of it let go of.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """What is open, and has to be told."""

    def leave_to_parent(self) -> None:
        """Do nothing any more, and touch nothing that the parent uses."""


_OPEN: WeakSet[Forked] = WeakSet()
_PARENTS: list[Forked] = []
"""Kept for ever: what is collected closes its connections, on which the parent talks."""


def told_when_forked(opened: Forked) -> None:
    """Have *opened* told in each process that is forked from this one."""
    _OPEN.add(opened)


def _in_child() -> None:
    for each in tuple(_OPEN):
        each.leave_to_parent()
        _PARENTS.append(each)
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
