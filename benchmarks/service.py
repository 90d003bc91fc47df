"""
What the service and the guard cost.

    python benchmarks/service.py                        a PostgreSQL of our own, 16 clients
    python benchmarks/service.py --seconds 600 --clients 16 --postgres URL --json FILE

The service is the real command in a process of its own; each client is a thread of this
one with a connection and an API key of its own, and asks one thing after the other. What
the guard and the record of a look add is measured beside it, embedded, side by side.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit


if not __package__:  # run as a file, so that only the folder of this file is searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.places import Place, places
from benchmarks.timing import race
from muniment import MemoryStore, Principal
from muniment.domain.access import Role
from muniment.instants import to_text


FACTS: Final = 10
"""Of each user; an as-of reads and opens all of them."""
REASON: Final = "what a look costs, measured"
_COMMAND: Final = Path(sys.executable).with_name("muniment")

Ask = Callable[[http.client.HTTPConnection, int], None]


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print, and return what was measured."""
    asked = _asked(arguments)
    with places(["postgresql"], directory=asked.dir, server=asked.postgres) as (place,):
        found = {
            "guard": _guard(place, rounds=asked.rounds),
            "http": _http(place, clients=asked.clients, seconds=asked.seconds),
        }
    text = json.dumps(found, indent=2)
    sys.stdout.write(f"{text}\n")
    if asked.json is not None:
        asked.json.write_text(f"{text}\n", encoding="utf-8")
    return found


def _guard(place: Place, *, rounds: int) -> dict[str, Any]:
    """Race one user's as-of: plain, guarded, and recorded."""
    with MemoryStore.open(_settings(place, "guard")) as store:
        now = _filled(store, "u-1")
        mine = store.acting_as(Principal(id="u-1"))
        theirs = store.acting_as(Principal(id="o-1", roles=(Role.AUDITOR,)))

        def plain(count: int) -> None:
            for _ in range(count):
                store.get_memory_as_of(user_id="u-1", timestamp=now)

        def guarded(count: int) -> None:
            for _ in range(count):
                mine.get_memory_as_of(user_id="u-1", timestamp=now)

        def recorded(count: int) -> None:
            for _ in range(count):
                theirs.get_memory_as_of(user_id="u-1", timestamp=now, reason=REASON)

        contenders = {"plain": plain, "guarded": guarded, "recorded": recorded}
        figures = race(contenders, baseline="plain", rounds=rounds, count=20)
    return {name: asdict(each) for name, each in figures.items()}


def _http(place: Place, *, clients: int, seconds: float) -> dict[str, Any]:
    settings = _settings(place, "http")
    with MemoryStore.open(settings) as store:
        users = [f"u-{number}" for number in range(clients)]
        now = [_filled(store, user) for user in users][-1]
        keys = [store.issue_api_key(Principal(id=user)).secret for user in users]
    then = quote(str(to_text(now)))

    def read(user: str) -> Ask:
        path = f"/v1/memory?scope=user:{user}&as_of={then}"
        return lambda connection, _: connection.request("GET", path, headers=_OF[user])

    def write(user: str) -> Ask:
        def ask(connection: http.client.HTTPConnection, number: int) -> None:
            body = json.dumps({"scope": f"user:{user}", "content": f"said {number}"})
            connection.request("POST", "/v1/facts", body, _OF[user])

        return ask

    for user, key in zip(users, keys, strict=True):
        _OF[user] = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with _service(place, settings.database_url) as (url, process):
        before = _resident(process.pid)
        measured = {
            "reads": _together(url, [read(user) for user in users], seconds),
            "writes": _together(url, [write(user) for user in users], seconds),
        }
        after = _resident(process.pid)
    return {**measured, "resident_mb": {"before": before, "after": after}}


_OF: dict[str, dict[str, str]] = {}
"""By user, the headers of a request."""


def _together(url: str, asks: Sequence[Ask], seconds: float) -> dict[str, float]:
    """Let every client ask for so long; return the rate and how long an answer took."""
    taken: list[list[float]] = [[] for _ in asks]
    wrong: list[int] = []
    gate = threading.Barrier(len(asks))
    host = urlsplit(url).netloc

    def client(ask: Ask, mine: list[float]) -> None:
        connection = http.client.HTTPConnection(host, timeout=60)
        gate.wait()
        until = time.perf_counter() + seconds
        while (started := time.perf_counter()) < until:
            ask(connection, len(mine))
            answer = connection.getresponse()
            answer.read()
            mine.append(time.perf_counter() - started)
            if answer.status not in (200, 201):
                wrong.append(answer.status)
        connection.close()

    pairs = zip(asks, taken, strict=True)
    threads = [threading.Thread(target=client, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = sorted(each * 1_000 for mine in taken for each in mine)
    return {
        "per_second": len(every) / seconds,
        "p50_ms": statistics.median(every),
        "p99_ms": every[int(len(every) * 0.99)],
        "errors": len(wrong),
    }


def _filled(store: MemoryStore, user: str) -> Any:  # noqa: ANN401 - a time
    items = [f"{user} said {number}, 第{number}句" for number in range(FACTS)]
    return store.remember_many(items, user_id=user).recorded_at


def _settings(place: Place, name: str) -> Any:  # noqa: ANN401 - settings
    quiet = {"embedder": "none", "upkeep": False, "rate_limit": 10_000_000}
    return place.settings(place.prefix + name).model_copy(update=quiet)


@contextmanager
def _service(place: Place, url: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    environment = {
        **os.environ,
        "MUNIMENT_KEY_FILE": str(place.directory / (place.prefix + "http") / "key"),
        "MUNIMENT_EMBEDDER": "none",
        "MUNIMENT_UPKEEP": "false",
        "MUNIMENT_RATE_LIMIT": "10000000",
    }
    command = [str(_COMMAND), "serve", "--store", url, "--port", "0"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stderr is not None
        place_of_it = process.stderr.readline().split()[-1]
        drained = threading.Thread(target=process.stderr.read, daemon=True)
        drained.start()
        try:
            yield place_of_it, process
        finally:
            process.terminate()
            process.wait(60)
            drained.join(60)


def _resident(pid: int) -> float:
    """Return how many megabytes a process holds in memory; 0 where Linux is not."""
    file = Path(f"/proc/{pid}/statm")
    if not file.exists():
        return 0.0
    pages = int(file.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the service and the guard.")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each kind")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=30, help="of the guard's race")
    parser.add_argument("--dir", type=Path, help="directory on the disk to measure")
    parser.add_argument("--postgres", metavar="URL", help="a server, instead of our own")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
