"""
The same verbs for a principal, guarded in this one place.

What a call does to whose memory is looked up in `muniment.domain.access`; what is not in
that table is refused. A look at another's memory, or at the past, is recorded before it
is answered: where it cannot be recorded there is no answer.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MethodType
from typing import TYPE_CHECKING, Any

from muniment.api import inputs
from muniment.api.accesses import LOG_PAGE, AccessLog, AccessRecords, Look
from muniment.api.acting import writing_for_principal
from muniment.api.approvals import WATCHED, settle
from muniment.api.importing import read_document
from muniment.api.lookup import withheld
from muniment.api.sensitivity import (
    careful,
    is_careful,
    is_restricted,
    own_words,
    unrestricted,
)
from muniment.api.signatures import Verbs
from muniment.api.verbs import fields_of
from muniment.api.whose import refuse_unseen, whose
from muniment.domain.access import (
    Grant,
    Kind,
    Principal,
    Right,
    above,
    act_of,
    can_see,
    checked_reason,
    is_of_the_past,
    right_to,
)
from muniment.domain.acts import VERBS, Act, Named
from muniment.domain.events import HoldPlaced
from muniment.domain.scope import Scope
from muniment.errors import (
    AccessDeniedError,
    ForeignTenantError,
    ImpersonationError,
    InvalidValueError,
    OutOfReachError,
    UnguardedVerbError,
)
from muniment.ledger.records import SUBJECT


class ActingStore(Verbs):
    """
    A store as one principal may use it: the verbs of `MemoryStore`, each guarded.

    Reading verbs take three fields more: ``reason``, which a look at another's memory or
    at the past needs; ``matter``, the case it is for; ``break_glass=True``, with which
    somebody on call looks once without a role that allows it. Writing verbs record the
    principal as the actor.

    Attributes:
        principal: Who asks.

    Raises:
        OutOfReachError: By any verb, if nothing of the memory is within reach.
        AccessDeniedError: By any verb, if it is, and this may not be done to it.
        ReasonRequiredError: By any verb that needs a reason.
        UnknownFactError: By a verb that names a fact, also if it is out of reach.
    """

    __slots__ = ("_store", "_verbs", "principal")

    def __init__(
        self,
        store: Any,  # noqa: ANN401 - the whole facade, whose lower parts import this
        principal: Principal,
        *,
        verbs: Sequence[str] | None,
    ) -> None:
        if not isinstance(principal, Principal):
            raise InvalidValueError("principal", principal, "a Principal")
        if principal.tenant not in (None, store._ledger.name):  # noqa: SLF001 - one facade
            raise ForeignTenantError(principal.id, str(principal.tenant))
        self._store = store
        self._verbs = None if verbs is None else frozenset(verbs)
        self.principal = principal

    def whoami(self) -> Principal:
        """Return who asks."""
        return self.principal

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the verb has it
            found = _attribute(self._store, name)
            if found is None or name[:1] == "_":
                raise AttributeError(f"a store has no verb {name!r}")
            if name not in VERBS:
                raise UnguardedVerbError(name)
            if isinstance(found, property):
                return self._called(name, lambda: getattr(self._store, name))
            method: Callable[..., object] = getattr(self._store, name)
            return functools.wraps(method)(functools.partial(self._called, name, method))

    def __dir__(self) -> list[str]:
        return sorted((*object.__dir__(self), *VERBS))

    def __repr__(self) -> str:
        return f"<ActingStore for {self.principal.id!r} on {self._store!r}>"

    def _called(
        self, name: str, method: Callable[..., object], /, *args: object, **fields: object
    ) -> object:
        if self._verbs is not None and name not in self._verbs:
            raise AccessDeniedError(
                self.principal.id, name, "anything: its key is not for it"
            )
        if VERBS[name].named is Named.SCOPES:
            fields |= self._beside(name, fields)
        if self.principal.kind is Kind.AGENT and name in ("build_context", "search"):
            # An agent cannot choose to leave no trace of itself.
            fields |= {"receipt": True, "agent": self.principal.id}
        if len(args) == 1 and VERBS[name].named is Named.DOCUMENT:
            fields, args = _by_name(method, args, fields), ()
        if fields.get("document") is not None:
            # Likewise: a file may say something else a moment later.
            fields["document"] = read_document(fields["document"])  # type: ignore[arg-type]
        if name == "hand_over" and fields.get("policy") is None:
            # Whether it is an erasure has to be known before it is allowed.
            fields["policy"] = self._store.settings.shared_policy
        arguments = _by_name(method, args, fields)
        rights = [
            (scope, self._right(name, arguments, scope))
            for scope in whose(self._store, VERBS[name], arguments)
        ]
        if VERBS[name].writes:
            self._check_write(name, arguments, rights)
            if name in WATCHED:
                settle(self._store, self.principal, name, arguments, rights[0])  # type: ignore[arg-type]
            signed = self._signed(name, fields, rights[0][1], known=_known(method))
            signed.pop("approval", None)
            with writing_for_principal(fields.get("idempotency_key")):
                answer = method(*args, **signed)
            return own_words(answer) if is_careful(rights) else answer
        for each in _INQUIRY:
            fields.pop(each, None)
        return self._read(name, lambda: method(*args, **fields), arguments, rights)

    def _beside(self, name: str, fields: Mapping[str, Any]) -> dict[str, object]:
        """Return which memories are asked beside the one that is named alone."""
        if fields.get("scopes") is not None:
            # Read once: what is asked about is what was looked at here.
            return {"scopes": inputs.read_once(fields["scopes"])}
        own = inputs.scope_of(fields.get("user_id"), fields.get("scope"))
        known = above(act_of(name, fields), self.principal, own)
        return {"scopes": known} if known else {}

    def _read(
        self,
        name: str,
        answered: Callable[[], object],
        arguments: Mapping[str, object],
        rights: Sequence[tuple[Scope | None, Right]],
    ) -> object:
        # Who keeps the store running and says why is taken at their word.
        says_why = VERBS[name].act is Act.OPERATE and arguments.get("reason") is not None
        looks = [
            self._look(name, scope, right, arguments)
            for scope, right in rights
            if right.grant is not Grant.FREE or says_why
        ]
        if is_careful(rights):
            answer = self._answered_in_part(name, answered, rights)
        else:
            answer = answered()
        for look in looks:
            AccessRecords(self._store._ledger).record(look, answer)  # noqa: SLF001
        if name != "access_log":
            return answer
        return self._in_time(answer, rights, limit=_limit(arguments))

    def _answered_in_part(
        self,
        name: str,
        answered: Callable[[], object],
        rights: Sequence[tuple[Scope | None, Right]],
    ) -> object:
        """Return an answer to somebody who does not see what is restricted."""
        # Whose memory else is in the answer may be read whole.
        of = careful(rights) if VERBS[name].named is Named.SCOPES else None
        if name != "build_context":
            return unrestricted(answered(), of=of)
        # A text cannot be without a fact once it is written: it is left out before.
        token = withheld.set(frozenset(self._restricted(careful(rights))))
        try:
            answer = answered()
        finally:
            withheld.reset(token)
        if unrestricted(answer, of=of) != answer:
            raise AccessDeniedError(self.principal.id, name, "what was restricted then")
        return answer

    def _restricted(self, scopes: Iterable[Scope | None]) -> Iterator[str]:
        """Yield the facts that are restricted now."""
        store = self._store
        point = store._lookup.now()  # noqa: SLF001 - as above
        for scope in scopes:
            subject = store._ledger.vault.find(scope) if scope else None  # noqa: SLF001
            if subject is None:
                continue
            # What the context is made of is read here, and kept: no second reading.
            found = store._recall.documents.of(  # noqa: SLF001
                subject, point.as_of, expired_at=point.asked_at
            )
            for each in found.documents:
                if is_restricted(each.opened.content.evidence):
                    yield each.row.fact_id

    def _right(
        self, name: str, arguments: Mapping[str, object], scope: Scope | None
    ) -> Right:
        """Return what allows a call, or refuse it in the way that says the least."""
        act = act_of(name, arguments)
        right = right_to(act, self.principal, scope)
        if right is not None and is_of_the_past(act, arguments):
            right = right.of_the_past()
        if right is not None and (
            right.grant is not Grant.BREAK_GLASS or arguments.get("break_glass") is True
        ):
            return right
        if scope is None or can_see(self.principal, scope):
            raise AccessDeniedError(self.principal.id, name, _named(scope))
        refuse_unseen(VERBS[name], arguments)
        raise OutOfReachError(self.principal.id, str(scope))

    def _look(
        self, name: str, scope: Scope | None, right: Right, arguments: Mapping[str, Any]
    ) -> Look:
        reason = checked_reason(arguments.get("reason"), f"{name} of {_named(scope)}")
        inputs.reason_or_none(reason)
        return Look(
            principal=self.principal,
            verb=name,
            scope=scope,
            right=right,
            reason=reason,
            matter=inputs.name_or_none("matter", arguments.get("matter")),
            arguments={key: arguments[key] for key in arguments if key not in _INQUIRY},
        )

    def _check_write(
        self,
        name: str,
        arguments: Mapping[str, Any],
        rights: Sequence[tuple[Scope | None, Right]],
    ) -> None:
        """Refuse a write without its reason, to what cannot be seen, or of more rights."""
        for scope, right in rights:
            if right.grant is not Grant.FREE:
                checked_reason(arguments.get("reason"), f"{name} of {_named(scope)}")
        if is_careful(rights):
            for field in ("fact_id", "into"):
                if isinstance(arguments.get(field), str):
                    unrestricted(self._store.get_fact_history(arguments[field]))
        holder = arguments.get("principal")
        if isinstance(holder, Principal) and not set(holder.roles) <= set(
            self.principal.roles
        ):
            whose = f"a key for {', '.join(holder.roles)}"
            raise AccessDeniedError(self.principal.id, name, whose)

    def _signed(
        self,
        name: str,
        fields: Mapping[str, object],
        right: Right,
        *,
        known: frozenset[str],
    ) -> dict[str, object]:
        """Return the fields of a write with who does it, which no argument says."""
        signed, who = dict(fields), self.principal
        field = "by_actor" if name == "rollback_where" else "actor"
        for each in (field, "issued_by"):
            if signed.pop(each, None) not in (None, who.id):
                raise ImpersonationError(who.id, each, fields[each])
        if field in known:
            signed[field] = who.id
        if signed.pop("on_behalf_of", None) not in (None, who.user_id):
            raise ImpersonationError(who.id, "on_behalf_of", fields["on_behalf_of"])
        if who.user_id is not None and "on_behalf_of" in known:
            signed["on_behalf_of"] = who.user_id
        if field == "actor" and "trigger" in known and right.standing in who.roles:
            signed.setdefault("trigger", right.standing)
        if who.kind is Kind.AGENT and "source" in known and field == "actor":
            signed.setdefault("source", f"agent:{who.id}")
        if signed.get("idempotency_key") is not None:
            # One principal never meets, nor learns of, the keys of another.
            key = inputs.name("idempotency_key", signed["idempotency_key"])
            own = f"{len(who.id)}:{who.id}:{key}"
            signed["idempotency_key"] = inputs.as_name(own)
        return signed

    def _in_time(
        self, answer: object, rights: Sequence[tuple[Scope | None, Right]], *, limit: int
    ) -> object:
        """Return a log without what a legal hold keeps from the person it is about."""
        assert isinstance(answer, AccessLog), "a log was asked for"
        ((scope, right),) = rights
        if scope is None or right.standing != "subject":
            return answer
        since = f"{max(0, self._held_since(scope)):016x}"
        if all(each.access_id < since for each in answer.items):
            return answer
        # Read again from there: a cursor names a look, and when it was, too.
        records = AccessRecords(self._store._ledger)  # noqa: SLF001 - as above
        shown = records.page(scope, before=since, limit=limit)
        return replace(answer, items=shown.items, next_cursor=shown.next_cursor)

    def _held_since(self, scope: Scope) -> int:
        """Return when the first hold in force on a subject was recorded, or never."""
        ledger = self._store._ledger  # noqa: SLF001 - as above
        subject = ledger.vault.find(scope)
        if subject is None:
            return _NEVER
        stamped = ledger.recorder.read_stream(SUBJECT + subject.ref)
        events = ledger.mapper.opened(stamped, subject)
        in_force = ledger.subject_state(subject).holds_on(None)
        return min(
            (
                each.recorded_at
                for each in events
                if isinstance(each.event, HoldPlaced) and each.event.hold_id in in_force
            ),
            default=_NEVER,
        )


_NEVER = 2**63 - 1

_INQUIRY = ("reason", "matter", "break_glass")
"""What a reading verb of an acting store takes, and that of the store does not."""


def _attribute(store: Any, name: str) -> object | None:  # noqa: ANN401 - the facade
    """Return what a store has of a name, not called and not bound."""
    found: object = _attribute_of(store.__class__, name)
    return inspect.getattr_static(store, name, None) if found is None else found


@functools.lru_cache(maxsize=512)
def _attribute_of(kind: Any, name: str) -> Any:  # noqa: ANN401 - a type, and what it has
    # A walk through some twenty classes, which is half of what the guard costs.
    return inspect.getattr_static(kind, name, None)


def _known(method: Callable[..., object]) -> frozenset[str]:
    """Return the names of what a verb takes."""
    return _known_of(getattr(method, "__func__", method))


@functools.cache
def _known_of(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(fields_of(function))


def _by_name(
    method: Callable[..., object], args: Sequence[object], fields: Mapping[str, object]
) -> dict[str, object]:
    """Return what a verb was called with, what came by its place by its name, too."""
    if not args:
        return dict(fields)
    names = _names_of(getattr(method, "__func__", method))[isinstance(method, MethodType) :]
    return {**dict(zip(names, args, strict=False)), **fields}


@functools.cache
def _names_of(function: Callable[..., object]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _limit(arguments: Mapping[str, Any]) -> int:
    return LOG_PAGE if arguments.get("limit") is None else int(arguments["limit"])


def _named(scope: Scope | None) -> str:
    return "the ledger" if scope is None else str(scope)
