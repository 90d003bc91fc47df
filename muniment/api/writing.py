"""Writing to a store: what is remembered, what changed, what is no longer so."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Unpack

from muniment.api import inputs
from muniment.api.answers import Fact, Receipt
from muniment.api.drafting import Drafting, expected_version_or_none
from muniment.api.fields import By, NewFact, Revision
from muniment.api.forgetting import Forgetter
from muniment.api.indexing import IndexedStore
from muniment.api.transacting import Transactor, receipt
from muniment.api.verbs import write_verb
from muniment.domain.commands import (
    EndFact,
    FactCommand,
    FreezeSubject,
    RestoreFact,
    RetireFact,
    SubjectCommand,
    ThawSubject,
)
from muniment.domain.events import RetireCause, RevisionCause
from muniment.domain.scope import Scope
from muniment.errors import InvalidValueError
from muniment.instants import Time
from muniment.ledger.ledger import Ledger
from muniment.projections.beliefs import Timeline


ITEMS_MAX = 10_000
"""Most facts remembered in one transaction."""


class WritingStore(IndexedStore):
    """
    A store that can be written to.

    A write that returned is durable. One that raised changed nothing that is remembered,
    unless it raised `CommitUncertainError`; `ChangeContestedError` and
    `ApprovalRequiredError` leave the proposal that they name. Every write takes the fields
    of `By` besides its own.
    """

    def __init__(self, ledger: Ledger, timeline: Timeline, *, content_limit: int) -> None:
        super().__init__(ledger, timeline)
        self._drafting = Drafting(content_limit=content_limit)

    @write_verb
    def remember(
        self,
        content: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        **fields: Unpack[NewFact],
    ) -> Fact:
        """
        Remember something new, or keep that it was said again.

        The same content for the same period, of the same category and attribute, adds a
        corroboration to the fact there is, whatever its source.

        Args:
            content: 1 byte of UTF-8 up to the content limit, 64 KiB by default.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            fields: See `NewFact`.

        Returns:
            The fact, or the one that says the same already.

        Raises:
            InvalidInput: If a field is not as documented.
            WordsRedactedError: If turns it is drawn from are redacted, or wait to be.
            SubjectFrozenError: If writes to the subject are refused for now.
            IdempotencyConflictError: If the key was used for another request.
        """
        whose = inputs.scope_of(user_id, scope)
        said, by = inputs.without_origin(fields, keep=("source_turns",))
        command = self._drafting.remembered({"content": content, **said})
        _, facts = self._transactor.remember(whose, [command], by, action="remember")
        return facts[0]

    @write_verb
    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        **by: Unpack[By],
    ) -> Receipt:
        """
        Remember many things in one transaction: all of them, or none.

        Args:
            items: 1 to 10,000 texts, or mappings with ``content`` and the fields of
                `NewFact`; ``claimed_at`` besides says when an imported item was recorded
                elsewhere.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            by: See `By`; its *source_turns* are those of each item that names none.

        Returns:
            The receipt; iterating over it gives the facts, one for each item.

        Raises:
            InvalidInput: If a field of an item is not as documented, or not one of them.
            WordsRedactedError: If turns it is drawn from are redacted, or wait to be.
            SubjectFrozenError: If writes to the subject are refused for now.
            IdempotencyConflictError: If the key was used for another request.
        """
        whose = inputs.scope_of(user_id, scope)
        if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
            raise InvalidValueError("items", items, "a list of texts or of mappings")
        origin = inputs.origin(by)
        drawn = (_drawn_from(item, origin.source_turns) for item in items)
        commands = [self._drafting.remembered(item) for item in drawn]
        inputs.count("the number of items", len(commands), least=1, most=ITEMS_MAX)
        committed, facts = self._transactor.remember(
            whose, commands, origin, action="remember_many"
        )
        return receipt(committed, facts)

    @write_verb
    def update(self, fact_id: str, **fields: Unpack[Revision]) -> Fact:
        """
        Say that the world changed: from then on the fact says something else.

        What it said before held until then. *valid_from* is when it is recorded if left
        out, *valid_to* is open.

        Args:
            fact_id: The fact.
            fields: See `Revision`.

        Returns:
            What it says for the new period.

        Raises:
            UnknownFactError: If it was never recorded.
            FactNotCurrentError: If nothing is left of it to change, or it has expired and
                *expires_at* is neither given nor cleared.
            VersionConflictError: If it changed after *expected_version*.
            WordsRedactedError: If turns it is drawn from are redacted, or wait to be.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        return self._revise(fact_id, RevisionCause.CHANGED, fields, action="update")

    @write_verb
    def correct(self, fact_id: str, **fields: Unpack[Revision]) -> Fact:
        """
        Say that we were wrong: for its whole period the fact says something else.

        What it said before stays in its history and in what was known before. The belief
        that is corrected is the one at *valid_from*, or now, or else the last; times left
        out are its own.

        Args:
            fact_id: The fact.
            fields: See `Revision`.

        Returns:
            What it says for the corrected period.

        Raises:
            UnknownFactError: If it was never recorded.
            FactNotCurrentError: If nothing is left of it to correct.
            VersionConflictError: If it changed after *expected_version*.
            WordsRedactedError: If turns it is drawn from are redacted, or wait to be.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        return self._revise(fact_id, RevisionCause.CORRECTED, fields, action="correct")

    @write_verb
    def end(
        self,
        fact_id: str,
        *,
        valid_to: Time | None = None,
        expected_version: int | None = None,
        **by: Unpack[By],
    ) -> Receipt:
        """
        Say that a fact stopped being true.

        Args:
            fact_id: The fact.
            valid_to: When it did, exclusive; when that is recorded if left out.
            expected_version: Only if nothing it believes changed after this version.
            by: See `By`.

        Raises:
            UnknownFactError: If it was never recorded.
            VersionConflictError: If it changed after *expected_version*.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        command = EndFact(
            valid_to=inputs.time_or_none(valid_to),
            expected_version=expected_version_or_none(expected_version),
        )
        return self._change(fact_id, command, by, action="end")

    @write_verb
    def forget(
        self,
        fact_id: str,
        *,
        mode: Literal["retire", "redact"] = "retire",
        expected_version: int | None = None,
        **by: Unpack[By],
    ) -> Receipt:
        """
        Stop believing and using a fact.

        Args:
            fact_id: The fact.
            mode: ``retire`` keeps it in its history, and `restore` brings it back;
                ``redact`` makes the content of all its versions unreadable for good, and
                waits where a legal hold binds it, or a copy that was shared; then, and
                while a frozen memory has a copy, the receipt is `deferred`.
            expected_version: Only if nothing it believes changed after this version.
            by: See `By`.

        Raises:
            UnknownFactError: If it was never recorded.
            VersionConflictError: If it changed after *expected_version*.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        if mode == "redact":
            inputs.name("fact_id", fact_id)
            # What was asked in its words goes with it, if it is recorded.
            self._settle()
            return Forgetter(self._lookup).redact(
                fact_id,
                inputs.origin(by),
                expected_version=expected_version_or_none(expected_version),
            )
        if mode != "retire":
            raise InvalidValueError("mode", mode, "'retire' or 'redact'")
        command = RetireFact(
            cause=RetireCause.ASKED,
            expected_version=expected_version_or_none(expected_version),
        )
        return self._change(fact_id, command, by, action="forget")

    @write_verb
    def restore(
        self, fact_id: str, *, expected_version: int | None = None, **by: Unpack[By]
    ) -> Receipt:
        """
        Believe again what was last believed of a fact of which nothing is believed.

        Args:
            fact_id: The fact.
            expected_version: Only if nothing it believes changed after this version.
            by: See `By`.

        Raises:
            UnknownFactError: If it was never recorded.
            VersionConflictError: If it changed after *expected_version*.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        command = RestoreFact(expected_version=expected_version_or_none(expected_version))
        return self._change(fact_id, command, by, action="restore")

    @write_verb
    def merge(self, fact_id: str, *, into: str, **by: Unpack[By]) -> Receipt:
        """
        Retire a fact that another one says as well; its history points to the survivor.

        Args:
            fact_id: The fact that goes.
            into: The fact that stays; another one of the same subject.
            by: See `By`.

        Raises:
            UnknownFactError: If one of them was never recorded, or is another subject's.
            FactNotCurrentError: If the one that is to stay is not believed now, or expired.
            InvalidValueError: If the one that goes is active and the other is not.
        """
        if inputs.name("into", into) == inputs.name("fact_id", fact_id):
            raise InvalidValueError("into", into, "another fact")
        origin = inputs.origin(by)
        return receipt(self._transactor.merge(fact_id, into, origin))

    @write_verb
    def freeze(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        hide: bool = False,
        **by: Unpack[By],
    ) -> Receipt:
        """
        Refuse writes to a subject while an incident is looked into; reading goes on.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            hide: Do not give anything of it to agents, either: a person who paused their
                memory, or withdrew consent. As-of and history still show it.
            by: See `By`.
        """
        whose = inputs.scope_of(user_id, scope)
        command = FreezeSubject(hides=inputs.flag("hide", hide))
        return self._bind(whose, command, by, action="freeze")

    @write_verb
    def thaw(
        self, *, user_id: str | None = None, scope: Scope | None = None, **by: Unpack[By]
    ) -> Receipt:
        """
        Accept writes to a frozen subject again, and use what was hidden.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            by: See `By`.
        """
        whose = inputs.scope_of(user_id, scope)
        if self._ledger.vault.find(whose) is None:
            return self._lookup.nothing_done()
        done = self._bind(whose, ThawSubject(), by, action="thaw")
        # Copies of what was erased meanwhile could not be written to.
        Forgetter(self._lookup).resume()
        return done

    @property
    def _transactor(self) -> Transactor:
        return Transactor(self._lookup.ledger, self._lookup.timeline)

    def _revise(
        self,
        fact_id: str,
        cause: RevisionCause,
        fields: Mapping[str, Any],
        *,
        action: str,
        upon: int | None = None,
    ) -> Fact:
        inputs.name("fact_id", fact_id)
        said, by = inputs.without_origin(fields, keep=("source_turns",))
        command = self._drafting.revised(cause, said)
        transactor = self._transactor
        committed = transactor.change(fact_id, command, by, action=action, upon=upon)
        return transactor.fact(committed, committed.events[0], command)

    def _change(
        self, fact_id: str, command: FactCommand, by: Mapping[str, Any], *, action: str
    ) -> Receipt:
        inputs.name("fact_id", fact_id)
        origin = inputs.origin(by)
        return receipt(self._transactor.change(fact_id, command, origin, action=action))

    def _bind(
        self, scope: Scope, command: SubjectCommand, by: Mapping[str, Any], *, action: str
    ) -> Receipt:
        origin = inputs.origin(by)
        return receipt(self._transactor.bind(scope, command, origin, action=action))

    def _settle(self) -> None:
        """Record what waits to be recorded, so that what is done now reaches it."""


def _drawn_from(
    item: str | Mapping[str, Any], source_turns: tuple[str, ...]
) -> str | Mapping[str, Any]:
    """Return *item* with the turns that all of them rest on, where it names none."""
    if source_turns and isinstance(item, str):
        return {"content": item, "source_turns": source_turns}
    if source_turns and isinstance(item, Mapping):
        return {"source_turns": source_turns, **item}
    return item
