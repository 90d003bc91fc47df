"""Names: what sorts by when it was made, and is like any other name of a fact."""

from muniment.domain.time import Instant
from muniment.ledger.ids import may_be_fact_id, new_fact_ids, new_id_in_order


def test_what_is_listed_by_name_is_in_order_to_the_microsecond() -> None:
    began = 1_764_500_000_000_997
    times = [Instant(began + each) for each in range(2_010)]

    names = [new_id_in_order(each) for each in times]

    assert names == sorted(names)
    assert all(map(may_be_fact_id, names))
    assert names[3][:10] == next(new_fact_ids(times[3]))[:10]


def test_two_ledgers_that_make_a_name_at_one_time_make_two() -> None:
    assert new_id_in_order(Instant(7)) != new_id_in_order(Instant(7))
