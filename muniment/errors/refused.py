"""Requests the present state of the memory refuses."""

from collections.abc import Sequence

from muniment.errors.categories import Conflict, Frozen, Held
from muniment.errors.wording import shown


class VersionConflictError(Conflict):
    """The fact changed after the version the caller decided on."""

    def __init__(
        self, fact_id: str, expected: int, actual: int, *, remedy: str | None = None
    ) -> None:
        self.fact_id, self.expected, self.actual = fact_id, expected, actual
        remedy = remedy or f"read it again, then retry with expected_version={actual}"
        super().__init__(
            f"fact {fact_id} is at version {actual}, expected {expected}; {remedy}"
        )


class ChangeContestedError(VersionConflictError):
    """Others, or a source of truth, have said otherwise of a shared fact; this is kept."""

    def __init__(self, fact_id: str, expected: int, actual: int, proposal_id: str) -> None:
        self.proposal_id = proposal_id
        remedy = (
            f"what you sent is kept as proposal {proposal_id}: who leads this memory "
            "approves or rejects it"
        )
        super().__init__(fact_id, expected, actual, remedy=remedy)


class IdempotencyConflictError(Conflict):
    """The key was used for another request."""

    def __init__(self, key: str, tx_id: int) -> None:
        self.key, self.tx_id = key, tx_id
        super().__init__(
            f"idempotency key {shown(key)} was used by transaction {tx_id} for another "
            "request; use a new key for a new request"
        )


class ForgottenRequestError(Conflict):
    """The key was used for a request about a memory that was erased since."""

    def __init__(self, key: str, tx_id: int) -> None:
        self.key, self.tx_id = key, tx_id
        super().__init__(
            f"idempotency key {shown(key)} was used by transaction {tx_id} for a memory "
            "that was erased since, and what it asked for went with it; use a new key"
        )


class HoldTakenError(Conflict):
    """A hold of that name binds something else, or was released."""

    def __init__(self, hold_id: str) -> None:
        self.hold_id = hold_id
        super().__init__(
            f"hold {shown(hold_id)} was placed before, for something else or until it was "
            "released; place this one under another name, or under none"
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


class ArchiveAheadError(Conflict):
    """The archive holds what the ledger does not: an older ledger was put back."""

    def __init__(self, file: str, ledger: str) -> None:
        self.file, self.ledger = file, ledger
        super().__init__(
            f"the archive of ledger {ledger} is ahead of it, see {file}: an older backup "
            "was restored. Rebuild the ledger from the archive, or move that manifest and "
            "the later ones to another place"
        )


class LedgerNotEmptyError(Conflict):
    """A ledger that is to be restored, or imported into, holds something already."""

    def __init__(self, what: str, held: int) -> None:
        self.what, self.held = what, held
        super().__init__(f"{what} holds {held:,} events already; use an empty one")


class ErasedImportError(Conflict):
    """What is to be imported was imported before, and erased since."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(
            f"{scope} was imported from this ledger before and erased here since, and the "
            "same facts are not recorded twice; import it into another store, or remember "
            "anew what is to be known of it"
        )


class SessionRedactedError(Conflict):
    """All that was said in the session was made unreadable; nothing is added to it."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f"session {shown(session_id)} was redacted and takes no more turns; start "
            "another one"
        )


class WordsRedactedError(Conflict):
    """What a fact or a summary is drawn from is unreadable, or is to be; it is not kept."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f"turns of session {shown(session_id)} are redacted, or wait to be; keep only "
            "what is drawn from others"
        )


class SessionEndedError(Conflict):
    """Nothing more can be said in a session that ended."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id} has ended; start another one to go on")


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
