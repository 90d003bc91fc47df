"""
The current facts, kept up with the ledger for as long as a store is open.

A thread of its own applies what was appended: at once when this process appended it,
after a moment when another did. It never stands in anybody's way: while there is no
engine, writes go on, searches go to the version vectors, and it tries again by itself.
"""

import atexit
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from eventsourcing.persistence import IntegrityError, Tracking

from muniment.errors import (
    IndexUnavailableError,
    MunimentError,
    StoreClosedError,
    Unavailable,
)
from muniment.projections import reconcile
from muniment.projections.catch_up import (
    CatchUp,
    Makers,
    Sources,
    checkpoint_name,
    identity,
    in_use,
    refuse_others,
)
from muniment.projections.memory_current import MemoryEngine
from muniment.projections.ports import CurrentFacts, Engine, Generation, Generations
from muniment.projections.progress import Progress, Told
from muniment.projections.reconcile import Difference
from muniment.projections.turns import Turn, always


POLL_SECONDS: Final = 0.5
RETRY_SECONDS_MAX: Final = 30.0
_RETRY_BATCH: Final = 256


class Upkeep:
    """
    Keeps the current facts of one ledger.

    Safe to use from many threads. Closing it lets another process have the engine.

    Args:
        sources: What the current facts follow from.
        makers: Who makes vectors, as configured.
        generations: Which generation is in use.
        take_engine: Gives the engine; raises `IndexHeldError` while another process has
            it, and is asked again then. ``None`` where no engine would outlive this
            process: vectors alone are made, and whoever erases has nobody to wait for.
        turn: Lets one process at a time apply, or rebuild.
        poll_seconds: How long what another process appended may go unnoticed.
    """

    def __init__(
        self,
        sources: Sources,
        makers: Makers,
        generations: Generations,
        take_engine: Callable[[], Engine] | None,
        *,
        turn: Turn = always,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._sources = sources
        self._makers = makers
        self._generations = generations
        self._take_engine = take_engine or MemoryEngine
        self._is_lasting = take_engine is not None
        self._turn = turn
        self._poll_seconds = poll_seconds
        self._engine: Engine | None = None
        self._catch_up: CatchUp | None = None
        self._waiting: MunimentError | None = None
        self._stopped: Exception | None = None
        self._retry_at = 0.0
        self._retry_after = 1.0
        self._applying = threading.RLock()
        self._rebuilding = threading.Lock()
        self._moved = threading.Condition()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to keep up; nothing when it has begun."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="muniment-upkeep", daemon=True
            )
            self._thread.start()
            # Or the interpreter would end in the middle of the engine's own code.
            atexit.register(self.close)

    def wake(self) -> None:
        """Say that something was appended."""
        self._wake.set()

    def current(self) -> tuple[Generation, CurrentFacts] | None:
        """
        Return the points to search, or ``None`` while this process has none.

        They may be closed at any moment for newer ones; then they raise
        `IndexUnavailableError`, and it is worth asking here once more.
        """
        catch_up = self._catch_up
        if catch_up is None or not self._is_lasting:
            return None
        return catch_up.generation, catch_up.facts

    def reached(self) -> int:
        """Return the position up to which points are held, by whatever process."""
        active = self._generations.active()
        return 0 if active is None else self._checkpoint(active) or 0

    def has_all(self, subject_refs: Collection[str], position: int) -> bool:
        """Whether all up to *position* was applied, as far as it is of facts of theirs."""
        reached, recorder = self.reached(), self._sources.ledger.recorder
        return reached >= position or not recorder.has_facts(
            subject_refs, after=reached, until=position
        )

    def is_in_use(self) -> bool:
        """Whether there are current facts, or were begun; by whatever process."""
        every = self._generations.every()
        return any(self._checkpoint(each) is not None for each in every)

    def wait_until(self, position: int, *, seconds: float) -> bool:
        """Wait until all up to *position* was applied; return whether it was in time."""
        deadline = time.monotonic() + seconds
        self.wake()
        with self._moved:
            while self.reached() < position:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._moved.wait(min(left, self._poll_seconds))
        return True

    def is_level(self, *, seconds: float) -> bool:
        """Whether all there is now was applied, or is in time; by whatever process."""
        head = self._sources.ledger.present().head.position
        if self._thread is not None:
            return self.wait_until(head, seconds=seconds)
        if self._catch_up is not None:
            self.tend()
        return self.reached() >= head

    def progress(self) -> Progress:
        """Return how far it is, and what keeps it from going on."""
        current, active = self._catch_up, self._generations.active()
        embedder = self._makers.embedder
        vectors = self._sources.vectors
        return Progress(
            reached=0 if active is None else self._own_checkpoint(active) or 0,
            head=self._sources.ledger.present().head.position,
            pending=0 if embedder is None else vectors.count_pending(embedder.name),
            generation=None if current is None else current.generation,
            waiting=self._waiting,
            stopped=self._stopped,
        )

    def resume(self) -> None:
        """Try again what stopped it."""
        self._stopped = self._waiting = None
        self.wake()

    def tend(self, told: Told | None = None) -> None:
        """
        Apply all there is to apply now; what keeps it from that is in `progress`.

        The thread does this again and again; a caller without it may, too.

        Args:
            told: Called with how many events of how many are applied.
        """
        with self._applying:
            try:
                self._tend(told)
            except StoreClosedError:
                return
            except Unavailable as error:
                self._waiting = error
            except Exception as error:  # noqa: BLE001 - it is told by `progress`
                self._stopped = error
        self._tell()

    def reconcile(self, *, mend: bool) -> list[Difference]:
        """
        Return what the engine holds otherwise than the ledger says; mend it if asked to.

        Raises:
            IndexUnavailableError: If this process has no engine.
        """
        with self._applying:
            if not self._is_lasting:
                raise IndexUnavailableError("this process has no engine")
            catch_up = self._opened(may_rebuild=True)
            found = list(reconcile.differences(self._sources, catch_up))
            if mend:
                reconcile.mend(catch_up, found)
        return found

    def rebuild(self, makers: Makers | None = None, told: Told | None = None) -> Generation:
        """
        Build the current facts anew beside the old ones, then use them instead.

        Searches and writes go on meanwhile. The vectors of the model used so far stay,
        for searches as of then.

        Args:
            makers: Another embedder or lexicon from now on; the same if left out.
            told: Called with how many events of how many are applied.

        Raises:
            IndexUnavailableError: If this process has no engine, or another rebuild
                goes on.
            ProjectionError: If the ledger holds what cannot be read.
        """
        if not self._rebuilding.acquire(blocking=False):
            raise IndexUnavailableError("another rebuild goes on")
        try:
            with self._turn("rebuild") as is_ours:
                if not is_ours:
                    raise IndexUnavailableError("another process rebuilds it")
                return self._rebuild(makers or self._makers, told)
        finally:
            self._rebuilding.release()

    def close(self) -> None:
        """Stop after the step at hand, and let another process have the engine."""
        atexit.unregister(self.close)
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        with self._applying:
            if self._catch_up is not None:
                self._catch_up.facts.close()
            if self._engine is not None:
                self._engine.close()
            self._catch_up = self._engine = self._thread = None

    def _run(self) -> None:
        pause = 0.0
        while not self._closing.is_set():
            self.tend()
            if isinstance(self._waiting, IndexUnavailableError):
                pause = min(max(2 * pause, self._poll_seconds), RETRY_SECONDS_MAX)
            else:
                pause = self._poll_seconds
            self._wake.wait(pause)
            self._wake.clear()

    def _tend(self, told: Told | None) -> None:
        if self._stopped is not None or self._closing.is_set():
            return
        with self._turn("apply") as is_ours:
            catch_up = self._opened(may_rebuild=is_ours)
            catch_up.told = self._going_on(told)
            while is_ours and not self._closing.is_set() and catch_up.step():
                self._tell()
            if is_ours:
                self._retry(catch_up)
        self._waiting = None

    def _retry(self, catch_up: CatchUp) -> None:
        """Try again to embed what could not be, less often the more often it fails."""
        model = catch_up.generation.model
        now = time.monotonic()
        if now < self._retry_at or not self._sources.vectors.count_pending(model):
            return
        made = catch_up.retry(_RETRY_BATCH)
        self._retry_after = 1.0 if made else min(2 * self._retry_after, RETRY_SECONDS_MAX)
        self._retry_at = now if made else now + self._retry_after

    def _opened(self, *, may_rebuild: bool) -> CatchUp:
        """Return the generation in use, opened; made anew where the engine lost it."""
        engine = self._taken()
        active = in_use(self._generations, self._makers)
        if self._catch_up is not None:
            if self._catch_up.generation.number == active.number:
                return self._catch_up
            old, self._catch_up = self._catch_up, None
            old.facts.close()
        refuse_others(self._makers, active)
        is_lost = self.reached() > 0 and not engine.exists(active.number)
        if is_lost and self._is_lasting:
            if not may_rebuild:
                raise IndexUnavailableError("what it held is gone, and is built anew")
            self.rebuild()
            return self._opened(may_rebuild=False)
        self._drop_former(engine, active)
        if self._own_checkpoint(active) is None:
            # Before anything is held: whoever erases has to know that something may be.
            with suppress(IntegrityError):
                name = checkpoint_name(active, of_points=self._is_lasting)
                self._sources.ledger.recorder.insert_tracking(Tracking(name, 0))
        self._catch_up = self._from(engine.open(active), active, self._makers)
        return self._catch_up

    def _from(self, facts: CurrentFacts, generation: Generation, makers: Makers) -> CatchUp:
        return CatchUp(
            self._sources,
            makers,
            generation=generation,
            facts=facts,
            is_lasting=self._is_lasting,
        )

    def _checkpoint(self, generation: Generation, *, of_points: bool = True) -> int | None:
        name = checkpoint_name(generation, of_points=of_points)
        return self._sources.ledger.recorder.max_tracking_id(name)

    def _own_checkpoint(self, generation: Generation) -> int | None:
        return self._checkpoint(generation, of_points=self._is_lasting)

    def _rebuild(self, makers: Makers, told: Told | None) -> Generation:
        with self._applying:
            engine = self._taken()
            self._clear_unfinished(engine)
            begun = self._generations.begin(**identity(makers))
        try:
            facts = engine.open(begun)
            try:
                catch_up = self._from(facts, begun, makers)
                catch_up.told = self._going_on(told)
                self._apply_to_head(catch_up)
                with self._applying:
                    # Nothing is applied to the old ones now, so these are as far.
                    self._apply_to_head(catch_up)
                    active = self._generations.activate(begun.number)
                    catch_up.generation = active
                    self._use(engine, catch_up, makers)
            except BaseException:
                facts.close()
                raise
        except BaseException:
            if begun.active_from is None:
                engine.drop(begun.number)
            raise
        return active

    def _apply_to_head(self, catch_up: CatchUp) -> None:
        """Apply what there is now; writers that go on do not keep it from an end."""
        head = self._sources.ledger.present().head.position
        while catch_up.reached() < head and catch_up.step():
            pass

    def _use(self, engine: Engine, catch_up: CatchUp, makers: Makers) -> None:
        """Search *catch_up* from now on, and let go of every other generation."""
        old, self._catch_up, self._makers = self._catch_up, catch_up, makers
        self._stopped = None
        # Whatever is left of the others takes room, and does no harm.
        with suppress(Unavailable):
            if old is not None:
                old.facts.close()
            self._drop_former(engine, catch_up.generation)

    def _drop_former(self, engine: Engine, active: Generation) -> None:
        """Remove what former generations hold: of an erasure they would not hear."""
        for each in self._generations.every():
            if each.number < active.number:
                engine.drop(each.number)

    def _clear_unfinished(self, engine: Engine) -> None:
        """Remove what a rebuild left whose process died."""
        for each in self._generations.every():
            if each.active_from is None:
                engine.drop(each.number)

    def _taken(self) -> Engine:
        if self._engine is None:
            self._engine = self._take_engine()
        return self._engine

    def _going_on(self, told: Told | None) -> Callable[[int], None]:
        """Return what says how far a step is, and ends it when the store is closed."""

        def go_on(position: int) -> None:
            if self._closing.is_set():
                raise StoreClosedError
            if told is not None:
                told(position, self._sources.ledger.present().head.position)

        return go_on

    def _tell(self) -> None:
        with self._moved:
            self._moved.notify_all()
