"""Who calls: a bearer read as a principal, and how often they may."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from muniment import MemoryStore
from muniment.api.access import ActingStore
from muniment.api.http.tokens import Tokens
from muniment.errors import NotAuthenticatedError, RateLimitedError


_API_KEY: Final = "mnm_"
_CALLERS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Caller:
    """
    Somebody who is known.

    Attributes:
        name: Says in logs which key or token it was; names no person.
    """

    name: str
    store: ActingStore


class Callers:
    """Knows callers by what they show. Safe to use from many threads."""

    def __init__(self, store: MemoryStore) -> None:
        settings = store.settings
        self._store = store
        has_issuer = settings.jwt_issuer is not None or settings.jwt_jwks_url is not None
        self._tokens = Tokens(settings) if has_issuer else None
        self._rates = Rates(settings.rate_limit)

    def known(self, authorizations: Sequence[str]) -> Caller:
        """
        Return who shows the one of *authorizations*; two are two callers.

        Raises:
            NotAuthenticatedError: If it is nobody.
            RateLimitedError: If they call too often.
        """
        if len(authorizations) > 1:
            raise NotAuthenticatedError("more than one was sent")
        scheme, _, shown = "".join(authorizations).partition(" ")
        shown = shown.strip()
        if scheme.lower() != "bearer" or not shown:
            raise NotAuthenticatedError("no bearer was sent")
        if shown.startswith(_API_KEY):
            credential = self._store.authenticate(shown)
            name, principal, verbs = (
                credential.key_id,
                credential.principal,
                credential.verbs,
            )
            limited = f"key {name}"
        elif self._tokens is not None:
            principal, verbs = self._tokens.principal(shown), None
            name, limited = "token", f"token {principal.id}"
        else:
            raise NotAuthenticatedError("it is no API key")
        self._rates.take(limited)
        return Caller(name, self._store.acting_as(principal, verbs=verbs))


class Rates:
    """
    How often each caller may call: a bucket of one minute's requests, always refilling.

    Safe to use from many threads.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """
        Take one request out of the bucket of *caller*.

        Raises:
            RateLimitedError: If it is empty.
        """
        now, per_second = time.monotonic(), self._per_minute / 60
        with self._lock:
            if len(self._buckets) > _CALLERS_MAX:
                self._buckets.clear()
            left, at = self._buckets.pop(caller, (float(self._per_minute), now))
            left = min(self._per_minute, left + (now - at) * per_second)
            allowed = left >= 1
            self._buckets[caller] = (left - allowed, now)
        if not allowed:
            raise RateLimitedError(self._per_minute, max(1, round((1 - left) / per_second)))
