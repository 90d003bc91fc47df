"""What the verbs of a store are told of who calls them, beside their arguments."""

from contextvars import ContextVar
from typing import Final


by_principal: Final = ContextVar("by_principal", default=False)
"""Whether a principal writes. Who has the store itself gets an error, and no proposal."""
