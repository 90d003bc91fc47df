"""A store that accounts for who looked, and knows who asks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Unpack

from muniment.api import cursors, inputs
from muniment.api.access import ActingStore
from muniment.api.accesses import (
    ACCESS_ID,
    LOG_PAGE,
    AccessLog,
    AccessRecords,
    EmergencyPage,
)
from muniment.api.answers import Receipt
from muniment.api.archival import ArchivalStore
from muniment.api.credentials import (
    ApiKey,
    Credential,
    Credentials,
    IssuedKey,
    Opened,
)
from muniment.api.fields import By
from muniment.api.transacting import receipt
from muniment.api.verbs import verb, write_verb
from muniment.domain.access import Principal
from muniment.domain.scope import Scope
from muniment.errors import InvalidValueError
from muniment.instants import Time, moment


LOG_MAX = 1_000


class AccountableStore(ArchivalStore):
    """A store that accounts for who looked, and can be used on behalf of somebody."""

    def acting_as(
        self, principal: Principal, *, verbs: Sequence[str] | None = None
    ) -> ActingStore:
        """
        Return the same store as *principal* may use it.

        Args:
            principal: Who asks, as whoever authenticated them says.
            verbs: These alone, of all they may use.

        Raises:
            ForeignTenantError: If they belong to another tenant.
        """
        return ActingStore(self, principal, verbs=verbs)

    def authenticate(self, api_key: str) -> Credential:
        """
        Return whom an API key stands for, and what it may be used for.

        Raises:
            NotAuthenticatedError: If it opens nothing.
        """
        return Credentials(self._ledger, self._opened_keys).authenticate(api_key)

    @cached_property
    def _opened_keys(self) -> dict[str, Opened]:
        return {}

    @verb
    def access_log(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        limit: int = LOG_PAGE,
        cursor: str | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> AccessLog:
        """
        Return who looked, at one memory or at all, the last look first.

        A person who asks for their own sees nothing that was recorded since a legal hold
        was placed on it, until it is released.

        Args:
            user_id: At whose memory; at everybody's if left out.
            scope: At whose memory.
            limit: 1 to 1,000.
            cursor: `AccessLog.next_cursor` of the part before.
            as_of: What was recorded by then; by now if left out.
            valid_at: Likewise: who looks does as it is recorded, so the earlier counts.

        Raises:
            InvalidCursorError: If *cursor* is none.
            FutureAsOfError: If *as_of* has not come.
        """
        named = user_id is not None or scope is not None
        whose = inputs.scope_of(user_id, scope) if named else None
        inputs.count("limit", limit, least=1, most=LOG_MAX)
        before = cursors.named(cursor, ACCESS_ID.fullmatch)
        point = self._lookup.point(as_of, valid_at)
        # Each is named by when it was recorded.
        first_after = f"{max(0, point.until + 1):016x}"
        before = first_after if before is None else min(before, first_after)
        found = AccessRecords(self._ledger).page(whose, before=before, limit=limit)
        known_at = moment(point.known_at)
        return replace(found, position=point.position, recorded_at=known_at)

    @verb
    def list_broken_glass(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> EmergencyPage:
        """
        Return the emergency accesses that no officer has reviewed, the latest last.

        Args:
            limit: 1 to 1,000.
            cursor: `EmergencyPage.next_cursor` of the part before.
            as_of: Those that waited then; now if left out.
            valid_at: Likewise; the earlier of both times counts.

        Raises:
            InvalidCursorError: If *cursor* is none.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.count("limit", limit, least=1, most=LOG_MAX)
        after = cursors.named(cursor, ACCESS_ID.fullmatch)
        position = self._lookup.place(self._lookup.point(as_of, valid_at))
        return AccessRecords(self._ledger).emergencies(
            after=after, limit=limit, position=position
        )

    @write_verb
    def review_broken_glass(self, glass_id: str, **by: Unpack[By]) -> Receipt:
        """
        Record that an emergency access was looked into; then there can be another.

        Args:
            glass_id: As `list_broken_glass` gives it.
            by: See `By`; the reason is what came of it.

        Raises:
            UnknownGlassError: If there is none that waits for it.
            AccessDeniedError: If it is the reviewer's own.
        """
        inputs.name("glass_id", glass_id)
        return receipt(AccessRecords(self._ledger).review(glass_id, inputs.origin(by)))

    @write_verb
    def issue_api_key(
        self,
        principal: Principal,
        *,
        verbs: Sequence[str] | None = None,
        ends_at: Time | None = None,
        **by: Unpack[By],
    ) -> IssuedKey:
        """
        Make an API key that stands for *principal*; it is shown this once.

        Args:
            principal: Whom it stands for.
            verbs: What it may be used for; all that its principal may do if left out.
            ends_at: From then on it opens nothing; never if left out.
            by: See `By`.

        Raises:
            KeyAlreadyIssuedError: If it was made by a request of that idempotency key: no
                second answer can show it.
        """
        if not isinstance(principal, Principal):
            raise InvalidValueError("principal", principal, "a Principal")
        only = None if verbs is None else inputs.names("verbs", verbs)
        origin = inputs.origin(by)
        return Credentials(self._ledger).issue(
            principal, origin, verbs=only, ends_at=inputs.time_or_none(ends_at)
        )

    @write_verb
    def roll_api_key(
        self, key_id: str, *, old_ends_at: Time | None = None, **by: Unpack[By]
    ) -> IssuedKey:
        """
        Make another key that stands for the same, and end the old one.

        Args:
            key_id: Of the old one.
            old_ends_at: When that ends; at once if left out.
            by: See `By`.

        Raises:
            UnknownApiKeyError: If there is no such key.
            KeyAlreadyIssuedError: As of `issue_api_key`.
        """
        inputs.name("key_id", key_id)
        ends_at = inputs.time_or_none(old_ends_at)
        origin = inputs.origin(by)
        return Credentials(self._ledger).roll(key_id, origin, old_ends_at=ends_at)

    @write_verb
    def revoke_api_key(self, key_id: str, **by: Unpack[By]) -> Receipt:
        """
        End an API key; from now on it opens nothing.

        Args:
            key_id: Names it.
            by: See `By`.

        Raises:
            UnknownApiKeyError: If there is no such key.
        """
        inputs.name("key_id", key_id)
        return receipt(Credentials(self._ledger).revoke(key_id, inputs.origin(by)))

    @verb
    def list_api_keys(
        self, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> tuple[ApiKey, ...]:
        """
        Return every API key there ever was, the last made first; without what opens.

        Args:
            as_of: Those there were then, as they were; now if left out.
            valid_at: Likewise: a key is made and ended as that is recorded, so the earlier
                time counts.

        Raises:
            FutureAsOfError: If *as_of* has not come.
        """
        position = self._lookup.place(self._lookup.point(as_of, valid_at))
        return Credentials(self._ledger).all(position)
