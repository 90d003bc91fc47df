"""Stores for tests of conversations: those on a server share a database."""

from tests.forgetting.conftest import backend, shared_place


__all__ = ["backend", "shared_place"]
