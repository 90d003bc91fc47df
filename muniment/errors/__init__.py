"""
Every error Muniment raises on purpose.

* MunimentError
  + InvalidInput                the request can never work as sent
    - InvalidTimeError          not an instant we can keep exactly
    - InvalidPeriodError        a period that does not start before it ends
    - InvalidScopeError         not a user, a team or the organisation
    - InvalidValueError         a field outside its documented bounds
    - ContentTooLargeError      more content than the store accepts
    - TransactionTooLargeError  more than one transaction can hold
    - ReservedMetadataError     metadata that would shadow a field of the fact
    - UnknownFieldError         a field nobody defined
    - WriteAsOfError            a write that names a point in the past
    - ActorRequiredError        a write that does not say who does it
    - FutureAsOfError           a recorded time that has not come
    - VersionBeyondHeadError    a version the fact never had
    - InvalidCursorError        a cursor that does not belong to this query
    - NothingToUndoError        a transaction that changed no belief
    - NotAStoreError            a place that holds something other than a store
    - ReadOnlyStoreError        a store on files that cannot be written
    - ConfigurationError        settings that contradict each other
    - LoadError                 lines of a file that cannot be loaded
    - ReasonRequiredError       a look at another's memory that says not why
    - RequestTooLargeError      a request body over the limit
  + NotFound                    the thing named is not there
    - UnknownFactError
    - UnknownTransactionError
    - UnknownSessionError
    - UnknownTurnError
    - UnknownHoldError
    - FactNotCurrentError       recorded once, but not believed now
    - FactRedactedError         its content was made unreadable for good
    - SubjectErasedError        its subject was erased
    - ThinnedError              of then, only the start of each year is kept
    - StoreNotFoundError
    - MissingKeyError           the key-encryption key is not where it should be
    - UnknownApiKeyError
    - UnknownProposalError
    - UnknownGlassError         no emergency access that waits for a review
  + Conflict                    the world moved: read again, then decide again
    - VersionConflictError
      . ChangeContestedError    ... of a shared fact: the change is kept
    - IdempotencyConflictError  the key was used for another request
    - ForgottenRequestError     ... for a memory that was erased since
    - HoldTakenError            a hold of that name was placed before
    - PlanOutdatedError         the subject changed after the plan was made
    - ProposalStateError        a proposal that is not what it has to be
    - KeyAlreadyIssuedError     an API key is shown once
    - SessionEndedError         nothing more can be said in it
    - SessionRedactedError      ... since it was made unreadable
    - WordsRedactedError        what is to be kept was redacted meanwhile
    - RollbackConflictError     others wrote on top of what would go
    - ArchiveAheadError         an older ledger was put back
    - LedgerNotEmptyError       only an empty one can be restored
    - ErasedImportError         what was imported before, and erased since
  + Forbidden                   the caller may not do this
    - AccessDeniedError         not to a memory it can read
    - OutOfReachError           not even know what there is
    - UnguardedVerbError        a verb that the table of rights does not know
    - ImpersonationError        a request in another's name
    - ForeignTenantError        a principal of another tenant
    - GlassAlreadyBrokenError   a second emergency access before a review
    - NotAuthenticatedError     nobody we know
    - ApprovalRequiredError     somebody else has to agree first
    - OwnProposalError          an answer to a proposal by who made it
  + Frozen                      writes to the subject are refused for now
    - SubjectFrozenError
  + Held                        a legal hold stands in the way
    - SubjectHeldError
  + Unavailable                 try later; nothing was written unless it says so
    - DatabaseUnavailableError
    - LedgerBusyError           the append lock did not come free in time
    - CommitUncertainError      the answer to a commit was lost
    - StoreClosedError
    - IndexUnavailableError     the engine of the current facts cannot answer
    - IndexHeldError            another process holds that engine
    - EmbedderUnavailableError  it cannot embed now, or answers nonsense
    - SummarizerUnavailableError  a model cannot summarise now, or answers nonsense
    - WitnessUnavailableError   a tree head could not be published
    - ArchiveUnavailableError   the archive cannot be reached
    - TimeStampUnavailableError  an authority did not stamp a package of evidence
    - RateLimitedError          more requests than a key has
    - ServiceUnavailableError   a service did not answer its client
    - IssuerUnavailableError    the keys to check tokens by cannot be had
  + Corruption                  stored data contradicts itself: stop, never retry
    - UnknownEventError         an event this version cannot read
    - NewerSchemaError          an event or a store written by a newer version
    - DamagedDatabaseError      a file the database cannot read
    - BrokenSealError           a payload that does not open under its key
    - VaultMismatchError        the vault belongs to another store
    - DamagedArchiveError       a file of the archive was altered, or is gone
    - IncompleteExportError     an export that would end short
    - TamperedError             what is stored is not what was recorded
    - ProjectionError           a projection does not follow from the ledger

The eight middle classes say what a caller should do and decide the HTTP status
and the exit code. Each leaf keeps its facts as attributes and writes its own
message, so no call site formats one.
"""

from muniment.errors.barred import (
    AccessDeniedError,
    ApprovalRequiredError,
    ForeignTenantError,
    GlassAlreadyBrokenError,
    ImpersonationError,
    IssuerUnavailableError,
    KeyAlreadyIssuedError,
    NotAuthenticatedError,
    OutOfReachError,
    OwnProposalError,
    ProposalStateError,
    RateLimitedError,
    ReasonRequiredError,
    RequestTooLargeError,
    ServiceUnavailableError,
    UnguardedVerbError,
    UnknownApiKeyError,
    UnknownGlassError,
    UnknownProposalError,
)
from muniment.errors.categories import (
    Conflict,
    Corruption,
    Forbidden,
    Frozen,
    Held,
    InvalidInput,
    MunimentError,
    NotFound,
    Unavailable,
)
from muniment.errors.faults import (
    ArchiveUnavailableError,
    BrokenSealError,
    CommitUncertainError,
    DamagedArchiveError,
    DamagedDatabaseError,
    DatabaseUnavailableError,
    EmbedderUnavailableError,
    IncompleteExportError,
    IndexHeldError,
    IndexUnavailableError,
    KeyServiceUnavailableError,
    LedgerBusyError,
    NewerSchemaError,
    ProjectionError,
    StoreClosedError,
    SummarizerUnavailableError,
    TamperedError,
    TimeStampUnavailableError,
    UnknownEventError,
    VaultMismatchError,
    WitnessUnavailableError,
)
from muniment.errors.invalid import (
    ActorRequiredError,
    ConfigurationError,
    ContentTooLargeError,
    FutureAsOfError,
    InvalidCursorError,
    InvalidPeriodError,
    InvalidScopeError,
    InvalidTimeError,
    InvalidValueError,
    LoadError,
    NotAStoreError,
    NothingToUndoError,
    ReadOnlyStoreError,
    ReservedMetadataError,
    TransactionTooLargeError,
    UnknownFieldError,
    VersionBeyondHeadError,
    WriteAsOfError,
)
from muniment.errors.missing import (
    FactNotCurrentError,
    FactRedactedError,
    MissingKeyError,
    StoreNotFoundError,
    SubjectErasedError,
    ThinnedError,
    UnknownFactError,
    UnknownHoldError,
    UnknownSessionError,
    UnknownTransactionError,
    UnknownTurnError,
)
from muniment.errors.refused import (
    ArchiveAheadError,
    ChangeContestedError,
    ErasedImportError,
    ForgottenRequestError,
    HoldTakenError,
    IdempotencyConflictError,
    LedgerNotEmptyError,
    PlanOutdatedError,
    RollbackConflictError,
    SessionEndedError,
    SessionRedactedError,
    SubjectFrozenError,
    SubjectHeldError,
    VersionConflictError,
    WordsRedactedError,
)


__all__ = [
    "AccessDeniedError",
    "ActorRequiredError",
    "ApprovalRequiredError",
    "ArchiveAheadError",
    "ArchiveUnavailableError",
    "BrokenSealError",
    "ChangeContestedError",
    "CommitUncertainError",
    "ConfigurationError",
    "Conflict",
    "ContentTooLargeError",
    "Corruption",
    "DamagedArchiveError",
    "DamagedDatabaseError",
    "DatabaseUnavailableError",
    "EmbedderUnavailableError",
    "ErasedImportError",
    "FactNotCurrentError",
    "FactRedactedError",
    "Forbidden",
    "ForeignTenantError",
    "ForgottenRequestError",
    "Frozen",
    "FutureAsOfError",
    "GlassAlreadyBrokenError",
    "Held",
    "HoldTakenError",
    "IdempotencyConflictError",
    "ImpersonationError",
    "IncompleteExportError",
    "IndexHeldError",
    "IndexUnavailableError",
    "InvalidCursorError",
    "InvalidInput",
    "InvalidPeriodError",
    "InvalidScopeError",
    "InvalidTimeError",
    "InvalidValueError",
    "IssuerUnavailableError",
    "KeyAlreadyIssuedError",
    "KeyServiceUnavailableError",
    "LedgerBusyError",
    "LedgerNotEmptyError",
    "LoadError",
    "MissingKeyError",
    "MunimentError",
    "NewerSchemaError",
    "NotAStoreError",
    "NotAuthenticatedError",
    "NotFound",
    "NothingToUndoError",
    "OutOfReachError",
    "OwnProposalError",
    "PlanOutdatedError",
    "ProjectionError",
    "ProposalStateError",
    "RateLimitedError",
    "ReadOnlyStoreError",
    "ReasonRequiredError",
    "RequestTooLargeError",
    "ReservedMetadataError",
    "RollbackConflictError",
    "ServiceUnavailableError",
    "SessionEndedError",
    "SessionRedactedError",
    "StoreClosedError",
    "StoreNotFoundError",
    "SubjectErasedError",
    "SubjectFrozenError",
    "SubjectHeldError",
    "SummarizerUnavailableError",
    "TamperedError",
    "ThinnedError",
    "TimeStampUnavailableError",
    "TransactionTooLargeError",
    "Unavailable",
    "UnguardedVerbError",
    "UnknownApiKeyError",
    "UnknownEventError",
    "UnknownFactError",
    "UnknownFieldError",
    "UnknownGlassError",
    "UnknownHoldError",
    "UnknownProposalError",
    "UnknownSessionError",
    "UnknownTransactionError",
    "UnknownTurnError",
    "VaultMismatchError",
    "VersionBeyondHeadError",
    "VersionConflictError",
    "WitnessUnavailableError",
    "WordsRedactedError",
    "WriteAsOfError",
]
