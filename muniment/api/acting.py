"""What the verbs of a store are told of who calls them, beside their arguments."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from muniment.errors import ForgottenRequestError, IdempotencyConflictError


by_principal: Final = ContextVar("by_principal", default=False)
"""Whether a principal writes. Who has the store itself gets an error, and no proposal."""


@contextmanager
def writing_for_principal(idempotency_key: object) -> Iterator[None]:
    """
    Let a verb know that a principal writes, and name their key as they have it.

    Raises:
        IdempotencyConflictError: As the verb, which knows the key of each apart.
        ForgottenRequestError: Likewise.
    """
    token = by_principal.set(True)
    try:
        yield
    except (IdempotencyConflictError, ForgottenRequestError) as error:
        raise type(error)(str(idempotency_key), error.tx_id) from None
    finally:
        by_principal.reset(token)
