"""Publishing tree heads to a file, a git repository and a server."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import BaseServer, StreamRequestHandler, TCPServer

import pytest

from muniment import MemoryStore
from muniment.api import publishing
from muniment.errors import InvalidValueError, WitnessUnavailableError
from muniment.ledger import proof
from muniment.ledger.witness import FileWitness, GitWitness, WebhookWitness


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://") as opened:
        opened.remember("a", user_id="u")
        yield opened


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new git repository, apart from whatever this machine has configured."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "witness")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "witness@example.org")
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "--quiet")
    return place


def git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Kept(BaseHTTPRequestHandler):
    """Keeps what is posted, and answers by the path."""

    requests: list[tuple[str, str, bytes]]

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        content_type = self.headers["Content-Type"]
        self.requests.append((self.path, content_type, self.rfile.read(length)))
        self.send_response(int(self.path[1:]))
        self.send_header("Location", "/204")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[tuple[str, type[Kept]]]:
    """The URL of a server on this machine, and what it keeps."""
    handler = type("Handler", (Kept,), {"requests": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}", handler


def test_a_file_keeps_every_head_as_it_was_signed(
    store: MemoryStore, tmp_path: Path
) -> None:
    witness = FileWitness(tmp_path / "heads.txt")

    first = store.tree_head(witness=witness)
    store.remember("b", user_id="u")
    second = store.tree_head(witness=witness)

    assert witness.notes() == [first, second]
    assert store.verify(published=witness.notes())


def test_a_head_that_is_published_twice_does_no_harm(
    store: MemoryStore, tmp_path: Path
) -> None:
    witness = FileWitness(tmp_path / "heads.txt")

    notes = [store.tree_head(witness=witness) for _ in range(2)]

    assert notes[0] == notes[1]
    assert store.verify(published=witness.notes()).heads == 3


def test_a_file_that_cannot_be_written_is_said_and_the_head_is_kept(
    store: MemoryStore, tmp_path: Path
) -> None:
    absent = tmp_path / "absent" / "heads.txt"

    with pytest.raises(WitnessUnavailableError, match=r"absent/heads\.txt"):
        store.tree_head(witness=FileWitness(absent))

    assert store.verify().heads == 1
    absent.parent.mkdir()
    note = store.tree_head(witness=FileWitness(absent))
    assert FileWitness(absent).notes() == [note]


def test_a_repository_has_a_commit_for_each_head(
    store: MemoryStore, repository: Path
) -> None:
    witness = GitWitness(repository)

    first = store.tree_head(witness=witness)
    store.remember("b", user_id="u")
    second = store.tree_head(witness=witness)

    log = git(repository, "log", "--format=%s")
    assert log.splitlines() == ["Tree head of 2", "Tree head of 1"]
    before = git(repository, "show", "HEAD~1:tree-heads.txt")
    assert before == f"{first}\n"
    assert FileWitness(repository / "tree-heads.txt").notes() == [first, second]
    assert git(repository, "status", "--porcelain") == ""


def test_a_repository_takes_a_head_twice_and_leaves_other_changes_alone(
    store: MemoryStore, repository: Path
) -> None:
    (repository / "other.txt").write_text("not ours", encoding="utf-8")
    git(repository, "add", "other.txt")

    for _ in range(2):
        store.tree_head(witness=GitWitness(repository, name="heads"))

    assert git(repository, "ls-tree", "--name-only", "HEAD").split() == ["heads"]
    assert git(repository, "status", "--porcelain") == "A  other.txt\n"


def test_a_directory_that_is_no_repository_is_said(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    plain = tmp_path / "plain"
    plain.mkdir()

    with pytest.raises(WitnessUnavailableError, match="plain"):
        store.tree_head(witness=GitWitness(plain))

    assert store.verify().heads == 1


def test_a_server_gets_the_head_as_it_was_signed(
    store: MemoryStore, web: tuple[str, type[Kept]]
) -> None:
    url, handler = web

    note = store.tree_head(witness=WebhookWitness(f"{url}/204"))

    assert handler.requests == [("/204", "text/plain; charset=utf-8", note.encode())]
    published = handler.requests[0][2].decode()
    assert proof.read_head(published, public_key=store.public_key).size == 1


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_server_that_refuses_is_said(
    store: MemoryStore, web: tuple[str, type[Kept]], status: int
) -> None:
    url, _ = web

    with pytest.raises(WitnessUnavailableError, match=str(status)):
        store.tree_head(witness=WebhookWitness(f"{url}/{status}"))

    assert store.verify().heads == 1


def test_a_server_that_is_gone_is_said(store: MemoryStore) -> None:
    with HTTPServer(("127.0.0.1", 0), Kept) as server:
        url = f"http://127.0.0.1:{server.server_port}/204"

    with pytest.raises(WitnessUnavailableError, match="refused"):
        store.tree_head(witness=WebhookWitness(url))


class Babbling(StreamRequestHandler):
    """Answers, but not in HTTP."""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(b"what?\r\n\r\n")


def test_a_server_that_speaks_something_else_is_said(store: MemoryStore) -> None:
    server = TCPServer(("127.0.0.1", 0), Babbling)
    url = f"http://127.0.0.1:{server.server_address[1]}/"

    with serving(server), pytest.raises(WitnessUnavailableError):
        store.tree_head(witness=WebhookWitness(url))


def test_a_server_that_never_answers_is_given_up(store: MemoryStore) -> None:
    # It listens, and nobody ever accepts.
    with HTTPServer(("127.0.0.1", 0), Kept) as server:
        url = f"http://127.0.0.1:{server.server_port}/204"

        with pytest.raises(WitnessUnavailableError, match="timed out"):
            store.tree_head(witness=WebhookWitness(url, timeout=0.05))


def test_a_server_that_sends_elsewhere_has_kept_nothing(
    store: MemoryStore, web: tuple[str, type[Kept]]
) -> None:
    url, handler = web

    for status in (301, 302, 303, 307):
        with pytest.raises(WitnessUnavailableError, match=str(status)):
            store.tree_head(witness=WebhookWitness(f"{url}/{status}"))

    assert [path for path, _, _ in handler.requests] == ["/301", "/302", "/303", "/307"]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/hostname",
        "ftp://example.org/",
        "",
        "http://",
        "https://",
        "http://a b/",
        "http://example.org/heads",
        "http://10.0.0.1/",
        "http://localhost.example.org/",
        "http://127.0.0.1@example.org/",
    ],
)
def test_what_others_could_read_on_the_way_is_refused(url: str) -> None:
    with pytest.raises(InvalidValueError, match="https, or http on this machine"):
        WebhookWitness(url)


@pytest.mark.parametrize(
    "url",
    ["https://example.org/", "http://localhost:8/", "http://127.0.0.9/", "http://[::1]/"],
)
def test_https_and_this_machine_are_not_refused(url: str) -> None:
    assert isinstance(publishing.witness_at(url), WebhookWitness)


def test_what_git_complains_of_is_said(store: MemoryStore, repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'no heads on a Sunday' >&2\nexit 1\n")
    hook.chmod(0o755)

    with pytest.raises(WitnessUnavailableError, match="git commit: no heads on a Sunday"):
        store.tree_head(witness=GitWitness(repository))

    assert store.verify().heads == 1
