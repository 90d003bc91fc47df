"""Vectors from any server that answers ``/v1/embeddings`` as OpenAI's does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muniment.errors import ConfigurationError, EmbedderUnavailableError
from muniment.projections.ports import Vector
from muniment.recall.embedders import checked


if TYPE_CHECKING:
    from openai import OpenAI

_NO_KEY: Final = "none"
"""What the SDK is given where the server wants no key: it refuses to do without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingServer:
    """
    Which server, and how patient to be with it.

    Attributes:
        base_url: Up to and including ``/v1``; ``None`` for OpenAI's own.
        model: As the server names it.
        dimensions: Of its vectors; ``None`` to learn it by asking once.
        ask_dimensions: Whether the server is told the dimensions; not every one knows
            that parameter.
        timeout: Seconds a single try may take.
        retries: How often a failed try is repeated, with pauses that double.
        batch: Most texts in one request.
        query_model: Another name to ask under for the side of the question.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = None
    dimensions: int | None = None
    ask_dimensions: bool = False
    timeout: float = 30.0
    retries: int = 2
    batch: int = 64
    query_model: str | None = None


class OpenAIEmbedder:
    """
    A model behind a server.

    Raises:
        ConfigurationError: If the SDK is not installed, or the server answers vectors of
            another size than *server* says.
        EmbedderUnavailableError: If the size is to be learnt and the server does not
            answer.
    """

    def __init__(self, server: EmbeddingServer) -> None:
        self._server = server
        self._client = _client(server)
        self.batch = server.batch
        self.dimensions = server.dimensions or 0
        # Two sizes of one model are two models: their vectors do not compare.
        self.name = server.model
        if server.dimensions is None:
            self.probe()

    def probe(self) -> None:
        """
        Ask the server once, and hold its answer against what is configured.

        Raises:
            ConfigurationError: If its vectors have another size.
            EmbedderUnavailableError: If it does not answer.
        """
        (vector,) = self._raw(["dimension probe"], self._server.model)
        if not self.dimensions:
            self.dimensions = len(vector)
        if len(vector) != self.dimensions:
            raise ConfigurationError(
                f"embedding model {self._server.model} answers {len(vector)} dimensions,"
                f" not the {self.dimensions} that are configured",
                f"set MUNIMENT_EMBEDDING_DIMENSIONS={len(vector)}, then run: muniment"
                " reindex",
            )
        checked(self, [vector], 1)

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self._vectors(texts, self._server.model)

    def query(self, text: str) -> Vector:
        return self.queries([text])[0]

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self._vectors(texts, self._server.query_model or self._server.model)

    def _vectors(self, texts: Sequence[str], model: str) -> Sequence[Vector]:
        return checked(self, self._raw(texts, model), len(texts)) if texts else []

    def _raw(self, texts: Sequence[str], model: str) -> list[list[float]]:
        import openai  # noqa: PLC0415 - an extra

        wanted = self.dimensions if self._server.ask_dimensions else 0
        try:
            answer = self._client.embeddings.create(
                model=model,
                input=list(texts),
                encoding_format="float",
                dimensions=wanted or openai.omit,
            )
            by_index = sorted(answer.data, key=lambda each: each.index)
            places = [each.index for each in by_index]
            found = [each.embedding for each in by_index]
        except openai.OpenAIError as error:
            raise EmbedderUnavailableError(self.name, _words(error)) from error
        except (TypeError, ValueError, AttributeError) as error:
            # What is not JSON, or JSON of another shape, breaks within the SDK.
            raise EmbedderUnavailableError(
                self.name, f"it answered nonsense ({error})"
            ) from error
        if places != list(range(len(texts))):
            raise EmbedderUnavailableError(
                self.name, f"it answered {len(found)} vectors for {len(texts)} texts"
            )
        return found

    def close(self) -> None:
        """Let go of the connections to the server."""
        self._client.close()


def _client(server: EmbeddingServer) -> "OpenAI":
    try:
        import openai  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigurationError(
            "the embedder openai needs a package that is not installed",
            "pip install 'muniment[openai]', or set MUNIMENT_EMBEDDER=none",
        ) from error
    return openai.OpenAI(
        base_url=server.base_url,
        api_key=server.api_key or _NO_KEY,
        timeout=server.timeout,
        max_retries=server.retries,
    )


def _words(error: Exception) -> str:
    # The text of the SDK quotes what the server said, which may quote the texts sent.
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    return f"{kind}, status {status}" if status else kind
