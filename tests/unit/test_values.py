"""A value that is made quickly is the value it was."""

import inspect
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from muniment.domain.values import quickly_made


@dataclass(frozen=True, slots=True)
class Plain:
    """As `dataclasses` makes it; refuses a width below the height."""

    width: int
    height: int = 2

    def __post_init__(self) -> None:
        if self.width < self.height:
            raise ValueError(self.width, self.height)


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    """The same, made quickly."""

    width: int
    height: int = 2

    def __post_init__(self) -> None:
        if self.width < self.height:
            raise ValueError(self.width, self.height)


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A value whose fields are named."""

    width: int
    height: int


def test_its_constructor_takes_the_same_arguments() -> None:
    assert inspect.signature(Quick) == inspect.signature(Plain)


def test_it_is_equal_by_its_fields_and_shown_by_them() -> None:
    assert Quick(3) == Quick(width=3, height=2) != Quick(3, 1)
    assert repr(replace(Quick(3), height=1)) == "Quick(width=3, height=1)"
    assert len({Quick(3), Quick(3, 2)}) == 1


def test_it_is_refused_where_the_class_refuses_it() -> None:
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        Quick(1)


def test_it_stays_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(Quick(3), "width", 4)  # noqa: B010 - mypy would refuse the plain spelling


def test_fields_that_are_to_be_named_are_refused_without_a_name() -> None:
    assert Named(height=1, width=2) == Named(width=2, height=1)
    with pytest.raises(TypeError, match="positional"):
        Named(1, 2)  # type: ignore[call-arg]
