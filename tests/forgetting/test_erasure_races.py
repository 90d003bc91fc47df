"""A write lands before an erasure and is erased, or is refused, or starts the next life."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from muniment import Fact, MemoryStore
from muniment.api.certificates import ErasureStatus
from muniment.errors import NotFound, SubjectErasedError, UnknownFactError
from tests.forgetting.traces import said
from tests.stores import Backend


WRITERS = 3
ROUNDS = 5
WRITES = 4
USER = "ann"


@dataclass
class Race:
    """What threads did to a memory while it was erased; every error but these is raised."""

    store: MemoryStore
    fact_id: str
    start: threading.Barrier = field(default_factory=lambda: threading.Barrier(WRITERS + 2))
    positions: list[int] = field(default_factory=list)
    refused: list[NotFound] = field(default_factory=list)

    def tried(self, call: Callable[[], int]) -> None:
        try:
            self.positions.append(call())
        except (SubjectErasedError, UnknownFactError) as error:
            self.refused.append(error)

    def write(self, name: int) -> None:
        self.start.wait()
        for count in range(WRITES):
            text = f"{name} says {count}"
            self.tried(lambda text=text: self.store.remember(text, user_id=USER).position)  # type: ignore[misc]
            self.tried(lambda text=text: self.update(text))  # type: ignore[misc]

    def update(self, text: str) -> int:
        return self.store.update(self.fact_id, content=text).position

    def read(self) -> None:
        self.start.wait()
        for _ in range(2 * WRITES):
            assert None not in said(self.store, user_id=USER)
            try:
                self.store.get_fact_history(self.fact_id)
            except UnknownFactError as error:
                self.refused.append(error)


def test_a_write_that_races_with_an_erasure_is_erased_refused_or_of_the_next_life(
    backend: Backend,
) -> None:
    with backend.open() as store, ThreadPoolExecutor(WRITERS + 1) as threads:
        for _ in range(ROUNDS):
            race = Race(store, store.remember("known", user_id=USER).fact_id)
            running = [threads.submit(race.write, name) for name in range(WRITERS)]
            running.append(threads.submit(race.read))
            race.start.wait()
            certificate = store.erase(user_id=USER, reason="asked")
            for each in running:
                each.result()

            assert certificate.status is ErasureStatus.DONE
            erased_at = certificate.position
            assert erased_at is not None
            recorder = store._ledger.recorder
            first = recorder.read_subject(str(certificate.subject_ref))
            assert first[-1].position == erased_at
            erased = {each.position for each in first}
            later = [each for each in race.positions if each > erased_at]
            assert erased >= {each for each in race.positions if each < erased_at}
            assert erased.isdisjoint(later)
            assert all(each.fact_id != race.fact_id for each in page_of(store))
            assert {each.position for each in page_of(store)} <= set(later)
            store.erase(user_id=USER, reason="again")
        assert store.verify()


def page_of(store: MemoryStore) -> list[Fact]:
    return list(store.get_all(user_id=USER, limit=1_000))


def test_two_erasures_at_once_both_succeed(backend: Backend) -> None:
    with backend.open() as store, ThreadPoolExecutor(2) as threads:
        for _ in range(ROUNDS):
            store.remember("known", user_id=USER)
            start = threading.Barrier(2)

            def erase(start: threading.Barrier) -> ErasureStatus:
                start.wait()
                return store.erase(user_id=USER, reason="asked").status

            done = [threads.submit(erase, start) for _ in range(2)]

            assert [each.result() for each in done] == [ErasureStatus.DONE] * 2
            assert said(store, user_id=USER) == []
        assert store.verify()


def test_a_hold_that_races_with_an_erasure_wins_or_comes_too_late(
    backend: Backend,
) -> None:
    with backend.open() as store, ThreadPoolExecutor(1) as threads:
        for number in range(ROUNDS):
            user_id = f"user-{number}"
            fact = store.remember("known", user_id=user_id)
            start = threading.Barrier(2)

            def hold(user_id: str, fact_id: str, start: threading.Barrier) -> bool:
                start.wait()
                try:
                    store.place_hold(user_id=user_id, fact_id=fact_id, matter="case")
                except NotFound:
                    return False
                return True

            placing = threads.submit(hold, user_id, fact.fact_id, start)
            start.wait()
            certificate = store.erase(user_id=user_id, reason="asked")

            if placing.result():
                assert certificate.status is ErasureStatus.DEFERRED
                assert said(store, user_id=user_id) == []
                assert store.get_fact_history(fact.fact_id).versions[0].content == "known"
            else:
                assert certificate.status is ErasureStatus.DONE
        assert store.verify()
