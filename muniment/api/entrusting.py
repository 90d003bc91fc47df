"""A store in which somebody answers for what is shared, until it is handed over."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Unpack

from muniment.api import inputs
from muniment.api.answers import Fact
from muniment.api.fields import Deed
from muniment.api.retrying import anew
from muniment.api.sharing import SharingStore
from muniment.api.verbs import verb, write_verb
from muniment.domain.events import RevisionCause
from muniment.domain.scope import Scope, ScopeKind
from muniment.errors import (
    InvalidScopeError,
    InvalidTimeError,
    InvalidValueError,
    VersionConflictError,
)
from muniment.instants import Time, moment, to_instant, to_text


Policy = Literal["keep", "archive", "delete"]
"""What becomes of a shared fact whose owner leaves."""

POLICIES: Final = ("keep", "archive", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFact:
    """
    A fact of a team or of all, and to whom it is entrusted.

    Attributes:
        fact: The fact.
        owner: Who answers for it; ``None`` where nobody does.
        review_at: When somebody is to look whether it is still to be known.
        overdue: Whether that time has come.
        shared_from: The fact it is a copy of, if it is one.
    """

    fact: Fact
    owner: str | None
    review_at: datetime | None
    overdue: bool
    shared_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """
    What became of the facts of somebody who left.

    Attributes:
        policy: What was to be done with them.
        to: Who has them now, if they were kept.
        fact_ids: Which.
        deferred: Those among them of which some waits, as of a `Receipt`.
    """

    policy: Policy
    to: str | None
    fact_ids: tuple[str, ...]
    deferred: tuple[str, ...]


class EntrustingStore(SharingStore):
    """
    A store in which somebody answers for what is shared.

    Who owns a shared fact, and when it is to be looked at again, stand in its metadata as
    ``owner`` and ``review_at``, and so in its history.
    """

    @verb
    def list_shared(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        owner: str | None = None,
        overdue: bool = False,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> tuple[SharedFact, ...]:
        """
        Return what a team or all know, with who answers for it, the soonest due first.

        Args:
            user_id: Not for this: a person's memory is nobody else's.
            scope: Whose memory: a team's, or the organisation's.
            owner: Only what is entrusted to this one.
            overdue: Only what should have been looked at by now, or by *as_of*.
            as_of: What was known then, and who answered for it; now if left out.
            valid_at: About this time; *as_of* itself if left out. May lie ahead.

        Raises:
            InvalidScopeError: If it is a person's memory.
            FutureAsOfError: If *as_of* has not come.
        """
        whose = _shared_scope(inputs.scope_of(user_id, scope))
        inputs.name_or_none("owner", owner)
        inputs.flag("overdue", overdue)
        found = [
            each
            for each in self._all_shared(whose, as_of=as_of, valid_at=valid_at)
            if (owner is None or each.owner == owner) and (each.overdue or not overdue)
        ]
        return tuple(sorted(found, key=_soonest_due))

    @write_verb
    def entrust(
        self,
        fact_id: str,
        *,
        owner: str | None = None,
        review_at: Time | None = None,
        **by: Unpack[Deed],
    ) -> Fact:
        """
        Say who answers for a shared fact, or when it is to be looked at again, or both.

        Args:
            fact_id: The fact, of a team or of all.
            owner: Who answers for it from now on; as before if left out.
            review_at: When it is to be looked at again; as before if left out.
            by: See `Deed`.

        Returns:
            The fact; as it was, if it says so already.

        Raises:
            InvalidValueError: If neither is said.
            InvalidScopeError: If it is of a person's memory.
            FactNotCurrentError: If nothing is believed of it now.
        """
        if owner is None and review_at is None:
            raise InvalidValueError("owner", owner, "given, or review_at")
        said: dict[str, str] = {}
        if owner is not None:
            said["owner"] = inputs.name("owner", owner)
        if review_at is not None:
            said["review_at"] = str(to_text(moment(to_instant(review_at))))
        return self._entrusted(fact_id, said, by)

    @write_verb
    def hand_over(
        self,
        owner: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        policy: Policy | None = None,
        to: str | None = None,
        **by: Unpack[Deed],
    ) -> HandedOver:
        """
        Deal with what somebody who leaves a team answered for, each fact by itself.

        It may be repeated: what was dealt with is no longer theirs, or is no longer used.

        Args:
            owner: Who leaves.
            user_id: Not for this; see *scope*.
            scope: The team, or the organisation.
            policy: ``keep`` the facts for *to*; ``archive`` them, so that they are no
                longer used and can be restored; ``delete`` them for good, which waits
                where a legal hold binds one. As the settings say if left out.
            to: Who answers for what is kept; the actor if left out.
            by: See `Deed`.

        Raises:
            InvalidValueError: If the policy is none, or nobody is there to keep them for.
        """
        whose = _shared_scope(inputs.scope_of(user_id, scope))
        inputs.name("owner", owner)
        chosen: Policy = self._settings.shared_policy if policy is None else policy
        if chosen not in POLICIES:
            raise InvalidValueError("policy", policy, f"one of {', '.join(POLICIES)}")
        heir = inputs.name_or_none("to", to if to is not None else by.get("actor"))
        if chosen == "keep" and heir in (None, owner):
            raise InvalidValueError("to", to, "somebody else, for whom they are kept")
        facts = [each.fact for each in self._all_shared(whose) if each.owner == owner]
        deferred = [
            each.fact_id for each in facts if self._dealt_with(each, chosen, heir, by)
        ]
        return HandedOver(
            policy=chosen,
            to=heir if chosen == "keep" else None,
            fact_ids=tuple(each.fact_id for each in facts),
            deferred=tuple(deferred),
        )

    def _dealt_with(
        self, fact: Fact, policy: Policy, heir: str | None, by: Mapping[str, Any]
    ) -> bool:
        """Deal with one fact; whether what is asked for waits for the end of a hold."""
        match policy:
            case "keep":
                self._entrusted(fact.fact_id, {"owner": str(heir)}, by)
                return False
            case "archive":
                self.forget(fact.fact_id, **by)
                return False
            case "delete":
                done = self.forget(fact.fact_id, mode="redact", **by)
                return done.deferred

    def _entrusted(
        self, fact_id: str, said: Mapping[str, str], by: Mapping[str, Any]
    ) -> Fact:
        def attempt() -> Fact:
            head = self._head(fact_id)
            fact = self.get(fact_id)
            _shared_scope(fact.scope)
            if all(fact.metadata.get(name) == said[name] for name in said):
                return fact  # As a request says that is sent again.
            fields = {
                **by,
                "metadata": {**fact.metadata, **said},
                # Who said what it says does not change by whom it is entrusted to.
                "source": fact.source or "user_explicit",
                "source_turns": fact.source_turns,
                "expected_version": head,
            }
            # Not as a change that could be contested: it says nothing else.
            return self._revise_alone(
                fact_id, RevisionCause.CORRECTED, fields, action="entrust"
            )

        return anew(attempt, where=VersionConflictError)

    def _all_shared(
        self, scope: Scope, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> Iterator[SharedFact]:
        # This moment, not that of the last write: a date comes without one.
        now = moment(self._lookup.point(as_of, None).asked_at)
        cursor = None
        while True:
            page = self.get_all(
                scope=scope, as_of=as_of, valid_at=valid_at, limit=_AT_ONCE, cursor=cursor
            )
            yield from (_shared(each, now) for each in page)
            cursor = page.next_cursor
            if cursor is None:
                return


_AT_ONCE: Final = 1_000


def _shared_scope(scope: Scope) -> Scope:
    if scope.kind is ScopeKind.USER:
        problem = "is nobody else's: name a team or the organisation"
        raise InvalidScopeError(str(scope), problem)
    return scope


def _shared(fact: Fact, now: datetime) -> SharedFact:
    known = fact.metadata
    review_at = _time(known.get("review_at"))
    return SharedFact(
        fact=fact,
        owner=_text(known.get("owner")),
        review_at=review_at,
        overdue=review_at is not None and review_at <= now,
        shared_from=_text(known.get("shared_from")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _time(value: object) -> datetime | None:
    """Return when a review is due; ``None`` where the metadata say something else."""
    try:
        return moment(to_instant(value)) if isinstance(value, str) else None
    except InvalidTimeError:
        return None


def _soonest_due(shared: SharedFact) -> tuple[bool, datetime | None, str]:
    return (
        shared.review_at is None,
        shared.review_at or shared.fact.recorded_at,
        shared.fact.fact_id,
    )
