"""Custody of a store: proofs, verification, holds, erasure, retention, keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Unpack

from muniment.api import inputs
from muniment.api.answers import Receipt
from muniment.api.certificates import ErasureCertificate, ErasurePlan
from muniment.api.fields import By, Who
from muniment.api.forgetting import Forgetter
from muniment.api.retaining import Retainer, Retirement
from muniment.api.retention_report import RetentionReport, RetentionReporter
from muniment.api.rules import checked
from muniment.api.transacting import receipt
from muniment.api.verbs import verb, write_verb
from muniment.api.verifying import projections_astray
from muniment.api.writing import WritingStore
from muniment.archive.cold import named
from muniment.domain.commands import PlaceHold
from muniment.domain.policy import RetentionRule
from muniment.domain.scope import Scope
from muniment.instants import Time
from muniment.ledger.attesting import Attestor, InclusionProof
from muniment.ledger.ids import new_hold_id
from muniment.ledger.verification import (
    FINDINGS_MAX,
    Finding,
    LedgerCheck,
    Progress,
)
from muniment.ledger.witness import Witness
from muniment.projections.conversation import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """
    What a verification found; truthy when all is as recorded.

    Attributes:
        events: How many events were read and hashed again.
        heads: How many signed tree heads were compared.
        findings: What is wrong, first the first; at most 20.
    """

    events: int
    heads: int
    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return not self.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """
    A legal hold in force.

    Attributes:
        fact_id: The one fact it binds; ``None`` when it binds all of the subject.
        matter: What it is for.
    """

    hold_id: str
    scope: Scope
    fact_id: str | None
    matter: str | None


class CustodialStore(WritingStore):
    """A store that can account for what it holds, and for what it no longer holds."""

    _archive_place: str | None = None
    _conversation: Conversation

    @property
    def public_key(self) -> bytes:
        """The Ed25519 key that checks this ledger's signatures; 32 bytes."""
        return Attestor(self._ledger).public_key

    @property
    def origin(self) -> str:
        """The name of this ledger in what it signs."""
        return Attestor(self._ledger).origin

    @verb
    def tree_head(self, *, witness: Witness | None = None) -> str:
        """
        Return the signed head of the ledger as it is now.

        Args:
            witness: Where it is published, too.

        Raises:
            TamperedError: If it would not continue an earlier head.
            WitnessUnavailableError: If it could not be published; it is kept here.
        """
        note = Attestor(self._ledger).tree_head()
        if witness is not None:
            witness.publish(note)
        return note

    @verb
    def prove(self, position: int) -> InclusionProof:
        """
        Return the proof that an event stands in the ledger.

        Args:
            position: Of the event, 1 for the first.
        """
        inputs.count("position", position, least=1, most=2**62)
        return Attestor(self._ledger).inclusion(position)

    @verb
    def prove_consistency(self, size: int) -> str:
        """
        Return the proof that the ledger still begins with its first *size* events.

        Args:
            size: Of an earlier tree head.
        """
        inputs.count("size", size, least=0, most=2**62)
        return Attestor(self._ledger).consistency(size)

    @verb
    def verify(
        self,
        *,
        published: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Verification:
        """
        Read and hash everything again, and compare every projection with a fresh fold.

        Args:
            published: Tree heads kept elsewhere.
            progress: Told how many events of how many are checked.
        """
        check = LedgerCheck(self._ledger, published=published, progress=progress or _silent)
        findings = self._archive_astray()
        for finding in check.findings() if not findings else ():
            findings.append(finding)
            if len(findings) == FINDINGS_MAX:
                break
        if not findings:
            derived = self._lookup.timeline, self._conversation
            findings.extend(projections_astray(self._ledger, *derived))
        return Verification(
            events=check.events, heads=check.heads, findings=tuple(findings[:FINDINGS_MAX])
        )

    @write_verb
    def place_hold(
        self,
        *,
        matter: str,
        user_id: str | None = None,
        scope: Scope | None = None,
        fact_id: str | None = None,
        issued_by: str | None = None,
        hold_id: str | None = None,
        **by: Unpack[By],
    ) -> Receipt:
        """
        Bind a subject, or one fact of it, by a legal hold.

        Until it is released nothing it binds is redacted, erased or retired by rule;
        requests are accepted and wait.

        Args:
            matter: What the hold is for.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            fact_id: One fact alone.
            issued_by: Who issued it; the *actor* of the transaction.
            hold_id: Names it; made up if left out.
            by: See `By`.

        Returns:
            The receipt; `Receipt.hold_id` names the hold.

        Raises:
            UnknownFactError: If the fact is not of this memory.
            HoldTakenError: If a hold of that name binds something else, or was released.
        """
        whose = inputs.scope_of(user_id, scope)
        command = PlaceHold(
            hold_id=inputs.name_or_none("hold_id", hold_id) or new_hold_id(),
            fact_id=inputs.name_or_none("fact_id", fact_id),
            matter=inputs.name("matter", matter),
        )
        fields = {**by, "actor": issued_by} if issued_by is not None else by
        return Forgetter(self._lookup).place_hold(
            whose, command, inputs.origin(fields), is_named=hold_id is not None
        )

    @write_verb
    def release_hold(
        self,
        hold_id: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        **by: Unpack[By],
    ) -> Receipt:
        """
        End one hold; what waited for the last of them is done, in order.

        Args:
            hold_id: Names it.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            by: See `By`.

        Raises:
            UnknownHoldError: If it is not in force.
        """
        whose = inputs.scope_of(user_id, scope)
        inputs.name("hold_id", hold_id)
        self._settle()
        return Forgetter(self._lookup).release_hold(whose, hold_id, inputs.origin(by))

    @verb
    def list_holds(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> tuple[Hold, ...]:
        """
        Return the legal holds in force on a subject, in the order they were placed.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            as_of: Those in force then; now if left out.
            valid_at: Likewise: a hold binds as it is recorded, so the earlier time counts.

        Raises:
            FutureAsOfError: If *as_of* has not come.
        """
        whose = inputs.scope_of(user_id, scope)
        position = self._lookup.place(self._lookup.point(as_of, valid_at))
        subject = self._ledger.vault.find(whose)
        holds = self._ledger.subject_state(subject, position).holds if subject else ()
        return tuple(
            Hold(
                hold_id=each.hold_id, scope=whose, fact_id=each.fact_id, matter=each.matter
            )
            for each in holds
        )

    @verb
    def erasure_certificate(self, subject_ref: str) -> ErasureCertificate | None:
        """
        Return the certificate of an erasure, if there was one.

        Args:
            subject_ref: As `erase` gave it; nothing else leads there any more.
        """
        inputs.name("subject_ref", subject_ref)
        return Forgetter(self._lookup).certificate(subject_ref)

    @verb
    def plan_erasure(
        self, *, user_id: str | None = None, scope: Scope | None = None
    ) -> ErasurePlan:
        """
        Return what erasing a subject would reach; nothing is destroyed.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
        """
        return Forgetter(self._lookup).plan(inputs.scope_of(user_id, scope))

    @write_verb
    def erase(
        self,
        *,
        reason: str,
        user_id: str | None = None,
        scope: Scope | None = None,
        **who: Unpack[Who],
    ) -> ErasureCertificate:
        """
        Make a subject unreadable and unfindable at every as-of, everywhere, for good.

        Args:
            reason: Why; it stays in the ledger, so nothing personal.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            who: See `Who`; the actor stays in the ledger, too.

        Returns:
            The certificate; ``DEFERRED`` under a legal hold, ``PARTIAL`` while a store is
            not verified or a shared copy is held or frozen. Erasing again changes nothing
            and succeeds.

        Raises:
            InvalidValueError: If *reason* says nothing.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        whose = inputs.scope_of(user_id, scope)
        origin = inputs.origin({**who, "reason": inputs.reason(reason)})
        return Forgetter(self._lookup).erase(whose, origin)

    @verb
    def plan_retention(
        self,
        rules: Sequence[RetentionRule],
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
    ) -> tuple[Retirement, ...]:
        """
        Return what rules retire, thin or make unreadable now, of one subject or of all.

        Args:
            rules: See `RetentionRule`; facts past their ``expires_at`` are among them.
            user_id: Whose memory; everybody's if left out.
            scope: Whose memory.
        """
        named = user_id is not None or scope is not None
        whose = inputs.scope_of(user_id, scope) if named else None
        return tuple(self._retainer(rules).due(whose))

    @write_verb
    def retain(
        self,
        rules: Sequence[RetentionRule],
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        **by: Unpack[By],
    ) -> tuple[Receipt, ...]:
        """
        Do what rules say is due now; a transaction for each subject.

        Args:
            rules: See `RetentionRule`.
            user_id: Whose memory; everybody's if left out.
            scope: Whose memory.
            by: See `By`.
        """
        named = user_id is not None or scope is not None
        whose = inputs.scope_of(user_id, scope) if named else None
        origin = inputs.origin({"trigger": "retention", **by})
        return tuple(map(receipt, self._retainer(rules).retain(whose, origin)))

    @verb
    def report_retention(
        self,
        rules: Sequence[RetentionRule] = (),
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        start: Time | None = None,
        end: Time | None = None,
    ) -> RetentionReport:
        """
        Return what retention did, what holds keep, and what is due: signed, with proofs.

        Args:
            rules: By which it is said what is held and what is due still.
            user_id: Whose memory; everybody's if left out.
            scope: Whose memory.
            start: Only what was done then or later.
            end: Only what was done before then.

        Raises:
            InvalidValueError: If more than 10,000 things were done within that time.
        """
        named = user_id is not None or scope is not None
        whose = inputs.scope_of(user_id, scope) if named else None
        reporter = RetentionReporter(self._lookup, self._conversation, checked(rules))
        return reporter.report(whose, inputs.within(start, end))

    def _retainer(self, rules: Sequence[RetentionRule]) -> Retainer:
        return Retainer(self._lookup, self._conversation, checked(rules))

    def _archive_astray(self) -> list[Finding]:
        """Return what is wrong with the archive; payloads may have to come from there."""
        recorder = self._ledger.recorder
        if not recorder.segments():
            return []
        # Imported here: a store that has no archive needs no Arrow.
        from muniment.archive.checking import archive_findings  # noqa: PLC0415
        from muniment.archive.shelf import shelf_at  # noqa: PLC0415

        found = archive_findings(recorder, shelf_at(named(self._archive_place)))
        return list(islice(found, FINDINGS_MAX))


def _silent(_done: int, _of: int) -> None:
    """Tell nobody."""
