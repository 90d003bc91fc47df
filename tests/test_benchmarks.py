import json
import re
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import context, run, service
from benchmarks.requests import ask_together


@pytest.mark.slow
@pytest.mark.parametrize("question", run.QUESTIONS)
def test_every_question_is_answered_on_every_backend(
    question: str, tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    where = ["--dir", str(tmp_path), "--results", str(results), "--postgres", postgres_url]

    run.main(["--quick", "--only", question, *where])

    written: dict[str, Any] = json.loads((results / f"{question}.json").read_text())
    assert set(written["backends"]) == {"sqlite", "postgresql"}
    for answers in written["backends"].values():
        assert len(answers) >= 2
        for figure in answers.values():
            assert figure.keys() & {"per_second", "p50_ms", "bytes_in_all"}
            assert all(each > 0 for each in figure.values() if not isinstance(each, dict))
    # As a row of a table, or as a line above the table of its figures.
    assert re.search(r"^(\| sqlite \||sqlite, )", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.slow
def test_the_service_and_the_guard_are_measured(tmp_path: Path, postgres_url: str) -> None:
    file = tmp_path / "http.json"
    where = ["--dir", str(tmp_path), "--postgres", postgres_url, "--json", str(file)]

    found = service.main(["--seconds", "0.3", "--clients", "2", "--rounds", "2", *where])

    assert json.loads(file.read_text()) == found
    sizes = ["10 facts", "100 facts", "1000 facts"]
    sizes += ["10 facts, 2 at once", "100 facts, 2 at once"]
    ways = ["plain", "guarded", "recorded"]
    assert set(found["guard"]) == set(service.BACKENDS)
    for raced in found["guard"].values():
        assert set(raced) == {f"{way}, {each}" for way in ways for each in sizes}
    at_rates = {f"{kind}, {rate} a second" for kind, rate in service.RATES.items()}
    assert set(found["http"]) == at_rates | set(service.KINDS)
    for measured in found["http"].values():
        assert measured["per_second"] > 0
        assert measured["errors"] == 0


@pytest.mark.slow
def test_at_a_rate_an_answer_takes_from_when_it_was_due() -> None:
    """Asked each 10 ms, by one client, for what takes 20 ms: the last waits for all."""
    answered = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listening, listening.accept()[0] as wire:
            while wire.recv(1_024):
                time.sleep(0.02)
                wire.sendall(answered)

    serving = threading.Thread(target=answer)
    serving.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    taken = ask_together(url, [lambda _: b"."], 0.2, rate=100).taken

    serving.join()
    assert len(taken) == 20
    assert all(seconds >= 0.02 + 0.0095 * asked for asked, seconds in enumerate(taken))


@pytest.mark.slow
def test_contexts_and_replay_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "context.json"
    small = ["--facts", "20", "--turns", "30", "--rounds", "2"]

    found = context.main([*small, "--dir", str(tmp_path), "--json", str(file)])

    assert json.loads(file.read_text()) == found
    assert found["turns recorded"]["per_second"] > 0
    for name in ("search", "search with receipt", "build_context", "reproduce_badcase"):
        assert 0 < found[name]["p50_ms"] <= found[name]["p95_ms"]
