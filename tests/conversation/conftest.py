"""Stores for tests of conversations: those on a server share a database."""

from tests.api.cli.conftest import cli, empty_store
from tests.forgetting.conftest import backend, shared_place


__all__ = ["backend", "cli", "empty_store", "shared_place"]
