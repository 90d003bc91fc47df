"""Configuration: from arguments, or from ``MUNIMENT_*`` in the environment."""

import os
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import (
    Field,
    PositiveFloat,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from muniment.errors import ConfigurationError


_PREFIX: Final = "MUNIMENT_"


class Settings(BaseSettings):
    """
    Where a store keeps things, and its limits.

    Attributes:
        database_url: Where the ledger and its projections live: ``sqlite:///PATH``,
            ``postgresql://…``, or ``memory://`` for a store that ends with its process.
        vault_url: Where the wrapped keys live. By default beside an SQLite ledger in a
            file of its own, and on PostgreSQL in the schema ``muniment_vault``; name a
            database with backups of its own, so that no backup of the ledger alone can
            undo an erasure.
        key_file: File with the key-encryption key, mode 0600; made with a new store.
        key: The key-encryption key itself, 64 hexadecimal digits, instead of a file.
        ledger: Name of the ledger; one per tenant.
        content_limit: Most bytes of one content in UTF-8; metadata may have as many.
        lock_timeout: Seconds a writer waits for the append lock before it gives up.
        pool_size: Most database connections kept open by one store.
        archive_url: Where the archive lives: a directory, or a URL such as
            ``s3://bucket/path``. By default the directory ``archive`` beside an SQLite
            ledger; without one, on PostgreSQL, nothing can be archived.
        timestamp_url: Where an authority stamps packages of evidence, by RFC 3161; none
            is asked if left out.
        key_service: What gives the key-encryption keys instead of a file, as
            ``package.module:factory``; see `muniment.ledger.key_service`.
        tree_head_every: With every so many transactions a tree head is signed; 0 for
            only when one is asked for.
        qdrant_url: A Qdrant server for the current facts; by default they are held by
            Qdrant in this process, in the directory of the store.
        qdrant_api_key: What the Qdrant server wants to see.
        qdrant_timeout: Seconds it may take to answer.
        upkeep: Whether a store that is searched keeps its current facts up to date by a
            thread of its own.
        embedder: Who turns texts into vectors: ``local``, ``openai`` (any server that
            answers ``/v1/embeddings`` as OpenAI's does), ``hashing`` (for tests),
            ``none``, or ``auto``: local if its package is installed.
        embedding_base_url: Of the embedding server, up to and including ``/v1``.
        embedding_model: As that server names it.
        embedding_query_model: Its name for questions, where it has another for them.
        embedding_api_key: What that server wants to see.
        embedding_dimensions: Of its vectors; asked for at start if left out.
        embedding_timeout: Seconds one try may take.
        embedding_retries: How often a failed try is repeated.
        embedding_batch: Most texts in one request.
        search_memory: Most versions of facts that searches keep opened in memory, some
            4 kB each, and 2 kB more where they are arranged.
        half_life_days: After so many days a belief counts half as recent.
        half_lives: The same by category.
        synonyms: By word, other words that mean it.
        approve_above: A rollback, an erasure or the release of a hold by a principal that
            is about more facts than this waits for another's approval; never if left out.
        approvals_needed: How many others have to agree to a proposal.
        truth_sources: What these sources say of a shared fact wins over what others say.
        shared_policy: What becomes of a shared fact whose owner leaves: ``keep`` it for
            somebody else, ``archive`` it, or ``delete`` it for good.
        require_actor: Whether a write that does not say who does it is refused.
        receipts: Whether each recall of the present leaves a receipt.
        receipt_window: Seconds a receipt may wait for others, to be recorded together;
            what a killed process can lose.
        receipt_queue: Most receipts that wait; then recalls wait for them.
        request_limit: Most bytes of one request to the service.
        rate_limit: Requests a minute of one API key, or one subject of tokens.
        jwt_issuer: Whose tokens the service takes; nobody's if left out.
        jwt_audience: Whom a token has to be for.
        jwt_jwks_url: Where the issuer publishes its keys.
        jwt_algorithm: The one algorithm its tokens are signed with.
        jwt_tenant_claim: The claim that names the tenant.
        jwt_roles_claim: The claim that lists groups or roles.
        jwt_role_map: By value of that claim, the role or membership it stands for.
    """

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - checked by pydantic
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(each) for each in first["loc"])
            raise ConfigurationError(
                f"setting {name} cannot be {first['input']!r}: {first['msg']}",
                f"set MUNIMENT_{name.upper()}, or pass it, as documented",
            ) from error
        except SettingsError as error:
            raise ConfigurationError(
                f"{error}, which is no JSON ({error.__cause__})",
                'set it as documented, such as ["a"] for a list and {"a": "b"} for a map',
            ) from error

    @field_validator("*", mode="before")
    @classmethod
    def _number_in_digits(cls, value: object, info: ValidationInfo) -> object:
        """Refuse ``1_0`` for a number: Python alone reads ten there."""
        kind = cls.model_fields[str(info.field_name)].annotation
        is_number = not {kind, *get_args(kind)}.isdisjoint((int, float))
        if is_number and isinstance(value, str) and "_" in value:
            raise PydanticCustomError("digits", "a number is written in digits alone")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - so it is called
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """
        Leave out what has nothing to say: no file is read, and seldom the environment.

        Each source looks at the type of every setting again, a millisecond in all.
        """
        names = {f"{_PREFIX}{each.upper()}" for each in cls.model_fields}
        if names.isdisjoint(map(str.upper, os.environ)):
            return (init_settings,)
        return init_settings, env_settings

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid", frozen=True)

    database_url: str = "sqlite:///memory/ledger.db"
    vault_url: str | None = None
    key_file: Path | None = None
    key: SecretStr | None = None
    ledger: str = Field(default="main", pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    content_limit: int = Field(default=64 * 1024, ge=1, le=16 * 1024 * 1024)
    lock_timeout: float = Field(default=30.0, gt=0, le=3600)
    pool_size: int = Field(default=16, ge=1, le=1000)
    archive_url: str | None = None
    timestamp_url: str | None = Field(default=None, pattern=r"^https?://")
    key_service: str | None = None
    tree_head_every: int = Field(default=1_000, ge=0, le=1_000_000_000)
    qdrant_url: str | None = None
    qdrant_api_key: SecretStr | None = None
    qdrant_timeout: int = Field(default=10, ge=1, le=3600)
    upkeep: bool = True
    embedder: Literal["auto", "local", "openai", "hashing", "none"] = "auto"
    embedding_base_url: str | None = None
    embedding_model: str = "text-embedding-3-small"
    embedding_query_model: str | None = None
    embedding_api_key: SecretStr | None = None
    embedding_dimensions: int | None = Field(default=None, ge=1, le=65_536)
    embedding_timeout: float = Field(default=30.0, gt=0, le=3600)
    embedding_retries: int = Field(default=2, ge=0, le=20)
    embedding_batch: int = Field(default=64, ge=1, le=2048)
    search_memory: int = Field(default=100_000, ge=0)
    half_life_days: float = Field(default=180.0, gt=0)
    half_lives: dict[str, PositiveFloat] = {}
    synonyms: dict[str, list[str]] = {}
    approve_above: int | None = Field(default=None, ge=0)
    approvals_needed: int = Field(default=1, ge=1, le=10)
    truth_sources: frozenset[str] = frozenset()
    shared_policy: Literal["keep", "archive", "delete"] = "keep"
    require_actor: bool = False
    receipts: bool = True
    receipt_window: float = Field(default=0.05, ge=0, le=60)
    receipt_queue: int = Field(default=4096, ge=1, le=1_000_000)
    request_limit: int = Field(default=4 * 1024 * 1024, ge=1024, le=1024**3)
    rate_limit: int = Field(default=6_000, ge=1, le=10_000_000)
    jwt_issuer: str | None = None
    jwt_audience: str = "muniment"
    jwt_jwks_url: str | None = None
    jwt_algorithm: Literal["RS256", "ES256", "PS256", "EdDSA"] = "RS256"
    jwt_tenant_claim: str = "tenant"
    jwt_roles_claim: str = "roles"
    jwt_role_map: dict[str, str] = {}
