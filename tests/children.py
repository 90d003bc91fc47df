"""Work done in a process of its own, forked from the test's."""

import os
import signal
from collections.abc import Callable


_CHILD_S = 60


def said_by_child(work: Callable[[], object]) -> str:
    """Run *work* in a child forked from here, and return what comes of it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # It ends, whatever lock it was forked with, and the test fails instead of waiting.
        signal.alarm(_CHILD_S)
        try:
            text = str(work())
        except BaseException as error:  # noqa: BLE001 - the child must end in any case
            text = type(error).__name__
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        text = said.read().decode()
    os.waitpid(child, 0)
    return text
