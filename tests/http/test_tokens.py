"""Tokens: one row for each way to abuse one, against a real issuer on a port."""

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from muniment import MemoryStore, Settings
from muniment.api.http.tokens import PublishedKeys, Tokens
from muniment.clock import system_clock
from muniment.errors import (
    ConfigurationError,
    IssuerUnavailableError,
    NotAuthenticatedError,
)
from tests.served import served


ISSUER, AUDIENCE, TENANT = "https://issuer.example", "muniment", "main"


Secret = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | str


class Issuer:
    """An issuer whose keys are published on a port of this machine."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        self.stranger = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        self.curve = ec.generate_private_key(ec.SECP256R1())
        self.fetched = 0
        self.published = self._published()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched += 1
                body = json.dumps(issuer.published).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def public_pem(self) -> bytes:
        public = self.key.public_key()
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def token(
        self,
        *,
        key: Secret | None = None,
        algorithm: str = "RS256",
        kid: str = "k-1",
        **changes: object,
    ) -> str:
        now = system_clock() // 1_000_000
        claims: dict[str, Any] = {
            "sub": "o-1",
            "iss": ISSUER,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 300,
            "tenant": TENANT,
            "roles": ["grp-legal", "grp-unknown", 7],
        }
        claims |= changes
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(kept, key or self.key, algorithm=algorithm, headers={"kid": kid})

    def _published(self) -> dict[str, Any]:
        rsa_key = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        curve = jwt.algorithms.ECAlgorithm.to_jwk(self.curve.public_key(), as_dict=True)
        return {
            "keys": [
                {**rsa_key, "kid": "k-1", "use": "sig", "alg": "RS256"},
                {**rsa_key, "kid": "k-enc", "use": "enc"},
                {**curve, "kid": "k-curve"},
                {"kty": "oct", "kid": "k-oct", "k": "c2VjcmV0"},
            ]
        }


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.server.shutdown()
    issuer.server.server_close()


@pytest.fixture(scope="module")
def settings(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(
        database_url=f"sqlite:///{tmp_path_factory.mktemp('jwt')}/store/ledger.db",
        embedder="none",
        upkeep=False,
        jwt_issuer=ISSUER,
        jwt_jwks_url=issuer.url,
        jwt_role_map={"grp-legal": "compliance_officer", "grp-eng": "member_of:eng"},
    )


@pytest.fixture(scope="module")
def asking(settings: Settings) -> Iterator[httpx.Client]:
    with (
        MemoryStore.open(settings) as store,
        served(store) as url,
        httpx.Client(base_url=f"{url}/v1") as client,
    ):
        yield client


def asked(asking: httpx.Client, token: str) -> httpx.Response:
    return asking.get("/whoami", headers={"Authorization": f"Bearer {token}"})


def part(value: Mapping[str, object]) -> str:
    raw = json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsigned(issuer: Issuer, algorithm: str, **header: object) -> str:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    return (
        f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'k-1', **header})}.{part(claims)}"
    )


def confused(issuer: Issuer) -> str:
    """Return a token signed with the public key as if it were a shared secret."""
    signed = unsigned(issuer, "HS256")
    mac = hmac.digest(issuer.public_pem, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def embedding_its_key(issuer: Issuer) -> str:
    """Return a token of a stranger that says in its header by which key to check it."""
    own = jwt.algorithms.RSAAlgorithm.to_jwk(issuer.stranger.public_key(), as_dict=True)
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    headers = {
        "kid": "k-2",
        "jwk": own,
        "jku": "http://127.0.0.1:9/keys",
        "x5u": "file:///",
    }
    return jwt.encode(claims, issuer.stranger, algorithm="RS256", headers=headers)


def now() -> int:
    return system_clock() // 1_000_000


ABUSES: Mapping[str, Callable[[Issuer], str]] = {
    "unsigned": lambda issuer: unsigned(issuer, "none") + ".",
    "unsigned, in capitals": lambda issuer: unsigned(issuer, "NONE") + ".",
    "signed by nobody we know": lambda issuer: issuer.token(key=issuer.stranger),
    "of a key that is not published": lambda issuer: issuer.token(kid="k-9"),
    "of a key that is for something else": lambda issuer: issuer.token(kid="k-enc"),
    "of a key of another kind": lambda issuer: issuer.token(
        key=issuer.curve, algorithm="ES256", kid="k-curve"
    ),
    "of another algorithm of the same key": lambda issuer: issuer.token(algorithm="PS256"),
    "signed with the public key as a secret": confused,
    "signed with a published secret": lambda issuer: issuer.token(
        key="secret" * 8, algorithm="HS256", kid="k-oct"
    ),
    "that brings its own key": embedding_its_key,
    "for another audience": lambda issuer: issuer.token(aud="another"),
    "for no audience": lambda issuer: issuer.token(aud=None),
    "of another issuer": lambda issuer: issuer.token(iss=ISSUER + "/"),
    "of no issuer": lambda issuer: issuer.token(iss=None),
    "that has ended": lambda issuer: issuer.token(exp=now() - 31),
    "without an end": lambda issuer: issuer.token(exp=None),
    "that has not begun": lambda issuer: issuer.token(nbf=now() + 120),
    "of nobody": lambda issuer: issuer.token(sub=None),
    "of an empty name": lambda issuer: issuer.token(sub=""),
    "of a name with a line break": lambda issuer: issuer.token(sub="o-1\n"),
    "of another tenant": lambda issuer: issuer.token(tenant="acme"),
    "of a list of tenants": lambda issuer: issuer.token(tenant=[TENANT]),
    "of no tenant": lambda issuer: issuer.token(tenant=None),
    "whose roles are no list": lambda issuer: issuer.token(roles={"grp-legal": True}),
    "that is huge": lambda issuer: issuer.token(padding="x" * 20_000),
    "with a part too many": lambda issuer: issuer.token() + ".x",
    "with one character changed": lambda issuer: issuer.token()[:-10] + "A" * 10,
    "that is no token": lambda _: "e30.e30.e30",
    "that is nothing": lambda _: "...",
}


@pytest.mark.parametrize("abuse", ABUSES)
def test_no_token_opens_anything_that_is(
    issuer: Issuer, asking: httpx.Client, abuse: str
) -> None:
    answer = asked(asking, ABUSES[abuse](issuer))

    assert answer.status_code == 401, abuse
    assert answer.json()["error"] == "NotAuthenticatedError"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_good_token_stands_for_its_subject_with_the_roles_that_are_mapped(
    issuer: Issuer, asking: httpx.Client
) -> None:
    answer = asked(asking, issuer.token(roles=["grp-legal", "grp-eng", "auditor"]))

    assert answer.json() == {
        "id": "o-1",
        "kind": "person",
        "tenant": None,
        "roles": ["compliance_officer"],
        "memberships": ["member_of:eng"],
        "user_id": None,
    }


def test_a_little_past_its_end_a_token_still_holds(
    issuer: Issuer, asking: httpx.Client
) -> None:
    assert asked(asking, issuer.token(exp=now() - 5)).status_code == 200


def test_keys_are_kept_and_an_unknown_one_is_not_looked_for_at_every_request(
    issuer: Issuer,
) -> None:
    keys = PublishedKeys(issuer.url, "RS256")
    before = issuer.fetched

    for number in range(20):
        keys.key("k-1")
        with pytest.raises(NotAuthenticatedError):
            keys.key(f"unknown-{number}")

    assert issuer.fetched == before + 1


def test_a_new_key_of_the_issuer_is_found_and_an_old_one_ends(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = PublishedKeys(issuer.url, "RS256")
    keys.key("k-1")
    (first, *_) = issuer.published["keys"]
    monkeypatch.setitem(issuer.published, "keys", [{**first, "kid": "k-new"}])
    later = time.monotonic() + 11
    monkeypatch.setattr("muniment.api.http.tokens.time.monotonic", lambda: later)

    assert keys.key("k-new") is not None
    with pytest.raises(NotAuthenticatedError):
        keys.key("k-1")


def test_an_issuer_that_is_away_makes_nobody_known_and_says_so(settings: Settings) -> None:
    away = settings.model_copy(update={"jwt_jwks_url": "http://127.0.0.1:9/keys"})

    with pytest.raises(IssuerUnavailableError, match=r"127\.0\.0\.1:9"):
        Tokens(away).principal(Issuer().token())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"jwt_jwks_url": None}, "MUNIMENT_JWT_JWKS_URL"),
        ({"jwt_role_map": {"g": "emperor"}}, "MUNIMENT_JWT_ROLE_MAP"),
    ],
)
def test_settings_of_tokens_that_contradict_each_other_are_refused(
    settings: Settings, changes: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Tokens(settings.model_copy(update=changes))


class Strange:
    """An issuer that answers with *raw*, once the *gate* is open."""

    def __init__(self, raw: bytes) -> None:
        self.gate, self.asked = threading.Event(), threading.Semaphore(0)
        self.fetched = 0
        self.raw = raw
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched += 1
                issuer.asked.release()
                assert issuer.gate.wait(SECONDS_MAX)
                self.wfile.write(issuer.raw)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


SECONDS_MAX = 20


def answered(body: bytes, *, said: int | None = None) -> bytes:
    length = len(body) if said is None else said
    return f"HTTP/1.0 200 OK\r\nContent-Length: {length}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "raw",
    [
        answered(b"<html>moved</html>"),
        answered(b""),
        answered(b"\xff\xfe"),
        answered(b"[" * 100_000),
        answered(b"[]"),
        answered(b"{}"),
        answered(b'{"keys": null}'),
        answered(b'{"keys": {"k-1": 1}}'),
        answered(b'{"keys": [', said=1_000),
        b"nothing that is HTTP\r\n",
        b"HTTP/1.0 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
        b"",
    ],
)
def test_an_issuer_that_publishes_no_keys_is_as_one_that_is_away(raw: bytes) -> None:
    """And it is not asked at each request, as each would wait for it."""
    with Strange(raw) as issuer:
        issuer.gate.set()
        keys = PublishedKeys(issuer.url, "RS256")

        for number in range(3):
            with pytest.raises(IssuerUnavailableError, match=re.escape(issuer.url)):
                keys.key(f"k-{number}")

        assert issuer.fetched == 1


def test_nobody_whose_key_is_kept_waits_for_an_issuer_that_hangs(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Strange(answered(json.dumps(issuer.published).encode())) as hanging:
        hanging.gate.set()
        keys = PublishedKeys(hanging.url, "RS256")
        kept = keys.key("k-1")
        hanging.gate.clear()
        assert hanging.asked.acquire(timeout=SECONDS_MAX)
        monkeypatch.setattr("muniment.api.http.tokens.LOOK_AGAIN_SECONDS", -1.0)

        with ThreadPoolExecutor(1) as other:
            waits = other.submit(keys.key, "k-unknown")
            assert hanging.asked.acquire(timeout=SECONDS_MAX)
            assert keys.key("k-1") is kept
            with pytest.raises(IssuerUnavailableError, match="has not answered yet"):
                keys.key("k-other")
            assert not waits.done()
            hanging.gate.set()
            with pytest.raises(NotAuthenticatedError):
                waits.result(SECONDS_MAX)
