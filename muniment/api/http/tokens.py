"""
Tokens of an OpenID provider: checked by its published keys, and read as a principal.

The algorithm is ours to say. What a token says of its own algorithm, of where its key is
to be had, or of itself in any header, is believed in nothing but which published key to
look at.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import jwt
from jwt.types import Options

from muniment.domain.access import Principal
from muniment.domain.access import Role as DomainRole
from muniment.errors import (
    ConfigurationError,
    InvalidInput,
    IssuerUnavailableError,
    NotAuthenticatedError,
)
from muniment.settings import Settings


TOKEN_LENGTH_MAX: Final = 8_192
KEYS_SECONDS: Final = 300.0
"""How long published keys are kept."""

LOOK_AGAIN_SECONDS: Final = 10.0
"""How soon they are asked for again: for a key not among them, or after that failed."""

LEEWAY_SECONDS: Final = 30
FETCH_SECONDS_MAX: Final = 5

Fetch = Callable[[], Mapping[str, Any]]


class PublishedKeys:
    """
    The keys that an issuer publishes, kept for a while.

    Safe to use from many threads. One of them asks the issuer; whoever shows a key that is
    kept, or knows already that the issuer is away, does not wait for it.
    """

    def __init__(self, url: str, algorithm: str) -> None:
        client = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=FETCH_SECONDS_MAX)
        self._fetch: Fetch = client.fetch_data
        self._url = url
        self._algorithm = algorithm
        self._asking = threading.Lock()
        self._asked_at = float("-inf")
        self._problem: str | None = None
        # One value, so that nobody sees the keys of one answer and the age of another.
        self._kept: tuple[float, dict[str, Any]] = float("-inf"), {}

    def key(self, key_id: str) -> Any:  # noqa: ANN401 - of whatever kind the algorithm needs
        """
        Return a published key.

        Raises:
            NotAuthenticatedError: If there is none of that id.
            IssuerUnavailableError: If the keys cannot be had.
        """
        keys = self._fresh()
        if keys is None or key_id not in keys:
            keys = self._looked_at_again()
        if key_id not in keys:
            raise NotAuthenticatedError("the token is signed by no published key")
        return keys[key_id]

    def _fresh(self) -> dict[str, Any] | None:
        fetched_at, keys = self._kept
        return keys if time.monotonic() - fetched_at <= KEYS_SECONDS else None

    def _looked_at_again(self) -> dict[str, Any]:
        """Return the keys, asked for now unless they were just now."""
        is_first = self._fresh() is None and self._problem is None
        if not self._asking.acquire(timeout=FETCH_SECONDS_MAX if is_first else 0):
            problem = self._problem or "it is being asked, and has not answered yet"
            raise IssuerUnavailableError(self._url, problem)
        try:
            if time.monotonic() - self._asked_at > LOOK_AGAIN_SECONDS:
                self._ask()
            if self._problem is not None:
                raise IssuerUnavailableError(self._url, self._problem)
            return self._kept[1]
        finally:
            self._asking.release()

    def _ask(self) -> None:
        try:
            keys = self._read(self._fetch())
        except (jwt.PyJWKClientError, OSError, ValueError, RecursionError) as error:
            self._problem = str(error)
        else:
            self._problem = None
            self._kept = time.monotonic(), keys
        self._asked_at = time.monotonic()

    def _read(self, published: Mapping[str, Any]) -> dict[str, Any]:
        listed = published.get("keys")
        if not isinstance(listed, list):
            raise ValueError("what it publishes is no set of keys")  # noqa: TRY004 - JSON's
        found: dict[str, Any] = {}
        for each in listed:
            if not isinstance(each, dict) or each.get("use", "sig") != "sig":
                continue
            if each.get("alg", self._algorithm) != self._algorithm:
                continue
            try:
                found[str(each.get("kid"))] = jwt.PyJWK(each, self._algorithm).key
            except jwt.PyJWTError:
                # Of another kind than the algorithm needs: no key of ours.
                continue
        return found


class Tokens:
    """Reads tokens as principals, as settings say."""

    def __init__(self, settings: Settings) -> None:
        if settings.jwt_issuer is None or settings.jwt_jwks_url is None:
            raise ConfigurationError(
                "tokens need an issuer and the URL of its keys",
                "set both MUNIMENT_JWT_ISSUER and MUNIMENT_JWT_JWKS_URL, or neither",
            )
        try:
            _principal("anybody", list(settings.jwt_role_map.values()))
        except NotAuthenticatedError as error:
            raise ConfigurationError(
                f"the role map names what there is not: {error.problem}",
                "mend MUNIMENT_JWT_ROLE_MAP",
            ) from error
        self._settings = settings
        self._keys = PublishedKeys(settings.jwt_jwks_url, settings.jwt_algorithm)

    def principal(self, token: str) -> Principal:
        """
        Return whom *token* stands for.

        Raises:
            NotAuthenticatedError: If it does not hold, or is for somebody else.
            IssuerUnavailableError: If the keys to check it by cannot be had.
        """
        settings = self._settings
        if len(token) > TOKEN_LENGTH_MAX:
            raise NotAuthenticatedError(f"a token is at most {TOKEN_LENGTH_MAX} characters")
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != settings.jwt_algorithm or "crit" in header:
                raise NotAuthenticatedError(
                    f"a token is signed with {settings.jwt_algorithm}"
                )
            claims = jwt.decode(
                token,
                self._keys.key(str(header.get("kid"))),
                algorithms=[settings.jwt_algorithm],
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                leeway=LEEWAY_SECONDS,
                options=_REQUIRED,
            )
        except jwt.PyJWTError as error:
            raise NotAuthenticatedError(f"the token does not hold: {error}") from error
        if claims.get(settings.jwt_tenant_claim) != settings.ledger:
            raise NotAuthenticatedError("the token is of another tenant")
        return _principal(str(claims["sub"]), self._standing(claims))

    def _standing(self, claims: Mapping[str, Any]) -> list[str]:
        said = claims.get(self._settings.jwt_roles_claim, ())
        values = [said] if isinstance(said, str) else said
        if not isinstance(values, list | tuple):
            raise NotAuthenticatedError("the roles of the token are no list")
        known = self._settings.jwt_role_map
        return [known[each] for each in values if isinstance(each, str) and each in known]


_REQUIRED: Final[Options] = {"require": ["exp", "iss", "aud", "sub"]}


def _principal(subject: str, standing: list[str]) -> Principal:
    roles = tuple(DomainRole(each) for each in standing if each in tuple(DomainRole))
    memberships = tuple(each for each in standing if each not in tuple(DomainRole))
    try:
        return Principal(id=subject, roles=roles, memberships=memberships)
    except InvalidInput as error:
        raise NotAuthenticatedError(str(error)) from error
