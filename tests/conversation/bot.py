"""An agent that is the same everywhere; read as text where another process imports it."""

from typing import Any


def answer(*, memory: Any, convo: Any, config: Any) -> str:  # noqa: ANN401 - a caller's own
    """Quote the fact that shares most words with what was asked last."""
    asked = set(convo[-1].content.lower().rstrip("?").split())
    best = max(memory, key=lambda fact: len(asked & set(fact.content.lower().split())))
    return f"{config['greeting']}: {best.content}"
