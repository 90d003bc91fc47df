"""From settings to an open ledger: databases, keys, migrations, projections."""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from muniment import migrations
from muniment.api.accounting import tell_what_was_lost
from muniment.api.key_files import KEY_FILE, default_key_file, key_ring
from muniment.api.places import check_place, check_writable
from muniment.api.recalling import ENGINE_DIRECTORY, Recall, open_recall
from muniment.archive.cold import ColdArchive
from muniment.clock import Clock, system_clock
from muniment.domain.time import BEGINNING, Instant
from muniment.errors import (
    DamagedDatabaseError,
    InvalidValueError,
    NotAStoreError,
    StoreNotFoundError,
    VaultMismatchError,
)
from muniment.instants import to_instant
from muniment.ledger import tables
from muniment.ledger.attesting import sign_every
from muniment.ledger.database import (
    connect,
    dispose,
    reading,
    sqlite_file,
    writing,
)
from muniment.ledger.ledger import Ledger
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.prepared import Prepared
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.tally import Tally
from muniment.ledger.vault import Vault
from muniment.projections.beliefs import Timeline
from muniment.projections.conversation import Conversation
from muniment.projections.memory_conversation import MemoryConversation
from muniment.projections.memory_timeline import MemoryTimeline
from muniment.projections.sql_conversation import SqlConversation
from muniment.projections.timeline import SqlTimeline
from muniment.settings import Settings


LEDGER_FILE = "ledger.db"
VAULT_FILE = "vault.db"
ARCHIVE_DIRECTORY = "archive"
VAULT_SCHEMA = "muniment_vault"

_MEMORY = "memory://"
_OURS = frozenset({LEDGER_FILE, VAULT_FILE, KEY_FILE, ENGINE_DIRECTORY, ARCHIVE_DIRECTORY})

ClockSource = Callable[[], datetime | Instant]
"""A clock for tests and demonstrations: gives aware datetimes, or instants."""


@dataclass(frozen=True, slots=True)
class OpenLedger:
    """
    A ledger with its read models, open.

    Attributes:
        place: The directory or URL, without a password.
        tally: Counts receipts that are not recorded yet.
        archive: Where the archive is, if anybody said.
        leave: Called once the ledger is closed.
    """

    ledger: Ledger
    timeline: Timeline
    conversation: Conversation
    recall: Recall
    place: str
    tally: Tally
    leave: Callable[[], object] | None = None
    archive: str | None = None


def settings_for(target: Settings | Path | str | None) -> Settings:
    """Return the settings of the store that *target* names."""
    match target:
        case Settings():
            return target
        case None:
            return Settings()
        case str() | Path():
            return Settings(database_url=url_of(target))
        case _:
            raise InvalidValueError("target", target, "a directory, a URL or Settings")


def url_of(place: Path | str) -> str:
    """Return the database of the store at *place*, a directory or a URL."""
    if isinstance(place, str) and "://" in place:
        return place
    if "\0" in str(place) or str(place) in ("", "memory:"):
        raise InvalidValueError("target", str(place), "a directory, a URL or Settings")
    return _url_of(Path(place) / LEDGER_FILE)


def open_ledger(
    settings: Settings,
    *,
    clock: ClockSource | None,
    create: bool,
    with_vault: bool = False,
) -> OpenLedger:
    """
    Open the ledger that *settings* names.

    Args:
        settings: Where it is.
        clock: Instead of the machine's or the database server's clock.
        create: Make it if there is none.
        with_vault: Make only the ledger, for a vault that is there.

    Raises:
        StoreNotFoundError: If there is none, and none is to be made.
        NotAStoreError: If the place holds something else.
        ReadOnlyStoreError: If its files cannot be written.
        MissingKeyError: If the key-encryption key is gone.
        VaultMismatchError: If vault, key and ledger do not belong together.
        DamagedDatabaseError: If a file of it is damaged, or the ledger gone.
        NewerSchemaError: If a newer version of Muniment upgraded it.
    """
    if settings.database_url == _MEMORY:
        return _in_memory(settings, clock)
    check_place(settings.database_url, create=create, ours=_OURS)
    with ExitStack() as undone:
        opened = _open(settings, clock, create=create, with_vault=with_vault, undone=undone)
        undone.pop_all()
        return opened


def _open(
    settings: Settings,
    clock: ClockSource | None,
    *,
    create: bool,
    with_vault: bool,
    undone: ExitStack,
) -> OpenLedger:
    """Open what *settings* names; *undone* lets go of it again if that fails."""
    engine = _connected(settings.database_url, settings, schema=None)
    undone.callback(dispose, engine)
    is_made = migrations.exists(engine)
    if not is_made and not create:
        raise StoreNotFoundError(_shown(settings.database_url))
    migrations.upgrade(engine, "ledger", lock_timeout=settings.lock_timeout)
    vault = _vault(settings, has_ledger=with_vault or _has_ledger(engine))
    undone.callback(vault.close)
    source = _clock(clock)
    if source is None and engine.dialect.name == "sqlite":
        source = system_clock
    _enrol(engine, settings, vault, create=create, anew=with_vault)
    recorder = SqlRecorder(
        engine,
        ledger=settings.ledger,
        clock=source,
        lock_timeout=settings.lock_timeout,
        pool_size=settings.pool_size,
    )
    timeline = SqlTimeline(recorder)
    conversation = SqlConversation(recorder)
    ledger = Ledger(recorder, vault, timeline, settings.ledger, conversation)
    timeline.bind(ledger.mapper)
    sign_every(ledger, settings.tree_head_every)
    recall = open_recall(settings, ledger, timeline, conversation)
    place = _shown(settings.database_url)
    directory, name = _tally_place(settings), f"{vault.vault_id}-{settings.ledger}"
    tell_what_was_lost(ledger, directory, name)
    tally = Tally(directory, name)
    archive = archive_place(settings)
    recorder.cold = ColdArchive(recorder, archive)
    return OpenLedger(ledger, timeline, conversation, recall, place, tally, archive=archive)


def _in_memory(settings: Settings, clock: ClockSource | None) -> OpenLedger:
    """Return a ledger that ends with its process; its keys alone touch a disk, wrapped."""
    place = Path(tempfile.mkdtemp(prefix="muniment-"))
    vault_url = settings.vault_url or _url_of(place / VAULT_FILE)
    key_file = settings.key_file or place / KEY_FILE
    located = settings.model_copy(update={"vault_url": vault_url, "key_file": key_file})
    recorder = MemoryRecorder(_clock(clock) or system_clock, ledger=settings.ledger)
    timeline = MemoryTimeline(recorder)
    conversation = MemoryConversation(recorder)
    vault = _vault(located, has_ledger=False)
    ledger = Ledger(recorder, vault, timeline, settings.ledger, conversation)
    timeline.bind(ledger.mapper)
    sign_every(ledger, settings.tree_head_every)
    removed = weakref.finalize(ledger, shutil.rmtree, place, ignore_errors=True)
    recall = open_recall(settings, ledger, timeline, conversation)
    tally = Tally(None, settings.ledger)
    archive = settings.archive_url or str(place / ARCHIVE_DIRECTORY)
    recorder.cold = ColdArchive(recorder, archive)
    return OpenLedger(
        ledger, timeline, conversation, recall, _MEMORY, tally, removed, archive
    )


def _connected(url: str, settings: Settings, *, schema: str | None) -> sa.Engine:
    return connect(
        url,
        lock_timeout=settings.lock_timeout,
        pool_size=settings.pool_size,
        schema=schema,
        ledger=settings.ledger,
    )


def _has_ledger(engine: sa.Engine) -> bool:
    """Whether a ledger was ever made: only then its vault must be there, too."""
    with reading(engine) as connection:
        return _ANY_LEDGER.first(connection) is not None


_ANY_LEDGER = Prepared(sa.select(tables.ledger.c.ledger).limit(1))
_ENROLLED = Prepared(
    sa.select(tables.ledger.c.vault_id, tables.ledger.c.key_mark).where(
        tables.ledger.c.ledger == sa.bindparam("ledger")
    )
)


def _vault(settings: Settings, *, has_ledger: bool) -> Vault:
    url, schema = _vault_place(settings)
    file = sqlite_file(url)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        check_writable(file)
    with ExitStack() as undone:
        engine = _connected(url, settings, schema=schema)
        undone.callback(dispose, engine)
        try:
            has_vault = (file is None or file.exists()) and migrations.exists(engine)
        except NotAStoreError as error:
            raise VaultMismatchError(
                f"what stands at {_shown(url)} for a vault is no database"
            ) from error
        if has_ledger and not has_vault:
            raise VaultMismatchError(
                f"the vault at {_shown(url)} is gone, and with it every key: no content "
                "can be read"
            )
        ring = key_ring(settings, create=not has_vault)
        timeout = settings.lock_timeout
        migrations.upgrade(engine, "vault", lock_timeout=timeout, schema=schema)
        vault = Vault(engine, ledger=settings.ledger, keys=ring, lock_timeout=timeout)
        undone.pop_all()
    return vault


def _vault_place(settings: Settings) -> tuple[str, str | None]:
    """Return the URL of the vault, and the schema it has there."""
    if settings.vault_url is not None:
        is_server = sqlite_file(settings.vault_url) is None
        return settings.vault_url, VAULT_SCHEMA if is_server else None
    file = sqlite_file(settings.database_url)
    if file is None:
        return settings.database_url, VAULT_SCHEMA
    return _url_of(file.parent / VAULT_FILE), None


def archive_place(settings: Settings) -> str | None:
    """Return where the archive of a store is, if anybody said."""
    if settings.archive_url is not None:
        return settings.archive_url
    file = sqlite_file(settings.database_url)
    return None if file is None else str(file.parent / ARCHIVE_DIRECTORY)


def _tally_place(settings: Settings) -> Path:
    """Return where the tallies of receipts are kept: beside the ledger, or at home."""
    file = sqlite_file(settings.database_url)
    return file.parent if file else default_key_file(settings).parent


def _enrol(
    engine: sa.Engine, settings: Settings, vault: Vault, *, create: bool, anew: bool
) -> None:
    """Make the row of this ledger, *anew* where it is gone, or see whose vault this is."""
    with reading(engine) as connection:
        enrolled = _ENROLLED.first(connection, ledger=settings.ledger)
    vault_id, key_mark = enrolled or (None, None)
    if vault_id is None and not create:
        place = f"{_shown(settings.database_url)}, ledger {settings.ledger}"
        raise StoreNotFoundError(place)
    if vault_id is None:
        with writing(engine, lock_timeout=settings.lock_timeout) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE"))
            enrolled = _ENROLLED.first(connection, ledger=settings.ledger)
            vault_id = enrolled[0] if enrolled else vault.vault_id
            if enrolled is None:
                if not anew and next(vault.subjects(), None) is not None:
                    raise DamagedDatabaseError(
                        f"ledger {settings.ledger} is gone from "
                        f"{_shown(settings.database_url)}, the vault has its keys"
                    )
                row = {
                    "ledger": settings.ledger,
                    "created_at_us": system_clock(),
                    "vault_id": vault_id,
                    "horizon_us": BEGINNING,
                    "key_mark": 0,
                }
                connection.execute(sa.insert(tables.ledger), row)
    if vault_id != vault.vault_id:
        raise VaultMismatchError(
            f"ledger {settings.ledger} belongs to vault {vault_id}, not {vault.vault_id}"
        )
    if key_mark is not None and key_mark >= vault.next_key_id():
        raise VaultMismatchError(
            f"the vault is older than ledger {settings.ledger}: keys up to {key_mark} are "
            "missing, a backup of it was restored alone"
        )


def _clock(source: ClockSource | None) -> Clock | None:
    if source is None:
        return None

    def clock() -> Instant:
        now: object = source()
        if isinstance(now, datetime):
            return to_instant(now)
        if not isinstance(now, int):
            expected = "an aware datetime or whole microseconds since 1970"
            raise InvalidValueError("what clock gives", now, expected)
        return Instant(now)

    return clock


def _url_of(file: Path) -> str:
    """Return the URL of *file*, whose name may hold what means something in a URL."""
    return f"sqlite:///{quote(str(file))}"


def _shown(url: str) -> str:
    """Return *url* as a person knows it: the directory, or the URL without its password."""
    file = sqlite_file(url)
    return (
        str(file.parent) if file else sa.make_url(url).render_as_string(hide_password=True)
    )
