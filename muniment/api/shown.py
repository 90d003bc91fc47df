"""What an answer shows: which facts, each in which version."""

from muniment.api.answers import Fact, FactVersion


def facts_shown(answer: object) -> tuple[tuple[str, int], ...]:
    """Return id and version of every fact in *answer*, in its order, each once."""
    found: dict[tuple[str, int], None] = {}
    _note(answer, found)
    return tuple(found)


def _note(answer: object, found: dict[tuple[str, int], None]) -> None:
    # Into one dictionary, not by generators in each other: this is done for every look.
    if isinstance(answer, Fact | FactVersion):
        found[answer.fact_id, answer.version] = None
    elif isinstance(answer, tuple | list):
        for each in answer:
            _note(each, found)
    else:
        for name in getattr(answer, "__dataclass_fields__", ()):
            _note(getattr(answer, name), found)
