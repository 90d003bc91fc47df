import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muniment.errors import MunimentError


def leaves(root: type[MunimentError] = MunimentError) -> Iterator[type[MunimentError]]:
    """Yield every error that is raised with facts of its own."""
    for kind in root.__subclasses__():
        if inspect.isfunction(kind.__init__):
            yield kind
        yield from leaves(kind)


def made(kind: Callable[..., MunimentError]) -> MunimentError:
    """Return an error of *kind*, whatever it wants to be told."""
    told: dict[str, Any] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        match str(parameter.annotation):
            case text if "tuple[int, str]" in text:
                told[name] = [(7, "seven")]
            case "tuple[int, ...]":
                told[name] = (7, 8)
            case text if "Sequence" in text:
                told[name] = ("a", "b")
            case text if "int" in text or "float" in text:
                told[name] = 7
            case _:
                told[name] = "seven"
    return kind(**told)


@pytest.mark.parametrize("kind", list(leaves()), ids=lambda kind: kind.__name__)
def test_an_error_says_the_same_as_a_copy_and_out_of_another_process(
    kind: type[MunimentError],
) -> None:
    """A pool of processes breaks on an error that cannot be made again of its message."""
    error = made(kind)

    travelled = pickle.loads(pickle.dumps(error))  # noqa: S301 - it was pickled here
    for again in (travelled, copy.deepcopy(error)):
        assert type(again) is kind
        assert (str(again), vars(again)) == (str(error), vars(error))
