"""Keeping the index of a store: embedded anew, caught up, held against the ledger."""

from typing import Literal

from muniment.api.recalling import LEXICON, embedder_of
from muniment.api.searching import SearchingStore
from muniment.errors import ConfigurationError, InvalidValueError
from muniment.projections.catch_up import Makers
from muniment.projections.progress import Progress, Told
from muniment.projections.reconcile import Difference
from muniment.settings import Settings


EmbedderName = Literal["local", "openai", "hashing", "none"]

EMBEDDERS: tuple[EmbedderName, ...] = ("local", "openai", "hashing", "none")


class IndexedStore(SearchingStore):
    """
    A store whose vectors and current facts can be looked at and made anew.

    Safe to use from many threads.
    """

    _settings: Settings

    def reindex(
        self, *, embedder: EmbedderName | None = None, progress: Told | None = None
    ) -> Progress:
        """
        Embed every version anew, and use that from now on; reads and writes go on.

        Searches as of a time before go on with the vectors of then. Where another
        embedder is named, the settings of the next start have to name it, too, or leave
        it to ``auto``.

        Args:
            embedder: Which from now on, with the settings' ``embedding_…``; the one in
                use if left out.
            progress: Told how many events of how many are embedded.

        Raises:
            IndexUnavailableError: If another process holds the engine, or reindexes.
            EmbedderUnavailableError: If an embedding server does not answer.
            ConfigurationError: If the one in use cannot be asked.
        """
        recall = self._recall
        chosen = recall.meaning.embedder
        if embedder is not None:
            if embedder not in EMBEDDERS:
                expected = f"one of {', '.join(EMBEDDERS)}"
                raise InvalidValueError("embedder", embedder, expected)
            update = {"embedder": embedder}
            chosen = embedder_of(self._settings.model_copy(update=update))
        elif chosen is None and self._is_embedded():
            raise ConfigurationError(
                "the embedder in use is not configured",
                "name the one to be used from now on, or none",
            )
        # Before: the new model is in use from the moment the rebuild ends.
        recall.meaning.know(chosen)
        recall.upkeep.rebuild(Makers(embedder=chosen, lexicon=LEXICON), progress)
        recall.meaning.use(chosen)
        return recall.upkeep.progress()

    def _is_embedded(self) -> bool:
        active = self._recall.generations.active()
        return active is not None and active.model != ""

    def catch_up(self, *, progress: Told | None = None) -> Progress:
        """
        Embed and index all there is now, in this thread; return how far that came.

        What keeps it from going on is in the answer, not raised: nothing is lost, and
        searches go on without. A process that dies on the way loses next to nothing.
        Where no engine outlives this process, vectors alone are made.

        Args:
            progress: Told how many events of how many are embedded.
        """
        self._recall.upkeep.tend(progress)
        return self._recall.upkeep.progress()

    def reconcile(self, *, mend: bool = False) -> tuple[Difference, ...]:
        """
        Return what the index of current facts holds otherwise than the ledger says.

        Args:
            mend: Put it right, too.

        Raises:
            IndexUnavailableError: If this process cannot have the engine, or has none.
        """
        self._recall.upkeep.tend()
        return tuple(self._recall.upkeep.reconcile(mend=mend))

    def index_progress(self) -> Progress:
        """Return how far the index of current facts is, and what keeps it."""
        return self._recall.upkeep.progress()
