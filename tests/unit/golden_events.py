"""
Events whose bytes are kept in `tests/golden`, by topic: as full, and as bare, as can be.

A golden file is written once, when its schema is new, and never changed or deleted: it
stands for ledgers that exist. When a schema is raised, the examples here move to the new
topic, and the old file stays as something that must still be read.
"""

from muniment.domain.access_events import (
    AccessRecorded,
    ApiKeyIssued,
    ApiKeyRevoked,
    FactShared,
    GlassBroken,
    GlassReviewed,
    Inquiry,
    KeyHolder,
    ProposalApproved,
    ProposalCarriedOut,
    ProposalMade,
    ProposalRejected,
    Proposed,
)
from muniment.domain.events import (
    Content,
    ErasureDeferred,
    Event,
    Evidence,
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRevised,
    FactRolledBack,
    FactThinned,
    HoldPlaced,
    HoldReleased,
    RecordsExpired,
    RedactionDeferred,
    RequestAnswered,
    RetireCause,
    RevisionCause,
    Status,
    SubjectDisclosed,
    SubjectErased,
    SubjectFrozen,
    SubjectThawed,
    SubjectThinned,
    Traits,
    WordsRedactionDeferred,
)
from muniment.domain.keeping import DAY_US, Records
from muniment.domain.receipt import (
    ConfigurationRecorded,
    Recall,
    ReceiptLeft,
    ReceiptsLost,
    Setting,
)
from muniment.domain.session import (
    Opening,
    Role,
    SessionEnded,
    SessionRedacted,
    SessionStarted,
    SummaryMade,
    SummaryTrigger,
    SummaryWithdrawn,
    TurnAdded,
    TurnRedacted,
    TurnsExpired,
    Words,
)
from muniment.domain.time import BEGINNING, FOREVER, Instant, Period


MARCH = Instant(1_772_323_200_000_000)
APRIL = Instant(1_775_001_600_000_001)
"""The digest of what an event says, as far as it says something."""

_full_traits = Traits(
    category="profession",
    attribute="primary_language",
    status=Status.ACTIVE,
    confidence=0.75,
    importance=0.5,
    core=True,
    expires_at=APRIL,
)
_bare_traits = Traits(
    category=None,
    attribute=None,
    status=Status.ACTIVE,
    confidence=1.0,
    importance=0.0,
    core=False,
    expires_at=None,
)
_full_evidence = Evidence(
    source="tool_result",
    source_turns=("t-2", "t-1"),
    entities=("Rust", "北京"),
    metadata={"z": 1, "a": [None, True, 0.5, {"深": "度"}], "big": 2**62, "": ""},
    claimed_at=MARCH,
)
_bare_evidence = Evidence(
    source="user_explicit", source_turns=(), entities=(), metadata={}, claimed_at=None
)
_full_recall = Recall(
    query="写什么语言?",
    scopes=("user:ann", "team:eng"),
    session_id="s-1",
    agent="coder",
    scores=(0.75, 0.25),
    placed=(1, 0),
    turns=("s-1.1",),
    summaries=(("s-1", 2),),
    budget=800,
    tokens=42,
    template="zh",
    prompt_digest="00ff",
)
_bare_recall = Recall(
    query="x",
    scopes=("org",),
    session_id=None,
    agent=None,
    scores=(),
    placed=None,
    turns=(),
    summaries=(),
    budget=None,
    tokens=None,
    template=None,
    prompt_digest=None,
)
_full = Content(text='用户写 Rust 🦀\n"quoted"', evidence=_full_evidence)
_bare = Content(text="x", evidence=_bare_evidence)

EXAMPLES: dict[str, list[Event]] = {
    "fact.asserted.v1": [
        FactAsserted(valid=Period(MARCH, APRIL), traits=_full_traits, content=_full),
        FactAsserted(valid=Period(BEGINNING, FOREVER), traits=_bare_traits, content=_bare),
    ],
    "fact.revised.v1": [
        FactRevised(
            valid=Period(MARCH, APRIL),
            traits=_full_traits,
            content=_full,
            cause=RevisionCause.CORRECTED,
        ),
        FactRevised(
            valid=Period(MARCH),
            traits=_bare_traits,
            content=_bare,
            cause=RevisionCause.CHANGED,
        ),
    ],
    "fact.corroborated.v1": [
        FactCorroborated(confidence=0.75, importance=0.5, evidence=_full_evidence),
        FactCorroborated(confidence=1.0, importance=0.0, evidence=_bare_evidence),
    ],
    "fact.ended.v1": [FactEnded(valid_to=MARCH)],
    "fact.retired.v1": [
        FactRetired(cause=RetireCause.ASKED, survivor=None),
        FactRetired(cause=RetireCause.MERGED, survivor="f-2"),
    ],
    "fact.restored.v1": [FactRestored(to_version=3)],
    "fact.rolled_back.v1": [
        FactRolledBack(to_version=2, within=Period(MARCH, APRIL)),
        FactRolledBack(to_version=0),
    ],
    "fact.redacted.v1": [FactRedacted()],
    "fact.thinned.v1": [
        FactThinned(until=Instant(1_672_531_200_000_000), versions=((1, 2), (5, 5))),
    ],
    "subject.thinned.v1": [
        SubjectThinned(since=BEGINNING, until=Instant(1_672_531_200_000_000)),
    ],
    "subject.records_expired.v1": [
        RecordsExpired(records=records, until=MARCH, older_than_us=DAY_US * 184, count=7)
        for records in (Records.RECEIPT, Records.LOOK, Records.EMERGENCY)
    ],
    "session.turns_expired.v1": [
        TurnsExpired(
            last_turn=12, whole=False, until=MARCH, older_than_us=DAY_US * 30, count=10
        ),
        TurnsExpired(
            last_turn=0, whole=True, until=MARCH, older_than_us=DAY_US * 30, count=0
        ),
    ],
    "subject.frozen.v2": [SubjectFrozen(hides=False), SubjectFrozen(hides=True)],
    "subject.thawed.v1": [SubjectThawed()],
    "subject.hold_placed.v1": [
        HoldPlaced(hold_id="h-1", fact_id="f-1", matter="Case 7, 关于"),
        HoldPlaced(hold_id="h-2", fact_id=None, matter="Case 8"),
    ],
    "subject.hold_released.v1": [HoldReleased(hold_id="h-1")],
    "subject.redaction_deferred.v1": [RedactionDeferred(fact_id="f-1")],
    "subject.words_redaction_deferred.v1": [
        WordsRedactionDeferred(session_id="s-1", number=3, fact_ids=("f-1", "f-2")),
        WordsRedactionDeferred(session_id="s-1", number=None, fact_ids=()),
    ],
    "subject.erasure_deferred.v1": [ErasureDeferred()],
    "subject.disclosed.v1": [
        SubjectDisclosed(disclosure_id="copy-1", form="evidence", matter="Case 7, 关于")
    ],
    "subject.erased.v1": [SubjectErased()],
    "access.recorded.v1": [
        AccessRecorded(
            verb="get_memory_as_of",
            standing="compliance_officer",
            count=1,
            glass_broken=False,
            inquiry=Inquiry(
                reason="核查投诉 2026-17",
                matter="case 4711",
                query={"timestamp": "2026-03-01T00:00:00.000000Z"},
                returned=(("f-1", 2), ("f-1", 3)),
            ),
        ),
        AccessRecorded(
            verb="search",
            standing="on_call",
            count=0,
            glass_broken=True,
            inquiry=Inquiry(reason="incident 12", matter=None, query={}, returned=()),
        ),
    ],
    "access.glass_broken.v1": [GlassBroken(access_id="a-1")],
    "access.glass_reviewed.v1": [GlassReviewed(note="它是必要的, incident 12")],
    "api_key.issued.v1": [
        ApiKeyIssued(
            digest="ab" * 32,
            verbs=("get_all", "search"),
            expires_at=APRIL,
            holder=KeyHolder(
                id="agent-1",
                kind="agent",
                roles=("auditor",),
                memberships=("lead_of:工程",),
                user_id="u-1",
            ),
        ),
        ApiKeyIssued(
            digest="cd" * 32,
            verbs=None,
            expires_at=None,
            holder=KeyHolder(
                id="u-1", kind="person", roles=(), memberships=(), user_id=None
            ),
        ),
    ],
    "proposal.made.v1": [
        ProposalMade(
            verb="erase",
            size=120,
            needed=2,
            proposal=Proposed(reason="申请 2026-18", asked={"scope": "user:u-1"}),
        ),
        ProposalMade(
            verb="share",
            size=1,
            needed=1,
            proposal=Proposed(reason=None, asked={"to": "team:eng"}),
        ),
    ],
    "proposal.approved.v1": [ProposalApproved(approver="ab" * 16)],
    "proposal.rejected.v1": [ProposalRejected(note="不是团队的事")],
    "proposal.carried_out.v1": [ProposalCarriedOut()],
    "share.made.v1": [FactShared(source_ref="0a" * 10, source_fact_id="01m8nqhdc08zyb72")],
    "api_key.revoked.v1": [ApiKeyRevoked(ends_at=APRIL)],
    "subject.request_answered.v1": [RequestAnswered()],
    "session.started.v1": [
        SessionStarted(opening=Opening(agent="客服", metadata={"thread": "t-7"})),
        SessionStarted(opening=Opening(agent=None, metadata={})),
    ],
    "session.ended.v1": [SessionEnded()],
    "session.redacted.v1": [SessionRedacted()],
    "turn.redacted.v1": [TurnRedacted(number=3)],
    "turn.added.v1": [
        TurnAdded(
            role=Role.TOOL,
            uttered_at=MARCH,
            words=Words(
                text='{"weather": "雨"}',
                agent="planner",
                tool="weather",
                utc_offset_s=28_800,
                zone="Asia/Shanghai",
                entities=("北京",),
                metadata={"call": 1},
            ),
        ),
        TurnAdded(
            role=Role.USER,
            uttered_at=None,
            words=Words(
                text="hi",
                agent=None,
                tool=None,
                utc_offset_s=None,
                zone=None,
                entities=(),
                metadata={},
            ),
        ),
    ],
    "summary.made.v1": [
        SummaryMade(
            level=2,
            first_turn=1,
            last_turn=40,
            sources=(1, 2),
            maker="gpt-x",
            trigger=SummaryTrigger.COUNT,
            summary="Ann 决定用 Rust。",
        ),
        SummaryMade(
            level=1,
            first_turn=3,
            last_turn=3,
            sources=(),
            maker="extractive",
            trigger=SummaryTrigger.ASKED,
            summary="x",
        ),
    ],
    "summary.withdrawn.v1": [SummaryWithdrawn(summary_version=2)],
    "receipt.left.v1": [
        ReceiptLeft(
            action="context",
            at_position=12,
            asked_at=APRIL,
            valid_at=MARCH,
            model="e5",
            ranker="rrf-1",
            configuration=3,
            served=(("f-1", 2), ("f-2", 1)),
            recall=_full_recall,
        ),
        ReceiptLeft(
            action="search",
            at_position=0,
            asked_at=MARCH,
            valid_at=MARCH,
            model="",
            ranker="rrf-1",
            configuration=0,
            served=(),
            recall=_bare_recall,
        ),
    ],
    "receipt.lost.v1": [ReceiptsLost(count=3)],
    "configuration.recorded.v1": [
        ConfigurationRecorded(setting=Setting(name="提示", value={"a": [1, 0.5, None]})),
        ConfigurationRecorded(setting=Setting(name="prompt", value=None)),
    ],
}
