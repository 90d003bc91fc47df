"""Configuration: from arguments, or from ``MUNIMENT_*`` in the environment."""

from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from muniment.errors import ConfigurationError


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

    model_config = SettingsConfigDict(env_prefix="MUNIMENT_", extra="forbid", frozen=True)

    database_url: str = "sqlite:///memory/ledger.db"
    vault_url: str | None = None
    key_file: Path | None = None
    key: SecretStr | None = None
    ledger: str = Field(default="main", pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    content_limit: int = Field(default=64 * 1024, ge=1, le=16 * 1024 * 1024)
    lock_timeout: float = Field(default=30.0, gt=0, le=3600)
    pool_size: int = Field(default=16, ge=1, le=1000)
    archive_url: str | None = None
