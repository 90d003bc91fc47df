"""What is not as documented is refused and says where; what was begun is finished."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from muniment import MemoryStore, Principal
from muniment.client import Client
from tests.holding import SECONDS_MAX, lock_held
from tests.served import key_of, logged, served


JSON = {"Content-Type": "application/json"}
FACT = "/v1/facts/01m8nqhdc08zyb7218v6btq1av"
MINE = {"scope": "user:u-sent", "content": "喝茶"}
THEN = "2026-01-01T00:00:00Z"
WHY = {"scope": "user:u-sent", "reason": "Art. 17"}
GLASS = "header.Muniment-Break-Glass"


@pytest.fixture(scope="module")
def raw(store: MemoryStore, url: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {key_of(store, Principal(id='u-sent'))}"}
    with httpx.Client(base_url=url, headers=headers) as raw:
        yield raw


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", "/v1/facts?scope=user:u-sent&limit=1&catgory=x", None, "query.catgory"),
        ("GET", "/v1/facts?scope=user:u-sent&limit=many", None, "query.limit"),
        ("GET", "/v1/facts?scope=nobody", None, "query.scope"),
        ("GET", "/v1/proofs/inclusion/first", None, "path.position"),
        ("GET", f"/v1/proofs/inclusion/{2**62 + 1}", None, "path.position"),
        ("POST", "/v1/facts", {"scope": "user:u-sent"}, "body.content"),
        ("POST", "/v1/facts", {**MINE, "content": 3}, "body.content"),
        ("POST", "/v1/facts", {**MINE, "confidence": "1"}, "body.confidence"),
        ("POST", "/v1/facts", {**MINE, "who": "me"}, "body.who"),
        ("POST", "/v1/facts", [MINE], "body"),
        ("POST", "/v1/facts", None, "body"),
        ("POST", f"{FACT}/end", {"valid_to": 7}, "body.valid_to"),
        # B49: nothing is documented in these places; passed over, it would seem to count.
        ("GET", f"{FACT}/history?timestamp={THEN}", None, "query.timestamp"),
        ("GET", "/v1/whoami?user=me", None, "query.user"),
        ("GET", f"/healthz?as_of={THEN}", None, "query.as_of"),
        ("GET", f"/readyz?valid_at={THEN}", None, "query.valid_at"),
        ("POST", f"{FACT}/forget?mode=redact", None, "query.mode"),
        ("POST", f"/v1/facts?as_of={THEN}", MINE, "query.as_of"),
        ("POST", "/v1/search?scope=user:u", {"query": "tea"}, "query.scope"),
        ("POST", "/v1/index/catch-up", {"wait": True}, "body.wait"),
        ("POST", "/v1/index/catch-up", [1], "body"),
        ("POST", "/v1/archive/prune", {"older_than_us": 1}, "body.older_than_us"),
        ("GET", f"{FACT}/history", {"as_of": "2000"}, "body.as_of"),
        ("GET", "/v1/facts?scope=user:u-sent", {"category": "x"}, "body.category"),
        # And this says two things.
        ("GET", "/v1/facts?scope=user:u-sent&scope=user:u-other", None, "query.scope"),
    ],
)
def test_a_field_that_is_not_as_documented_is_named(
    raw: httpx.Client, method: str, path: str, body: object, field: str
) -> None:
    content = b"" if body is None else json.dumps(body).encode()

    answer = raw.request(method, path, content=content, headers=JSON)

    assert answer.status_code == 422
    problems = answer.json()["facts"]["problems"]
    assert [each["field"] for each in problems] == [field]
    assert "喝茶" not in answer.text


@pytest.mark.parametrize(
    ("path", "content", "header", "field"),
    [
        ("/v1/facts", b'{"content":"a","content":"b"}', None, "body.content"),
        ("/v1/facts", b'{"content":"a","metadata":{"k":1,"k":2}}', None, "body.k"),
        ("/v1/facts", MINE, ("Idempotency-Key", "b"), "header.Idempotency-Key"),
        # Here there is neither: passed over, the caller would believe to be safe by it.
        ("/v1/facts", MINE, ("If-Match", '"1"'), "header.If-Match"),
        (f"{FACT}/rollback", {"to_version": 1}, ("If-Match", '"1"'), "header.If-Match"),
        # What writes takes its reason in the body.
        (
            "/v1/facts",
            MINE,
            ("Muniment-Reason", "asked by phone"),
            "header.Muniment-Reason",
        ),
        ("/v1/facts", MINE, ("Muniment-Matter", "case 4711"), "header.Muniment-Matter"),
        ("/v1/erasures", WHY, ("Muniment-Reason", "Art. 17"), "header.Muniment-Reason"),
        (f"{FACT}/restore", {}, ("Muniment-Break-Glass", "true"), GLASS),
        ("/v1/index/catch-up", {}, None, "header.Idempotency-Key"),
        ("/v1/transactions/1_0/undo", {}, None, "path.tx_id"),
    ],
)
def test_what_is_said_twice_or_where_it_does_not_count_is_refused(
    raw: httpx.Client,
    path: str,
    content: object,
    header: tuple[str, str] | None,
    field: str,
) -> None:
    """A proxy and a store, or two readers of one JSON, would take two things from it."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    sent = [*JSON.items(), ("Idempotency-Key", "a"), *([header] if header else [])]

    answer = raw.post(path, content=body, headers=sent)

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["facts"]["problems"]] == [field]


def test_a_number_in_a_url_is_written_in_digits(raw: httpx.Client) -> None:
    for spelled in ("1_0", "5.0", "%2B5", "%205", "٣"):
        answer = raw.get(f"/v1/facts?scope=user:u-sent&limit={spelled}")
        assert (spelled, answer.status_code) == (spelled, 422)


def test_a_number_that_json_has_not_is_refused_and_named(raw: httpx.Client) -> None:
    """It was said to be a mistake of ours, as the answer could not be written either."""
    for spelled in ("1e999", "-1e999", "NaN"):
        content = (
            f'{{"scope": "user:u-sent", "content": "a", "metadata": {{"k": {spelled}}}}}'
        )
        answer = raw.post("/v1/facts", content=content, headers=JSON)
        assert answer.status_code == 422
        assert answer.json()["facts"]["field"] == "metadata.k"


def test_what_is_null_is_left_out(raw: httpx.Client) -> None:
    """Clients made of the document send all there is, and the document allows null."""
    operation = raw.get("/v1/openapi.json").json()["paths"]["/v1/facts"]["post"]
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schemas = raw.get("/v1/openapi.json").json()["components"]["schemas"]
    model = schemas[name.rpartition("/")[2]]
    nothing = dict.fromkeys(set(model["properties"]) - set(model["required"]))

    bare = raw.post("/v1/facts", json={**MINE, "content": "bare"})
    full = raw.post("/v1/facts", json={**nothing, **MINE, "content": "full"})

    its_own = {"fact_id", "content", "valid_from", "recorded_at", "position", "tx_id"}
    assert bare.json().keys() > its_own
    assert [(each, full.json()[each]) for each in bare.json() if each not in its_own] == [
        (each, value) for each, value in bare.json().items() if each not in its_own
    ]


def test_a_key_may_be_as_long_as_any_name_and_is_never_empty(raw: httpx.Client) -> None:
    body = {**MINE, "content": "keyed"}

    made, again = (
        raw.post("/v1/facts", json=body, headers={"Idempotency-Key": "k" * 256})
        for _ in range(2)
    )
    for key in ("", "k" * 257):
        refused = raw.post("/v1/facts", json=body, headers={"Idempotency-Key": key})
        assert refused.status_code == 422

    assert (made.status_code, again.json()) == (201, made.json())


def test_if_match_is_one_version_as_an_etag_says_it(raw: httpx.Client) -> None:
    made = raw.post("/v1/facts", json={**MINE, "content": "喝什么茶"}).json()
    path = f"/v1/facts/{made['fact_id']}/update"
    # The second is what a proxy makes of it that compresses answers.
    taken = ['"7"', 'W/"7"', "7"]
    refused = ["*", '"7', '7"', '""7""', "%227%22", "W/7", '"7", "8"', "7_0", '"-7"', ""]

    statuses = {
        tag: raw.post(path, json={"content": "b"}, headers={"If-Match": tag}).status_code
        for tag in taken + refused
    }

    assert statuses == dict.fromkeys(taken, 412) | dict.fromkeys(refused, 422)


def test_a_reason_that_is_no_text_is_not_recorded_as_another(raw: httpx.Client) -> None:
    for reason in (b"%ff", b"\xff\xfe"):
        headers = {b"Muniment-Reason": reason}
        answer = raw.get("/v1/facts?scope=user:u-sent", headers=headers)
        assert answer.status_code == 422


def test_two_bearers_are_two_callers(raw: httpx.Client) -> None:
    headers = [("Authorization", raw.headers["authorization"])] * 2

    assert raw.get("/v1/whoami", headers=headers[:1]).status_code == 200
    assert httpx.get(f"{raw.base_url}/v1/whoami", headers=headers).status_code == 401


def test_nobody_is_sent_elsewhere_with_their_key(raw: httpx.Client) -> None:
    answer = raw.get("/v1/facts/?scope=user:u-sent", headers={"Host": "elsewhere.example"})

    assert (answer.status_code, answer.headers.get("location")) == (404, None)


@pytest.mark.parametrize("content", [b"{", b'{"a":' * 5_000, b"\xff", b'"\\ud800"', b"NaN"])
def test_a_body_that_is_no_object_in_json_is_refused(
    raw: httpx.Client, content: bytes
) -> None:
    answer = raw.post("/v1/facts", content=content, headers=JSON)

    assert answer.status_code == 422
    assert answer.json()["facts"]["problems"][0]["field"] == "body"


def test_a_body_is_read_as_what_it_says_it_is(raw: httpx.Client) -> None:
    content = json.dumps(MINE).encode()
    types = {
        None: 422,
        "text/plain": 422,
        "application/json; charset=utf-8": 201,
        'application/JSON;Charset="UTF-8"; profile=x': 201,
        # What is said in this, read as UTF-8, would be other words.
        "application/json; charset=gbk": 422,
        "application/json;profile=x; charset=utf-16": 422,
    }
    packed = {**JSON, "Content-Encoding": "gzip"}

    for kind, status in types.items():
        headers = {} if kind is None else {"Content-Type": kind}
        assert raw.post("/v1/facts", content=content, headers=headers).status_code == status
    assert raw.post("/v1/facts", content=content, headers=packed).status_code == 422
    # Nothing has to be sent where nothing is needed.
    assert raw.post(f"{FACT}/restore").status_code == 404


def test_who_hangs_up_in_the_middle_of_a_body_leaves_nothing_behind(
    store: MemoryStore, url: str
) -> None:
    lines = [
        "POST /v1/facts HTTP/1.1",
        f"Host: {urlsplit(url).netloc}",
        f"Authorization: Bearer {key_of(store, Principal(id='u-half'))}",
        "Content-Type: application/json",
        "Content-Length: 1000",
        "X-Request-Id: half",
    ]
    with logged() as said:
        with socket.create_connection(_place(url)) as wire:
            wire.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode() + b"{")
        # A request is logged after it is answered: an earlier one may still be to come.
        heard = (json.loads(said.get(timeout=SECONDS_MAX)) for _ in range(10))
        line = next(each for each in heard if each["request_id"] == "half")

    assert (line["request_id"], line["route"], line["status"]) == ("half", "/v1/facts", 0)
    assert "bug" not in line
    assert said.empty()


def _place(url: str) -> tuple[str, int]:
    address = urlsplit(url)
    return str(address.hostname), int(str(address.port))


def _once_nobody_listens(url: str, action: Callable[[], None]) -> None:
    """Do *action* as soon as a service that was told to end takes nobody in any more."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            socket.create_connection(_place(url)).close()
        except ConnectionRefusedError:
            action()
            return
        time.sleep(0.01)
    raise AssertionError("the service listens still")


def test_a_write_under_way_is_finished_before_the_service_ends(store: MemoryStore) -> None:
    """A service that is told to end while a write waits for the ledger's lock."""
    key = key_of(store, Principal(id="u-end"))
    with ThreadPoolExecutor(2) as pool, lock_held(store) as let_go:
        with served(store) as url:
            client = Client(url, api_key=key)
            written = pool.submit(client.remember, "finished", user_id="u-end")
            while not store._ledger._commits._waiting:
                assert not written.done(), "it waits for the one that holds the lock"
            ending = pool.submit(_once_nobody_listens, url, let_go)
        # The service has ended, and was told to before the lock was let go of.
        ending.result(SECONDS_MAX)
        with client:
            assert written.result(SECONDS_MAX).content == "finished"

    assert [each.content for each in store.get_all(user_id="u-end")] == ["finished"]


def test_a_key_that_another_process_ended_opens_nothing_any_more(
    store: MemoryStore, url: str
) -> None:
    issued = store.issue_api_key(Principal(id="u-key"))
    headers = {"Authorization": f"Bearer {issued.secret}"}
    with httpx.Client(base_url=url, headers=headers) as client:
        assert client.get("/v1/whoami").status_code == 200

        with MemoryStore.open(store.settings) as other:
            other.revoke_api_key(issued.key_id)

        assert client.get("/v1/whoami").status_code == 401
