"""Requests that can never work as sent."""

from collections.abc import Sequence

from muniment.errors.categories import InvalidInput
from muniment.errors.wording import moment, shown


class InvalidTimeError(InvalidInput):
    """A value is not an instant that can be kept exactly."""

    def __init__(self, value: object, problem: str) -> None:
        self.value, self.problem = value, problem
        super().__init__(
            f"{shown(value)} {problem}; send an RFC 3339 time such as "
            "2026-03-15T09:30:00+08:00, or an aware datetime"
        )


class InvalidPeriodError(InvalidInput):
    """A period starts at or after its end."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        super().__init__(
            f"a period must start before it ends, not [{moment(start)}, {moment(end)}); "
            "swap the two times, or leave the end open"
        )


class InvalidScopeError(InvalidInput):
    """A scope names nobody, or in a way that cannot be kept exactly."""

    def __init__(self, value: object, problem: str) -> None:
        self.value, self.problem = value, problem
        super().__init__(
            f"scope {shown(value)} {problem}; name one of user:ID, team:ID, or org"
        )


class InvalidValueError(InvalidInput):
    """A field is outside its documented bounds."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field, self.value, self.expected = field, value, expected
        super().__init__(f"{field} must be {expected}, not {shown(value)}")


class ContentTooLargeError(InvalidInput):
    """More content than the store accepts."""

    def __init__(self, field: str, size: int, limit: int) -> None:
        self.field, self.size, self.limit = field, size, limit
        super().__init__(
            f"{field} is {size:,} bytes of UTF-8, the limit is {limit:,}; split it "
            "into facts, or raise MUNIMENT_CONTENT_LIMIT"
        )


class TransactionTooLargeError(InvalidInput):
    """More than one transaction can hold, sealed, so that it can be archived."""

    def __init__(self, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the transaction would hold {size:,} bytes, the limit is {limit:,}; do it in "
            "several, each with fewer items"
        )


class ReservedMetadataError(InvalidInput):
    """A metadata key would shadow a field of the fact."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"metadata key {shown(key)} is a field of every fact; pass it as that "
            "argument, or rename the key"
        )


class UnknownFieldError(InvalidInput):
    """A field nobody defined; refused so that a typing error is not lost silently."""

    def __init__(self, field: str, known: Sequence[str]) -> None:
        self.field, self.known = field, tuple(known)
        super().__init__(f"unknown field {shown(field)}; the fields are {', '.join(known)}")


class WriteAsOfError(InvalidInput):
    """A write names a point in the past to write at."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(
            f"a write takes no {field}: recorded time is the ledger's alone; "
            "leave it out, and say valid_from when it held in the world earlier"
        )


class ActorRequiredError(InvalidInput):
    """A write does not say who does it, where the settings want that said."""

    def __init__(self, verb: str, field: str) -> None:
        self.verb = verb
        self.field = field
        super().__init__(
            f"{verb} does not say who does it, which this store wants recorded: pass "
            f"{field}, or use acting_as"
        )


class FutureAsOfError(InvalidInput):
    """A recorded time that has not come; its answer could still change."""

    def __init__(self, asked: int, now: int) -> None:
        self.asked, self.now = asked, now
        super().__init__(
            f"nothing can be known as of {moment(asked)}, it is {moment(now)}; ask for "
            "now or earlier, or use valid_at for a time to come"
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
            f"transaction {tx_id} ({action}) changed no belief and made no summary; "
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


class ReadOnlyStoreError(InvalidInput):
    """A store on files, or in a directory, that this process may not write."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"{place} cannot be written, and an open store keeps a log beside its files: "
            "copy ledger, vault, key and archive to a directory that can be written, and "
            "open the copy, which answers and verifies the same"
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
