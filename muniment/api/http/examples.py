"""Examples of requests and answers, as a service was really sent and answered them."""

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from muniment.api.operation import Operation


def add_examples(operation: Operation, described: Mapping[str, Any]) -> None:
    """
    Add to the description of an operation what it may be sent, and answers then.

    A file that is no JSON has none.
    """
    known = _known()[operation.verb]
    media_type = operation.download or "application/json"
    answer = described["responses"][str(operation.status)]["content"][media_type]
    if "request" in known:
        sent = described["requestBody"]["content"]["application/json"]
        sent["examples"] = {operation.verb: {"value": known["request"]}}
    if "response" in known:
        answer["examples"] = {operation.verb: {"value": known["response"]}}


@functools.cache
def _known() -> Mapping[str, Any]:
    """Return them by verb; ``tests/service_examples.py`` makes them."""
    file = resources.files("muniment.api.http").joinpath("examples.json")
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
