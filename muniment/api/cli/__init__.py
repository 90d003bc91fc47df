"""The command line: the verbs of the store, for people and for pipes."""

from muniment.api.cli.app import app
from muniment.api.cli.running import main


__all__ = ["app", "main"]
