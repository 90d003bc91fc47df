"""
The heart: a store does what it likes to its tables, and answers as the oracle does.

Every write is compared with what it means, and after each step everything that was
believed at any recorded time, about any valid time, is what the oracle says, and the
answers given before are what they were.
"""

from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from muniment import Scope, Settings
from muniment.domain.time import AsOf, Instant
from muniment.errors import IdempotencyConflictError, UnknownFactError
from tests.property import reads
from tests.property.bench import REASKED_PER_STEP, Place, refusal
from tests.property.machine import (
    SUBJECTS,
    Moment,
    WritingMachine,
    maybe,
    moments,
    picks,
    subjects,
    with_facts,
)
from tests.stores import in_memory_at


# A step costs about 4 ms in memory, 20 ms on SQLite and 40 ms on PostgreSQL, and the
# gate has minutes: the twin in memory looks the hardest for what a store means, the
# others for what their databases make of it.
EXAMPLES_SQLITE = 1 / 6
EXAMPLES_POSTGRESQL = 1 / 10
"""How many of the profile's examples are run on a database."""

SEARCHED: dict[str, Any] = {"embedder": "none", "upkeep": False}
"""By words alone, so that what is found has to share one."""

STEPS_MAX = 20
"""Enough to write, change, roll back, undo and redo one fact, and to rebuild between."""


questions = st.sampled_from(
    [
        "now",
        "then",
        "diff",
        "diff",
        "diff",
        "modified",
        "blame",
        "search",
        "get",
        "list",
        "list",
        "strange",
    ]
)
pairs = st.tuples(moments, moments)


class StoreMachine(WritingMachine):
    """A store that is also read, repeated, rebuilt, closed and told wrong times."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.listed: reads.List | None = None
        self.steps = 0

    @rule(by=st.sampled_from([1, 2, 5, 0, -1, -3, 40]))
    def tick(self, by: int) -> None:
        self.model.clock = Instant(max(0, self.model.clock + by))

    @precondition(lambda self: self.model.ledger)
    @rule(reopen=st.booleans())
    def maintain(self, *, reopen: bool) -> None:
        if reopen and self.bench.place.durable:
            self.store.close()
            self.bench.open()
        else:
            self.bench.rebuild()

    @precondition(lambda self: len(self.model.ledger) % 6 == 5)
    @rule(what=st.sampled_from(["archive", "prune", "restore"]))
    def archive(self, what: str) -> None:
        # An answer about now binds what is recorded next; so does a restore.
        now = self.model.now
        self.bench.ask(SUBJECTS[0], now, now)
        self.store.archive()
        if what == "restore" and self.bench.place.durable:
            self.bench.restore()
        if what != "archive":
            self.store.prune()

    @precondition(lambda self: self.bench.keyed)
    @rule(back=picks, another=st.sampled_from([False, False, True]))
    def repeat(self, back: int, *, another: bool) -> None:
        write, answer = self.bench.keyed[-1 - back % len(self.bench.keyed)]
        if not another:
            self.bench.repeat(write, answer)
            return
        key, scope = write.by["idempotency_key"], Scope.parse(write.subject)
        refused = refusal(
            lambda: self.store.remember("else", scope=scope, idempotency_key=key)
        )
        assert refused is IdempotencyConflictError

    @with_facts
    @rule(what=questions, subject=subjects, pick=picks, whens=pairs, about=maybe)
    def read(
        self,
        what: str,
        subject: str,
        pick: int,
        whens: tuple[Moment, Moment],
        about: Instant | None,
    ) -> None:
        first, second = (self.recorded(each) for each in whens)
        now = self.model.now
        match what:
            case "now":
                self.bench.ask(subject, now, now)
            case "then":
                self.bench.ask(subject, first, first if about is None else about)
            case "diff":
                reads.check_diff(self.bench, subject, (first, second), about)
            case "modified":
                reads.check_modified(self.bench, subject, first, second)
            case "blame":
                at = min(first, self.bench.latest)
                valid_at = at if about is None else about
                as_of = AsOf(recorded_at=at, valid_at=valid_at)
                reads.check_blame(self.bench, subject, as_of)
            case "search":
                at = min(first, self.bench.latest)
                as_of = AsOf(recorded_at=at, valid_at=at if about is None else about)
                reads.check_search(self.bench, subject, as_of)
            case "get":
                reads.check_get(self.bench, self.picked(pick))
            case "list":
                at = min(first, self.bench.latest)
                then = None if about is None else AsOf(recorded_at=at, valid_at=about)
                self.list_on(subject, 1 + pick % 2, then)
            case _:
                assert refusal(lambda: self.store.get("strange")) is UnknownFactError
                assert refusal(lambda: self.store.forget("strange")) is UnknownFactError

    def list_on(self, subject: str, limit: int, as_of: AsOf | None = None) -> None:
        """Ask for the next page of the list that is open, or for the first of another."""
        if self.listed is None or self.listed.cursor is None:
            self.listed = reads.check_page(self.bench, subject, limit, as_of)
        else:
            self.listed = reads.check_next_page(self.bench, self.listed, limit)

    @invariant()
    def everything_is_as_the_oracle_says(self) -> None:
        self.steps += 1
        if self.steps % 2:
            # Time goes on, but for what a rule makes of it.
            self.model.clock = Instant(self.model.clock + 1)
        self.bench.check_rows()
        self.ask_around_the_last_change()
        if self.model.fact_ids:
            self.bench.check_history(self.picked(self.steps))
            self.look_around()
            # What a search has read before has to be brought up to what is known now.
            as_of = AsOf(recorded_at=self.model.last, valid_at=Instant(self.steps * 7 % 24))
            reads.check_search(self.bench, SUBJECTS[self.steps % 2], as_of)
        self.bench.ask_again(REASKED_PER_STEP)

    def ask_around_the_last_change(self) -> None:
        """Ask each subject for right after and right before it, about a time that moves."""
        if not self.model.ledger:
            return
        about = Instant(self.steps * 7 % 24)
        for subject in sorted(set(SUBJECTS)):
            for recorded_at in (self.model.last, Instant(self.model.last - 1)):
                self.bench.ask(subject, recorded_at, about)

    def look_around(self) -> None:
        """Ask one of the other questions, each in its turn, of the busier subject."""
        subject, last, now = SUBJECTS[0], self.model.last, self.model.now
        earlier = self.recorded((self.steps, 0))
        match self.steps % 5:
            # An answer about now binds what is recorded next, so it is not always asked.
            case 0:
                self.bench.ask(subject, now, now)
            case 1:
                as_of = AsOf(recorded_at=last, valid_at=now)
                reads.check_blame(self.bench, subject, as_of)
            case 2:
                reads.check_diff(self.bench, subject, (earlier, last), now)
            case 3:
                reads.check_get(self.bench, self.picked(self.steps))
            case _:
                self.list_on(subject, 1)


def run(place: Place, *, examples: int) -> None:
    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(place)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS_MAX,
            # The first example makes the tables; databases take as long as they take.
            deadline=None,
        ),
    )


def test_a_store_in_memory_answers_as_the_oracle_does(tmp_path: Path) -> None:
    numbers = count()

    def fresh() -> Settings:
        return in_memory_at(tmp_path, **SEARCHED, ledger=f"ledger-{next(numbers)}")

    run(Place(settings=fresh, durable=False), examples=settings().max_examples)


def test_a_store_in_a_directory_answers_as_the_oracle_does(tmp_path: Path) -> None:
    numbers = count()

    # One database with a new ledger for each example: making tables costs more than
    # all that an example does, and this shows that ledgers do not see each other.
    def fresh() -> Settings:
        return Settings(
            **SEARCHED,
            database_url=f"sqlite:///{tmp_path / 'store' / 'ledger.db'}",
            ledger=f"ledger-{next(numbers)}",
        )

    run(
        Place(settings=fresh, durable=True),
        examples=round(settings().max_examples * EXAMPLES_SQLITE),
    )


def test_a_store_on_postgresql_answers_as_the_oracle_does(
    postgres_database: str, tmp_path: Path
) -> None:
    numbers = count()

    def fresh() -> Settings:
        return Settings(
            **SEARCHED,
            database_url=postgres_database,
            key_file=tmp_path / "key",
            archive_url=str(tmp_path / "archive"),
            ledger=f"ledger-{next(numbers)}",
        )

    run(
        Place(settings=fresh, durable=True),
        examples=round(settings().max_examples * EXAMPLES_POSTGRESQL),
    )
