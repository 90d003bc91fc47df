"""API keys: shown once, kept as a digest, each standing for one principal."""

import hashlib
import hmac
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from muniment.api.transacting import request_body
from muniment.domain.access import Kind, Principal, Role
from muniment.domain.access_events import ApiKeyIssued, ApiKeyRevoked, KeyHolder
from muniment.domain.acts import VERBS
from muniment.domain.events import Event
from muniment.domain.time import Instant
from muniment.errors import (
    ForeignTenantError,
    InvalidValueError,
    KeyAlreadyIssuedError,
    NotAuthenticatedError,
    UnknownApiKeyError,
)
from muniment.instants import moment
from muniment.ledger.ids import new_id_in_order
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import API_KEY, Origin, StampedEvent
from muniment.ledger.transaction import Request, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """
    An API key, without what opens.

    Attributes:
        key_id: Names it; part of the key itself.
        principal: Whom it stands for.
        verbs: What it may be used for; ``None`` for all that its principal may do.
        issued_by: Who made it.
        ends_at: From then on it opens nothing; ``None`` for never.
        revoked: Whether somebody ended it, rather than its time.
    """

    key_id: str
    principal: Principal
    verbs: tuple[str, ...] | None
    issued_at: datetime
    issued_by: str | None
    ends_at: datetime | None
    revoked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """
    A new API key.

    Attributes:
        secret: The key as it is sent; shown this once, and kept nowhere.
        tx_id: The transaction that made it.
    """

    key_id: str
    secret: str
    tx_id: int
    ends_at: datetime | None

    def __repr__(self) -> str:
        return f"<IssuedKey {self.key_id}>"


@dataclass(frozen=True, slots=True)
class Credential:
    """What a key that was shown opens: for whom, and for which verbs alone."""

    key_id: str
    principal: Principal
    verbs: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Opened:
    """An API key as its first so many events say: events do not change."""

    events: int
    digest: str
    ends_at: Instant | None
    credential: Credential


@dataclass(frozen=True, slots=True)
class Credentials:
    """
    The API keys of a ledger.

    Attributes:
        opened: By key id, those that were shown before.
    """

    ledger: Ledger
    opened: dict[str, Opened] = field(default_factory=dict)

    def issue(
        self,
        principal: Principal,
        origin: Origin,
        *,
        verbs: Sequence[str] | None,
        ends_at: Instant | None,
    ) -> IssuedKey:
        """
        Make a key for *principal*.

        Raises:
            ForeignTenantError: If they belong to another tenant.
            KeyAlreadyIssuedError: If this very request made one before.
        """
        if principal.tenant not in (None, self.ledger.name):
            raise ForeignTenantError(principal.id, str(principal.tenant))
        for verb in verbs or ():
            if verb not in VERBS:
                raise InvalidValueError("a verb", verb, f"one of {', '.join(VERBS)}")
        secret = os.urandom(_SECRET_BYTES).hex()
        event = ApiKeyIssued(
            digest=_digest(secret),
            verbs=None if verbs is None else tuple(verbs),
            expires_at=ends_at,
            holder=_holder(principal),
        )
        made: list[str] = []

        def work(transaction: Transaction) -> None:
            _check_end(ends_at, transaction.recorded_at)
            made.append(_open(transaction, event))

        asked = {"holder": event.holder, "verbs": event.verbs, "ends_at": ends_at}
        committed = self._transact("issue_api_key", origin, work, asked)
        return _issued(committed, made, secret, ends_at)

    def roll(
        self, key_id: str, origin: Origin, *, old_ends_at: Instant | None
    ) -> IssuedKey:
        """
        Make another key that stands for the same, and end the old one.

        Raises:
            KeyAlreadyIssuedError: If this very request made one before.
        """
        secret = os.urandom(_SECRET_BYTES).hex()
        made: list[str] = []
        end: list[Instant | None] = []

        def work(transaction: Transaction) -> None:
            now = transaction.recorded_at
            old = self._issued_in(transaction, key_id)
            _check_end(old_ends_at, now)
            _end(transaction, key_id, now if old_ends_at is None else old_ends_at)
            made.append(_open(transaction, replace(old, digest=_digest(secret))))
            end.append(old.expires_at)

        asked = {"key_id": key_id, "old_ends_at": old_ends_at}
        committed = self._transact("roll_api_key", origin, work, asked)
        return _issued(committed, made, secret, end[-1] if end else None)

    def revoke(self, key_id: str, origin: Origin) -> Committed:
        """End a key, from now on."""

        def work(transaction: Transaction) -> None:
            self._issued_in(transaction, key_id)
            _end(transaction, key_id, transaction.recorded_at)

        return self._transact("revoke_api_key", origin, work, {"key_id": key_id})

    def all(self, position: int) -> tuple[ApiKey, ...]:
        """Return every key there was up to a position, the last made first."""
        stamped = self.ledger.recorder.read_prefix(
            API_KEY, before=None, subject_ref="", limit=_KEYS_MAX
        )
        known = [each for each in stamped if each.position <= position]
        return tuple(
            self._key(str(stream).removeprefix(API_KEY), list(events))
            for stream, events in groupby(known, key=lambda e: e.sealed.originator_id)
        )

    def authenticate(self, shown: str) -> Credential:
        """
        Return what a key opens.

        Raises:
            NotAuthenticatedError: If it is none of ours, has ended, or was revoked; which
                of them is not said.
        """
        found = _TOKEN.fullmatch(shown)
        if found is None:
            raise NotAuthenticatedError(_PROBLEM)
        # Read each time, since another process may have ended it.
        stamped = self.ledger.recorder.read_stream(API_KEY + found["key_id"])
        if not stamped:
            raise NotAuthenticatedError(_PROBLEM)
        known = self.opened.get(found["key_id"])
        if known is None or known.events != len(stamped):
            known = self._opened(found["key_id"], stamped)
        if not hmac.compare_digest(known.digest, _digest(found["secret"])):
            raise NotAuthenticatedError(_PROBLEM)
        # Without an end the time is not asked for: that is a question to the database.
        if known.ends_at is not None and known.ends_at <= self.ledger.present().now:
            raise NotAuthenticatedError(_PROBLEM)
        return known.credential

    def _opened(self, key_id: str, stamped: Sequence[StampedEvent]) -> Opened:
        events = [each.event for each in self.ledger.mapper.opened(stamped, None)]
        issued = events[0]
        assert isinstance(issued, ApiKeyIssued), "the stream of a key begins with it"
        credential = Credential(key_id, _principal(issued.holder), issued.verbs)
        opened = Opened(len(events), issued.digest, _ends_at(events), credential)
        if len(self.opened) >= _OPENED_MAX:
            self.opened.clear()
        self.opened[key_id] = opened
        return opened

    def _key(self, key_id: str, stamped: Sequence[StampedEvent]) -> ApiKey:
        events = self.ledger.mapper.opened(stamped, None)
        issued = events[0].event
        assert isinstance(issued, ApiKeyIssued), "the stream of a key begins with it"
        row = self.ledger.recorder.transaction(events[0].tx_id)
        assert row is not None, "an event belongs to a transaction"
        ends_at = _ends_at([each.event for each in events])
        return ApiKey(
            key_id=key_id,
            principal=_principal(issued.holder),
            verbs=issued.verbs,
            issued_at=moment(events[0].recorded_at),
            issued_by=self.ledger.mapper.origin(None, row).actor,
            ends_at=None if ends_at is None else moment(ends_at),
            revoked=len(events) > 1,
        )

    def _issued_in(self, transaction: Transaction, key_id: str) -> ApiKeyIssued:
        events = transaction.stream(API_KEY + key_id)
        if not events:
            raise UnknownApiKeyError(key_id)
        assert isinstance(events[0], ApiKeyIssued), "the stream of a key begins with it"
        return events[0]

    def _transact(
        self,
        action: str,
        origin: Origin,
        work: Callable[[Transaction], None],
        asked: Mapping[str, object],
    ) -> Committed:
        return self.ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=None,
                fact_id=None,
                body=request_body(origin, action=action, asked=asked),
                work=work,
                outlasts=True,
            )
        )


_SECRET_BYTES: Final = 32
_KEYS_MAX: Final = 100_000
_OPENED_MAX: Final = 10_000
_TOKEN: Final = re.compile(r"mnm_(?P<key_id>[0-9a-z]{26})_(?P<secret>[0-9a-f]{64})")
_PROBLEM: Final = "the API key is unknown, has ended, or was revoked"


def _digest(secret: str) -> str:
    """Return what is kept of a secret: it is random, so a plain hash cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _open(transaction: Transaction, event: ApiKeyIssued) -> str:
    key_id = new_id_in_order(transaction.recorded_at)
    transaction.open_stream(API_KEY + key_id, event)
    return key_id


def _end(transaction: Transaction, key_id: str, ends_at: Instant) -> None:
    """Let a key end then, unless it ends before that already."""
    known = _ends_at(transaction.stream(API_KEY + key_id))
    if known is None or known > ends_at:
        transaction.add_to(API_KEY + key_id, [ApiKeyRevoked(ends_at=ends_at)])


def _ends_at(events: Sequence[Event]) -> Instant | None:
    """Return when the key ends whose events these are."""
    ends = [each.ends_at for each in events if isinstance(each, ApiKeyRevoked)]
    ends += [
        each.expires_at
        for each in events
        if isinstance(each, ApiKeyIssued) and each.expires_at is not None
    ]
    return min(ends, default=None)


def _check_end(ends_at: Instant | None, now: Instant) -> None:
    if ends_at is not None and ends_at <= now:
        raise InvalidValueError("the end of a key", moment(ends_at), "in the future")


def _issued(
    committed: Committed, made: Sequence[str], secret: str, ends_at: Instant | None
) -> IssuedKey:
    assert committed.tx_id is not None, "a key that was made was recorded"
    if not made:
        # Answered as the first time, which what is kept of a key cannot be.
        stream = next(
            e.stream for e in committed.events if isinstance(e.event, ApiKeyIssued)
        )
        raise KeyAlreadyIssuedError(stream.removeprefix(API_KEY), committed.tx_id)
    key_id = made[-1]
    return IssuedKey(
        key_id=key_id,
        secret=f"mnm_{key_id}_{secret}",
        tx_id=committed.tx_id,
        ends_at=None if ends_at is None else moment(ends_at),
    )


def _holder(principal: Principal) -> KeyHolder:
    return KeyHolder(
        id=principal.id,
        kind=principal.kind.value,
        roles=tuple(each.value for each in principal.roles),
        memberships=principal.memberships,
        user_id=principal.user_id,
    )


def _principal(holder: KeyHolder | None) -> Principal:
    assert holder is not None, "what the ledger sealed for itself it can open"
    return Principal(
        id=holder.id,
        kind=Kind(holder.kind),
        roles=tuple(Role(each) for each in holder.roles),
        memberships=holder.memberships,
        user_id=holder.user_id,
    )
