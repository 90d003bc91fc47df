"""Whatever is altered in a row of the timeline is found, in whichever column it is."""

from typing import Any

import pytest
import sqlalchemy as sa

from muniment.projections.tables import belief
from tests.proofs.malice import Victim, flipped


pytestmark = pytest.mark.slow

REMEMBERED, REVISED = 4, 5
"""Positions: of a fact that was remembered, and of the change to another one."""


def other(value: Any, kind: type) -> object:  # noqa: ANN401 - of any column
    """Return another value of the same kind."""
    if kind is bool:
        return not value
    if kind is bytes:
        return flipped(value)
    if kind is str:
        return f"{value}-x"
    return (value or 0) - 1


def test_a_row_that_differs_in_any_column_is_found(attacked: Victim) -> None:
    timeline = attacked.store._lookup.timeline
    with attacked.backend.sql() as connection:
        found = connection.execute(sa.select(belief)).mappings().all()
    held = {row["position"]: dict(row) for row in found}
    columns = [each for each in belief.columns if each.name != "ledger"]
    assert timeline.is_level()

    for position in (REMEMBERED, REVISED):
        row = held[position]
        for column in columns:
            altered = other(row[column.name], column.type.python_type)
            now = {**row, column.name: altered}
            attacked.run(sa.update(belief).where(_is(row)).values(now))

            assert not timeline.is_level(), column.name
            assert attacked.first().kind == "projection", column.name

            attacked.run(sa.update(belief).where(_is(now)).values(row))
    assert timeline.is_level()


def _is(row: dict[str, object]) -> sa.ColumnElement[bool]:
    return sa.and_(*(each == row[each.name] for each in belief.primary_key))
