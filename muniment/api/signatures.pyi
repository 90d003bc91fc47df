# The verbs of MemoryStore as ActingStore and Client have them. Made, not written: see
# tests/verb_signatures.py. What is a function of the caller's own, such as progress or
# summarizer, a service does not take.

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Unpack

from muniment.api.accesses import AccessLog, EmergencyPage
from muniment.api.answers import (
    BlameEntry,
    Fact,
    FactHistory,
    FactVersion,
    MemoryDiff,
    MemorySnapshot,
    ModifiedFact,
    Page,
    Receipt,
    RollbackPlan,
)
from muniment.api.certificates import ErasureCertificate, ErasurePlan
from muniment.api.contexts import Context, Wishes
from muniment.api.credentials import ApiKey, IssuedKey
from muniment.api.custody import Hold, Verification
from muniment.api.diagnoses import Diagnosis
from muniment.api.entrusting import HandedOver, Policy, SharedFact
from muniment.api.exporting import Export
from muniment.api.fields import By, Deed, KeyedDeed, NewFact, NewTurn, Revision, Who
from muniment.api.found import SearchHits
from muniment.api.giving import Evidence
from muniment.api.importing import Imported
from muniment.api.indexing import EmbedderName
from muniment.api.proposed import Proposal, ProposalPage
from muniment.api.receipts import RecallReceipt
from muniment.api.replaying import Agent, Badcase
from muniment.api.retaining import Retirement
from muniment.api.retention_report import RetentionReport
from muniment.api.rollbacks import Cause, OnConflict
from muniment.api.searching import Narrowing
from muniment.api.summaries import Summary
from muniment.api.turns import Session, Turn
from muniment.api.unsaying import DrawnFacts
from muniment.archive.archiver import Progress
from muniment.archive.portable import Document
from muniment.archive.told import Archived, ArchivePlan, Rows
from muniment.domain.access import Principal
from muniment.domain.policy import RetentionRule
from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.instants import Time
from muniment.ledger.attesting import InclusionProof
from muniment.ledger.verification import Progress as VerificationProgress
from muniment.ledger.witness import Witness
from muniment.projections.progress import Progress as ProgressProgress
from muniment.projections.progress import Told
from muniment.projections.reconcile import Difference
from muniment.recall.summary import Summarizer

class Verbs:
    def whoami(self) -> Principal: ...
    def access_log(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> AccessLog: ...
    def add_turn(
        self, session_id: str, *, role: str, content: str, **fields: Unpack[NewTurn]
    ) -> Turn: ...
    def add_turns(
        self,
        session_id: str,
        *,
        turns: Iterable[Mapping[str, Any]],
        **by: Unpack[KeyedDeed],
    ) -> tuple[Turn, ...]: ...
    def apply(
        self,
        plan: RollbackPlan,
        *,
        on_conflict: OnConflict = ...,
        approval: str | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def approve(self, proposal_id: str, **by: Unpack[By]) -> Proposal: ...
    def archive(
        self,
        *,
        until: Time | None = ...,
        older_than: timedelta | None = ...,
        progress: Progress | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Archived: ...
    def blame(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[BlameEntry, ...]: ...
    def build_context(
        self,
        query: str,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        scopes: Iterable[Scope | str] | None = ...,
        budget_tokens: int = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        receipt: bool = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
        **fields: Unpack[Wishes],
    ) -> Context: ...
    def catch_up(
        self,
        *,
        progress: Told | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> ProgressProgress: ...
    def correct(self, fact_id: str, **fields: Unpack[Revision]) -> Fact: ...
    def count_lost_receipts(
        self,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> int: ...
    def diff_memory(
        self,
        *,
        time_a: Time,
        time_b: Time,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> MemoryDiff: ...
    def end(
        self,
        fact_id: str,
        *,
        valid_to: Time | None = ...,
        expected_version: int | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def end_session(self, session_id: str, **by: Unpack[KeyedDeed]) -> Receipt: ...
    def entrust(
        self,
        fact_id: str,
        *,
        owner: str | None = ...,
        review_at: Time | None = ...,
        **by: Unpack[Deed],
    ) -> Fact: ...
    def erase(
        self,
        *,
        reason: str,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        approval: str | None = ...,
        **who: Unpack[Who],
    ) -> ErasureCertificate: ...
    def erasure_certificate(
        self,
        subject_ref: str,
        *,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> ErasureCertificate | None: ...
    def export(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        matter: str = ...,
        hide_others: bool = ...,
        third_parties: Sequence[str] = ...,
        sources: Sequence[str] = ...,
        **by: Unpack[By],
    ) -> Export: ...
    def export_evidence(
        self,
        file: Path | str,
        *,
        matter: str,
        reason: str,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        start: Time | None = ...,
        end: Time | None = ...,
        points: Sequence[Time | tuple[Time, Time | None]] = ...,
        third_parties: Sequence[str] = ...,
        **who: Unpack[Who],
    ) -> Evidence: ...
    def flush_receipts(
        self, *, reason: str | None = ..., matter: str | None = ..., break_glass: bool = ...
    ) -> None: ...
    def forget(
        self,
        fact_id: str,
        *,
        mode: Literal["retire", "redact"] = ...,
        expected_version: int | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def freeze(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        hide: bool = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def get(
        self,
        fact_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Fact: ...
    def get_all(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        scopes: Iterable[Scope | str] | None = ...,
        category: str | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Page: ...
    def get_config_as_of(
        self,
        timestamp: Time,
        *,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Mapping[str, Json]: ...
    def get_fact_history(
        self,
        fact_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> FactHistory: ...
    def get_facts_of_turn(
        self,
        turn_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[FactVersion, ...]: ...
    def get_memory_as_of(
        self,
        *,
        timestamp: Time,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> MemorySnapshot: ...
    def get_receipts(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        start: Time | None = ...,
        end: Time | None = ...,
        limit: int | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[RecallReceipt, ...]: ...
    def get_session(
        self,
        session_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Session: ...
    def get_source_turns(
        self,
        fact_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Turn, ...]: ...
    def get_stray_receipts(
        self,
        *,
        start: Time | None = ...,
        end: Time | None = ...,
        limit: int | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[RecallReceipt, ...]: ...
    def get_summaries(
        self,
        session_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Summary, ...]: ...
    def get_turn(
        self,
        turn_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Turn: ...
    def get_turns(
        self,
        session_id: str,
        *,
        limit: int | None = ...,
        before: str | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Turn, ...]: ...
    def get_turns_before(
        self,
        *,
        timestamp: Time,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        as_of: Time | None = ...,
        limit: int | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Turn, ...]: ...
    def get_uses(
        self,
        fact_id: str,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[datetime, ...]: ...
    def hand_over(
        self,
        owner: str,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        policy: Policy | None = ...,
        to: str | None = ...,
        approval: str | None = ...,
        **by: Unpack[Deed],
    ) -> HandedOver: ...
    def import_export(
        self,
        document: Document | Mapping[str, Any] | Path | str | bytes,
        *,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Imported: ...
    def index_progress(
        self, *, reason: str | None = ..., matter: str | None = ..., break_glass: bool = ...
    ) -> ProgressProgress: ...
    def issue_api_key(
        self,
        principal: Principal,
        *,
        verbs: Sequence[str] | None = ...,
        ends_at: Time | None = ...,
        **by: Unpack[By],
    ) -> IssuedKey: ...
    def list_api_keys(
        self,
        *,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[ApiKey, ...]: ...
    def list_broken_glass(
        self,
        *,
        limit: int = ...,
        cursor: str | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> EmergencyPage: ...
    def list_holds(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Hold, ...]: ...
    def list_modified_facts(
        self,
        *,
        start: Time,
        end: Time | None = ...,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[ModifiedFact, ...]: ...
    def list_proposals(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> ProposalPage: ...
    def list_sessions(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Session, ...]: ...
    def list_shared(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        owner: str | None = ...,
        overdue: bool = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[SharedFact, ...]: ...
    def merge(self, fact_id: str, *, into: str, **by: Unpack[By]) -> Receipt: ...
    @property
    def origin(self) -> str: ...
    def place_hold(
        self,
        *,
        matter: str,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        fact_id: str | None = ...,
        issued_by: str | None = ...,
        hold_id: str | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def plan_archive(
        self,
        *,
        until: Time | None = ...,
        older_than: timedelta | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> ArchivePlan: ...
    def plan_erasure(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> ErasurePlan: ...
    def plan_retention(
        self,
        rules: Sequence[RetentionRule],
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Retirement, ...]: ...
    def plan_rollback(
        self,
        *,
        fact_id: str | None = ...,
        to_version: int | None = ...,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        to: Time | None = ...,
        where: Cause | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> RollbackPlan: ...
    def propose_share(
        self, fact_id: str, *, to: Scope, review_at: Time | None = ..., **by: Unpack[By]
    ) -> Proposal: ...
    def prove(
        self,
        position: int,
        *,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> InclusionProof: ...
    def prove_consistency(
        self,
        size: int,
        *,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> str: ...
    def prune(
        self,
        *,
        progress: Progress | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> int: ...
    @property
    def public_key(self) -> bytes: ...
    def query_archive(
        self,
        sql: str,
        *,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Rows: ...
    def rebuild(
        self, *, reason: str | None = ..., matter: str | None = ..., break_glass: bool = ...
    ) -> int: ...
    def reconcile(
        self,
        *,
        mend: bool = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> tuple[Difference, ...]: ...
    def record_config(self, name: str, value: Json, **by: Unpack[KeyedDeed]) -> Receipt: ...
    def redact_session(
        self, session_id: str, *, facts: DrawnFacts = ..., **by: Unpack[KeyedDeed]
    ) -> Receipt: ...
    def redact_turn(
        self, turn_id: str, *, facts: DrawnFacts = ..., **by: Unpack[KeyedDeed]
    ) -> Receipt: ...
    def reindex(
        self,
        *,
        embedder: EmbedderName | None = ...,
        progress: Told | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> ProgressProgress: ...
    def reject(self, proposal_id: str, **by: Unpack[By]) -> Proposal: ...
    def release_hold(
        self,
        hold_id: str,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        approval: str | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def remember(
        self,
        content: str,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        **fields: Unpack[NewFact],
    ) -> Fact: ...
    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def report_retention(
        self,
        rules: Sequence[RetentionRule] = ...,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        start: Time | None = ...,
        end: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> RetentionReport: ...
    def reproduce_badcase(
        self,
        *,
        timestamp: Time,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        agent: Agent | None = ...,
        turns: int = ...,
        receipts: int = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Badcase: ...
    def restore(
        self, fact_id: str, *, expected_version: int | None = ..., **by: Unpack[By]
    ) -> Receipt: ...
    def retain(
        self,
        rules: Sequence[RetentionRule],
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        **by: Unpack[By],
    ) -> tuple[Receipt, ...]: ...
    def review_broken_glass(self, glass_id: str, **by: Unpack[By]) -> Receipt: ...
    def revoke_api_key(self, key_id: str, **by: Unpack[By]) -> Receipt: ...
    def roll_api_key(
        self, key_id: str, *, old_ends_at: Time | None = ..., **by: Unpack[By]
    ) -> IssuedKey: ...
    def rollback_fact(
        self, fact_id: str, *, to_version: int, **by: Unpack[By]
    ) -> Receipt: ...
    def rollback_to_timestamp(
        self,
        *,
        rollback_to: Time,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        approval: str | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def rollback_where(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        session_id: str | None = ...,
        source: str | None = ...,
        actor: str | None = ...,
        trigger: str | None = ...,
        since: Time | None = ...,
        until: Time | None = ...,
        on_conflict: OnConflict = ...,
        by_actor: str | None = ...,
        on_behalf_of: str | None = ...,
        reason: str | None = ...,
        idempotency_key: str | None = ...,
        approval: str | None = ...,
    ) -> Receipt: ...
    def rotate_key(
        self,
        *,
        progress: Callable[[int], None] | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> int: ...
    def search(
        self,
        query: str,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        scopes: Iterable[Scope | str] | None = ...,
        limit: int = ...,
        as_of: Time | None = ...,
        valid_at: Time | None = ...,
        min_confidence: float | None = ...,
        explain: bool = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
        **narrow: Unpack[Narrowing],
    ) -> SearchHits: ...
    def start_session(
        self,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        agent: str | None = ...,
        metadata: Mapping[str, Json] | None = ...,
        **by: Unpack[KeyedDeed],
    ) -> Session: ...
    def summarize_session(
        self,
        session_id: str,
        *,
        every: int = ...,
        keep: int = ...,
        meta_every: int = ...,
        budget_tokens: int | None = ...,
        force: bool = ...,
        summarizer: Summarizer | None = ...,
        **by: Unpack[Deed],
    ) -> tuple[Summary, ...]: ...
    def thaw(
        self, *, user_id: str | None = ..., scope: Scope | None = ..., **by: Unpack[By]
    ) -> Receipt: ...
    def tree_head(
        self,
        *,
        witness: Witness | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> str: ...
    def undo(
        self,
        tx_id: int,
        *,
        on_conflict: OnConflict = ...,
        approval: str | None = ...,
        **by: Unpack[By],
    ) -> Receipt: ...
    def update(self, fact_id: str, **fields: Unpack[Revision]) -> Fact: ...
    def verify(
        self,
        *,
        published: Sequence[str] = ...,
        progress: VerificationProgress | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Verification: ...
    def why(
        self,
        expect: str,
        *,
        user_id: str | None = ...,
        scope: Scope | None = ...,
        scopes: Iterable[Scope | str] | None = ...,
        query: str | None = ...,
        at: Time | None = ...,
        reason: str | None = ...,
        matter: str | None = ...,
        break_glass: bool = ...,
    ) -> Diagnosis: ...
    def withdraw_summary(
        self, session_id: str, *, version: int, **by: Unpack[KeyedDeed]
    ) -> None: ...
