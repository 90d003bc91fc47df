"""Of several processes that keep up one index, one at a time applies."""

from pathlib import Path

from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.turns import always, turns_of
from muniment.projections.upkeep import Upkeep
from tests.projecting import believed, place_at, settings_of


def test_a_turn_is_given_to_one_at_a_time_and_given_back(
    postgres_database: str, tmp_path: Path
) -> None:
    settings = settings_of("postgresql", tmp_path, postgres_database)
    with place_at(settings) as one, place_at(settings) as other:
        turns = []
        for place in (one, other):
            recorder = place.ledger.recorder
            assert isinstance(recorder, SqlRecorder)
            turns.append(turns_of(recorder))

        with turns[0]("apply") as first, turns[1]("apply") as second:
            assert (first, second) == (True, False)
            with turns[1]("rebuild") as another:
                assert another
        with turns[1]("apply") as again:
            assert again


def test_whose_turn_it_is_not_serves_what_the_other_applied(
    postgres_database: str, tmp_path: Path
) -> None:
    settings = settings_of("postgresql", tmp_path, postgres_database)
    with place_at(settings) as place:
        recorder = place.ledger.recorder
        assert isinstance(recorder, SqlRecorder)
        turn = turns_of(recorder)
        place.store.remember("plays go", user_id="bob")
        upkeep = Upkeep(
            place.sources,
            place.makers,
            place.generations,
            lambda: place.engine,
            turn=turn,
        )

        with turn("apply"):
            upkeep.tend()
            assert upkeep.reached() == 0
            assert upkeep.current() is not None
        upkeep.tend()

        assert upkeep.reached() == 1
        assert len(believed(place, "bob")) == 1
        upkeep.close()


def test_who_is_alone_always_has_the_turn() -> None:
    with always("apply") as one, always("apply") as another:
        assert one
        assert another
