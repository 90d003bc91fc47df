"""
Every error Muniment raises on purpose.

* MunimentError
  + InvalidInput                the request can never work as sent
    - InvalidTimeError          not an instant we can keep exactly
    - InvalidPeriodError        a period that does not start before it ends
    - InvalidScopeError         not a user, a team or the organisation
    - InvalidValueError         a field outside its documented bounds
    - ContentTooLargeError      more content than the store accepts
    - ReservedMetadataError     metadata that would shadow a field of the fact
    - UnknownFieldError         a field nobody defined
    - WriteAsOfError            a write that names a point in the past
    - FutureAsOfError           a recorded time that has not come
    - VersionBeyondHeadError    a version the fact never had
    - InvalidCursorError        a cursor that does not belong to this query
    - NothingToUndoError        a transaction that changed no belief
    - NotAStoreError            a place that holds something other than a store
    - ConfigurationError        settings that contradict each other
    - LoadError                 lines of a file that cannot be loaded
  + NotFound                    the thing named is not there
    - UnknownFactError
    - UnknownTransactionError
    - FactNotCurrentError       recorded once, but not believed now
    - FactRedactedError         its content was made unreadable for good
    - SubjectErasedError        its subject was erased
    - StoreNotFoundError
    - MissingKeyError           the key-encryption key is not where it should be
  + Conflict                    the world moved: read again, then decide again
    - VersionConflictError
    - IdempotencyConflictError  the key was used for another request
    - PlanOutdatedError         the subject changed after the plan was made
    - RollbackConflictError     others wrote on top of what would go
  + Forbidden                   the caller may not do this
  + Frozen                      writes to the subject are refused for now
    - SubjectFrozenError
  + Held                        a legal hold stands in the way
    - SubjectHeldError
  + Unavailable                 try later; nothing was written unless it says so
    - DatabaseUnavailableError
    - LedgerBusyError           the append lock did not come free in time
    - CommitUncertainError      the answer to a commit was lost
    - StoreClosedError
  + Corruption                  stored data contradicts itself: stop, never retry
    - UnknownEventError         an event this version cannot read
    - NewerSchemaError          an event or a store written by a newer version
    - BrokenSealError           a payload that does not open under its key
    - VaultMismatchError        the vault belongs to another store
    - ProjectionError           a projection does not follow from the ledger

The eight middle classes say what a caller should do and decide the HTTP status
and the exit code. Each leaf keeps its facts as attributes and writes its own
message, so no call site formats one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta


class MunimentError(Exception):
    """Base of every error raised on purpose."""


class InvalidInput(MunimentError):
    """The request can never work as sent."""


class NotFound(MunimentError):
    """The thing named is not there."""


class Conflict(MunimentError):
    """The world moved; read again, then decide again."""


class Forbidden(MunimentError):
    """The caller may not do this."""


class Frozen(MunimentError):
    """Writes to the subject are refused while an incident is looked into."""


class Held(MunimentError):
    """A legal hold stands in the way."""


class Unavailable(MunimentError):
    """Try later; nothing was written unless the message says so."""


class Corruption(MunimentError):
    """Stored data contradicts itself; stop, never retry."""


class InvalidTimeError(InvalidInput):
    """A value is not an instant that can be kept exactly."""

    def __init__(self, value: object, problem: str) -> None:
        self.value, self.problem = value, problem
        super().__init__(
            f"{_shown(value)} {problem}; send an RFC 3339 time such as "
            "2026-03-15T09:30:00+08:00, or an aware datetime"
        )


class InvalidPeriodError(InvalidInput):
    """A period starts at or after its end."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        super().__init__(
            f"a period must start before it ends, not [{_time(start)}, {_time(end)}); "
            "swap the two times, or leave the end open"
        )


class InvalidScopeError(InvalidInput):
    """A scope names nobody, or in a way that cannot be kept exactly."""

    def __init__(self, value: object, problem: str) -> None:
        self.value, self.problem = value, problem
        super().__init__(
            f"scope {_shown(value)} {problem}; name one of user:ID, team:ID, or org"
        )


class InvalidValueError(InvalidInput):
    """A field is outside its documented bounds."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field, self.value, self.expected = field, value, expected
        super().__init__(f"{field} must be {expected}, not {_shown(value)}")


class ContentTooLargeError(InvalidInput):
    """More content than the store accepts."""

    def __init__(self, field: str, size: int, limit: int) -> None:
        self.field, self.size, self.limit = field, size, limit
        super().__init__(
            f"{field} is {size:,} bytes of UTF-8, the limit is {limit:,}; split it "
            "into facts, or raise MUNIMENT_CONTENT_LIMIT"
        )


class ReservedMetadataError(InvalidInput):
    """A metadata key would shadow a field of the fact."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"metadata key {_shown(key)} is a field of every fact; pass it as that "
            "argument, or rename the key"
        )


class UnknownFieldError(InvalidInput):
    """A field nobody defined; refused so that a typing error is not lost silently."""

    def __init__(self, field: str, known: Sequence[str]) -> None:
        self.field, self.known = field, tuple(known)
        super().__init__(
            f"unknown field {_shown(field)}; the fields are {', '.join(known)}"
        )


class WriteAsOfError(InvalidInput):
    """A write names a point in the past to write at."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(
            f"a write takes no {field}: recorded time is the ledger's alone; "
            "leave it out, and say valid_from when it held in the world earlier"
        )


class FutureAsOfError(InvalidInput):
    """A recorded time that has not come; its answer could still change."""

    def __init__(self, asked: int, now: int) -> None:
        self.asked, self.now = asked, now
        super().__init__(
            f"nothing can be known as of {_time(asked)}, now is {_time(now)}; ask for now or "
            "earlier, or use valid_at for a time to come"
        )


class VersionBeyondHeadError(InvalidInput):
    """A version the fact never had."""

    def __init__(self, fact_id: str, version: int, head: int) -> None:
        self.fact_id, self.version, self.head = fact_id, version, head
        super().__init__(
            f"fact {fact_id} has versions 1 to {head}, not {version}; "
            "see its history for what each one said"
        )


class InvalidCursorError(InvalidInput):
    """A cursor that was altered, or made by another query."""

    def __init__(self) -> None:
        super().__init__(
            "the cursor does not belong to this query; start again without a cursor"
        )


class NothingToUndoError(InvalidInput):
    """A transaction that changed no belief."""

    def __init__(self, tx_id: int, action: str) -> None:
        self.tx_id, self.action = tx_id, action
        super().__init__(
            f"transaction {tx_id} ({action}) changed no belief; "
            "a freeze is ended by thaw, a hold by release"
        )


class NotAStoreError(InvalidInput):
    """A place that holds something other than a store."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(
            f"{place} is not a Muniment store: {problem}; name a store, or an "
            "empty or new directory to make one in"
        )


class ConfigurationError(InvalidInput):
    """Settings that contradict each other or name what does not exist."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}; {remedy}")


class LoadError(InvalidInput):
    """Lines of a file that cannot be loaded."""

    def __init__(self, problems: Sequence[tuple[int, str]], *, loaded: int) -> None:
        self.problems, self.loaded = tuple(problems), loaded
        lines = "; ".join(f"line {number}: {problem}" for number, problem in problems[:5])
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""  # noqa: PLR2004
        super().__init__(
            f"{len(problems)} bad lines, {loaded} facts loaded: {lines}{more}; mend "
            "them and load the file again, what is loaded is not loaded twice"
        )


class UnknownFactError(NotFound):
    """No event was ever recorded for this fact, or its subject was erased."""

    def __init__(self, fact_id: str) -> None:
        self.fact_id = fact_id
        super().__init__(f"no such fact: {_shown(fact_id)}; list facts to see their ids")


class UnknownTransactionError(NotFound):
    """The ledger holds no such transaction."""

    def __init__(self, tx_id: object) -> None:
        self.tx_id = tx_id
        super().__init__(
            f"no such transaction: {_shown(tx_id)}; blame and history show them"
        )


class FactNotCurrentError(NotFound):
    """The fact was recorded, but nothing about it is believed now."""

    def __init__(self, fact_id: str, why: str) -> None:
        self.fact_id, self.why = fact_id, why
        super().__init__(
            f"fact {fact_id} is not believed now: {why}; its history still shows it"
        )


class FactRedactedError(NotFound):
    """The content of the fact was made unreadable for good."""

    def __init__(self, fact_id: str) -> None:
        self.fact_id = fact_id
        super().__init__(f"fact {fact_id} was redacted and stays so; remember a new fact")


class SubjectErasedError(NotFound):
    """The subject was erased while the request was under way."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"the memory of {scope} was erased; write again to start afresh")


class StoreNotFoundError(NotFound):
    """There is no store at the place named."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"no store at {place}; check the name, or make one with: muniment init"
        )


class MissingKeyError(NotFound):
    """The key-encryption key is not where the settings say."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"the key-encryption key is missing: {place}; without it nothing remembered "
            "can be read. Put the key back, or name it with MUNIMENT_KEY_FILE or "
            "MUNIMENT_KEY"
        )


class VersionConflictError(Conflict):
    """The fact changed after the version the caller decided on."""

    def __init__(self, fact_id: str, expected: int, actual: int) -> None:
        self.fact_id, self.expected, self.actual = fact_id, expected, actual
        super().__init__(
            f"fact {fact_id} is at version {actual}, expected {expected}; read it again, "
            f"then retry with expected_version={actual}"
        )


class IdempotencyConflictError(Conflict):
    """The key was used for another request."""

    def __init__(self, key: str, tx_id: int) -> None:
        self.key, self.tx_id = key, tx_id
        super().__init__(
            f"idempotency key {_shown(key)} was used by transaction {tx_id} for another "
            "request; use a new key for a new request"
        )


class PlanOutdatedError(Conflict):
    """The subject changed after the plan was made."""

    def __init__(self, planned_at: int, moved_at: int) -> None:
        self.planned_at, self.moved_at = planned_at, moved_at
        super().__init__(
            f"the plan was made at position {planned_at}, its subject changed at "
            f"position {moved_at}; plan again and look at the new diff"
        )


class RollbackConflictError(Conflict):
    """Others wrote on top of what would be rolled back."""

    def __init__(self, fact_ids: Sequence[str]) -> None:
        self.fact_ids = tuple(fact_ids)
        super().__init__(
            f"others wrote on top of {len(fact_ids)} facts: {', '.join(fact_ids)}; look at "
            'the plan, then choose on_conflict="skip" to leave these, or "force"'
        )


class SubjectFrozenError(Frozen):
    """Writes to the subject are refused until it is thawed."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(
            f"{scope} is frozen while an incident is looked into; thaw it before writing"
        )


class SubjectHeldError(Held):
    """A legal hold stands in the way of making content unreadable."""

    def __init__(self, scope: str, holds: Sequence[str]) -> None:
        self.scope, self.holds = scope, tuple(holds)
        super().__init__(
            f"{scope} is under legal hold ({', '.join(holds)}); release every hold first"
        )


class DatabaseUnavailableError(Unavailable):
    """The database cannot be reached, or gave up."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the database is unavailable: {problem}; nothing was written")


class LedgerBusyError(Unavailable):
    """The append lock did not come free in time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"another writer held the ledger for {seconds:g} s; nothing was written, "
            "try again"
        )


class CommitUncertainError(Unavailable):
    """The answer to a commit was lost; it may or may not have been stored."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the connection broke during commit ({problem}); it may have been stored. "
            "Repeat the request with the same idempotency_key to learn which"
        )


class StoreClosedError(Unavailable):
    """The store was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed; open it again with MemoryStore.open")


class UnknownEventError(Corruption):
    """The ledger holds an event this version of Muniment cannot read."""

    def __init__(self, topic: str, place: str) -> None:
        self.topic, self.place = topic, place
        super().__init__(f"unknown event {_shown(topic)} at {place}; upgrade Muniment")


class NewerSchemaError(Corruption):
    """An event or a store written by a newer version of Muniment."""

    def __init__(self, what: str, found: str, known: str) -> None:
        self.what, self.found, self.known = what, found, known
        super().__init__(
            f"{what} has schema {found}, this version knows {known}; upgrade Muniment, "
            "nothing was touched"
        )


class BrokenSealError(Corruption):
    """A sealed payload does not open under its key: it was altered or moved."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"the sealed content at {place} does not open under its key; it was altered "
            "or moved. Stop, keep the files, and compare with a backup"
        )


class VaultMismatchError(Corruption):
    """The vault belongs to another store, or to another key."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{problem}; put the vault and the key of this store back")


class ProjectionError(Corruption):
    """A projection does not follow from the ledger."""

    def __init__(self, projection: str, position: int, problem: str) -> None:
        self.projection, self.position, self.problem = projection, position, problem
        super().__init__(
            f"projection {projection} stops at position {position}: {problem}; "
            "the ledger is untouched, see: muniment rebuild"
        )


def _shown(value: object) -> str:
    """Return *value* quoted and short enough for one line of a log."""
    text = (
        ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    )
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"  # noqa: PLR2004


def _time(instant: int) -> str:
    """Return microseconds since 1970 as RFC 3339; in words where no calendar reaches."""
    try:
        shown = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    except OverflowError:
        return "the beginning" if instant < 0 else "forever"
    return shown.isoformat(timespec="microseconds").replace("+00:00", "Z")
