"""What commands answer that the store itself does not give back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from muniment.api import answers, certificates


if TYPE_CHECKING:
    from datetime import datetime

    from muniment import Difference, Progress
    from muniment.api.accesses import AccessLog, EmergencyPage
    from muniment.api.contexts import Context
    from muniment.api.credentials import ApiKey
    from muniment.api.custody import Hold, Verification
    from muniment.api.diagnoses import Diagnosis
    from muniment.api.entrusting import HandedOver, SharedFact
    from muniment.api.found import SearchHits
    from muniment.api.giving import Evidence
    from muniment.api.importing import Imported
    from muniment.api.loading import Loaded
    from muniment.api.proposed import Proposal, ProposalPage
    from muniment.api.receipts import RecallReceipt
    from muniment.api.replaying import Badcase
    from muniment.api.retaining import Retirement
    from muniment.api.retention_report import RetentionReport
    from muniment.api.summaries import Summary
    from muniment.api.turns import Session, Turn
    from muniment.archive.told import ArchivePlan, Rows
    from muniment.domain.access import Principal
    from muniment.domain.text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Modified:
    """The facts of which something was recorded in a span."""

    modified: tuple[answers.ModifiedFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blamed:
    """Who said what is believed."""

    blame: tuple[answers.BlameEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """
    A store that is there now.

    Attributes:
        store: Its directory or URL, without a password.
        created: Whether it was not there before.
    """

    store: str
    ledger: str
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """A timeline folded anew; *beliefs* counts its rectangles."""

    beliefs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """
    A story that came out as it says.

    Attributes:
        store: Where it can be asked about.
        user: Whose memory it is.
        events: How many lines of the story happened.
        checked: How many answers were compared with what the story says.
        try_next: Commands to go on with.
    """

    store: str
    user: str
    events: int
    checked: int
    try_next: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """
    That an event stands in the ledger.

    Attributes:
        envelope: What the proof is about, its bytes in base64; if it was asked for.
    """

    proof: str
    envelope: Mapping[str, str | int] | None

    @property
    def text(self) -> str:
        return self.proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """That the ledger continues what it was."""

    proof: str

    @property
    def text(self) -> str:
        return self.proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A signed tree head, and where else it is kept now."""

    note: str
    published_to: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.note


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Who signs for a ledger; *public_key* is in base64."""

    verifier_key: str
    origin: str
    public_key: str

    @property
    def text(self) -> str:
        return f"{self.verifier_key}\n"


Text: TypeAlias = Inclusion | Consistency | Head | Signer
"""What is text of its own, to be kept or sent on as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The legal holds in force."""

    holds: "tuple[Hold, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """The certificate of an erasure; ``None`` when there is none."""

    certificate: certificates.ErasureCertificate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What rules retire and thin now."""

    due: "tuple[Retirement, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """
    What rules did.

    Attributes:
        retired: Facts that are not used any more.
        thinned: Facts whose old history went.
        expired: How many records went, by kind.
    """

    retired: tuple[str, ...]
    thinned: tuple[str, ...]
    expired: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """How many keys were wrapped anew."""

    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRun:
    """What a run wrote to the archive, and how many payloads left the database."""

    segments: int
    events: int
    byte_count: int
    last_position: int
    pruned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FromArchive:
    """
    A ledger made anew from its archive.

    Attributes:
        signed: How many events were recorded when the archive was last written.
    """

    events: int
    last_position: int
    signed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """The moment of an answer, and the files it was written to."""

    case: "Badcase"
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """
    How far the index of current facts is.

    Attributes:
        applied: Of so many *events*.
        pending: How many versions could not be embedded so far.
        model: The embedder in use; empty for none, ``None`` where another process has it.
        problem: What keeps it from going on, or ``None``.
    """

    applied: int
    events: int
    pending: int
    model: str | None
    problem: str | None

    @classmethod
    def of(cls, progress: "Progress") -> Self:
        problem = progress.stopped or progress.waiting
        generation = progress.generation
        return cls(
            applied=progress.reached,
            events=progress.head,
            pending=progress.pending,
            model=None if generation is None else generation.model,
            problem=None if problem is None else str(problem),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What the index held otherwise than the ledger says, and whether it was mended."""

    differences: "tuple[Difference, ...]"
    mended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What a team or all know now, and who answers for it."""

    shared: "tuple[SharedFact, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """The conversations of somebody."""

    sessions: "tuple[Session, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """What was said."""

    turns: "tuple[Turn, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    """Conversations in fewer words."""

    summaries: "tuple[Summary, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """A summary that is no longer used."""

    session_id: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What was drawn from a turn."""

    versions: tuple[answers.FactVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """What agents were given."""

    receipts: "tuple[RecallReceipt, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """When a fact was given to an agent."""

    uses: "tuple[datetime, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """How many receipts were lost, at most."""

    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How agents were set up, by name."""

    configuration: "Mapping[str, Json]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Every API key there ever was."""

    keys: "tuple[ApiKey, ...]"


Answer: TypeAlias = (
    "answers.Fact | answers.FactHistory | answers.MemoryDiff | answers.MemorySnapshot"
    "| answers.Page | answers.Receipt | answers.RollbackPlan"
    "| certificates.ErasureCertificate | certificates.ErasurePlan | Verification"
    "| AccessLog | EmergencyPage | Keys | Principal"
    "| SearchHits | Blamed | Certified | Diagnosis | Due | Held | Indexed | Loaded"
    "| Made | Modified | Rebuilt | Reconciled | Reproduced | Retained | Rotated | Told"
    "| Proposal | ProposalPage | Shared | HandedOver"
    "| Session | Sessions | Turn | Turns | Summaries | Withdrawn | Drawn"
    "| Context | Receipts | Uses | Lost | Configuration"
    "| ArchivePlan | ArchiveRun | Evidence | FromArchive | Imported | Rows"
    "| RetentionReport"
)
"""What a command answers, once."""
