"""
What the service and the guard cost.

    python benchmarks/service.py                        a PostgreSQL of our own, 16 clients
    python benchmarks/service.py --only mixed --seconds 600 --json FILE

The service is the real command in a process of its own; the clients live in one thread of
this process, each with a connection and API keys of its own, and ask one thing after the
other; where a rate has to be borne, they also ask at that rate, whatever is answered. What
the guard and the record of a look add is measured beside it, embedded, side by side: by one
caller, and by as many at once as there are clients.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote


if not __package__:  # run as a file, so that only the folder of this file is searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.places import Backend, Place, places
from benchmarks.requests import Ask, ask_together, request
from benchmarks.timing import Work, race
from muniment import MemoryStore, Principal
from muniment.domain.access import Role
from muniment.instants import to_text


BACKENDS: Final[Sequence[Backend]] = ("postgresql", "sqlite")
"""On which the guard is raced; the service is measured on the first."""
KINDS: Final = ("reads", "writes", "looks", "mixed")
RATES: Final = {"reads": 400, "writes": 300}
"""How many a second are to be borne, of all clients together."""
FACTS: Final = 10
"""Of each user who is read; an as-of reads and opens all of them."""
GUARDED: Final = (10, 100, 1_000)
"""Of the users whose as-of is raced."""
TOGETHER: Final = (10, 100)
"""Likewise, by as many callers at once as there are clients."""
REASON: Final = "what a look costs, measured"
_COMMAND: Final = Path(sys.executable).with_name("muniment")
_ROUND: Final = ["reads"] * 7 + ["writes"] * 2 + ["searches"]
_LOOK_EVERY: Final = 2
"""Of mixed load: what one client asks one after the other, then again, and each second time
with a look at another's memory at its end."""


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print, and return what was measured."""
    asked = _asked(arguments)
    found: dict[str, Any] = {}
    with places(BACKENDS, directory=asked.dir, server=asked.postgres) as raced:
        if asked.rounds:
            found["guard"] = {
                each.backend: _guard(each, rounds=asked.rounds, callers=asked.clients)
                for each in raced
            }
        found["http"] = _http(
            raced[0], asked.only, clients=asked.clients, seconds=asked.seconds
        )
    text = json.dumps(found, indent=2)
    sys.stdout.write(f"{text}\n")
    if asked.json is not None:
        asked.json.write_text(f"{text}\n", encoding="utf-8")
    return found


def _guard(place: Place, *, rounds: int, callers: int) -> dict[str, Any]:
    """Race one user's as-of, plain, guarded, and recorded: of more facts, by many."""
    with (
        MemoryStore.open(_settings(place, "guard")) as store,
        ThreadPoolExecutor(callers) as pool,
    ):

        def by_many(work: Work) -> Work:
            def worked(count: int) -> None:
                list(pool.map(work, [count // callers] * callers))

            return worked

        found: dict[str, Any] = {}
        every = {facts: _ways(store, facts) for facts in GUARDED}
        _analyze(place, "guard")
        for facts, ways in every.items():
            alone = race(ways, baseline="plain", rounds=rounds, count=2_000 // facts)
            found |= {f"{name}, {facts} facts": asdict(alone[name]) for name in ways}
        for facts in TOGETHER:
            many = {name: by_many(work) for name, work in every[facts].items()}
            together = race(many, baseline="plain", rounds=rounds, count=5 * callers)
            found |= {
                f"{name}, {facts} facts, {callers} at once": asdict(together[name])
                for name in many
            }
    return found


def _ways(store: MemoryStore, facts: int) -> dict[str, Work]:
    """Return the ways to one as-of: of the store itself, of the user, of an auditor."""
    user = f"u-{facts}"
    mine = store.acting_as(Principal(id=user))
    theirs = store.acting_as(Principal(id="o-1", roles=(Role.AUDITOR,)))
    asked = {"user_id": user, "timestamp": _filled(store, user, facts)}
    return {
        "plain": _times(lambda: store.get_memory_as_of(**asked)),
        "guarded": _times(lambda: mine.get_memory_as_of(**asked)),
        "recorded": _times(lambda: theirs.get_memory_as_of(**asked, reason=REASON)),
    }


def _times(ask: Callable[[], object]) -> Work:
    def work(count: int) -> None:
        for _ in range(count):
            ask()

    return work


@dataclass(frozen=True, slots=True)
class _Caller:
    """
    One client of the service.

    Attributes:
        user: Whose memory it reads; it stays as it is.
        writer: Whose memory it writes to; it grows.
        headers: By name, those of a request as the one, the other, or an auditor.
        then: When all that is read was known, as in a query.
        said: Numbers what it writes: nothing twice, which would be another thing to do.
    """

    user: str
    writer: str
    headers: Mapping[str, Mapping[str, str]]
    then: str
    said: Iterator[int] = field(default_factory=count)

    def asks(self, kind: str) -> Ask:
        """Return what it asks, one thing after the other."""
        if kind != "mixed":
            return lambda _: self._ask(kind)
        kinds = [*_ROUND * _LOOK_EVERY, "looks"]
        return lambda number: self._ask(kinds[number % len(kinds)])

    def _ask(self, kind: str) -> bytes:
        as_of = f"/v1/memory?scope=user:{self.user}&as_of={self.then}"
        match kind:
            case "reads":
                return request("GET", as_of, self.headers["user"])
            case "looks":
                return request("GET", as_of, self.headers["auditor"])
            case "searches":
                body = {"scope": f"user:{self.user}", "query": "第3句"}
                return request("POST", "/v1/search", self.headers["user"], body)
            case _:
                content = f"said {next(self.said)}"
                body = {"scope": f"user:{self.writer}", "content": content}
                return request("POST", "/v1/facts", self.headers["writer"], body)


def _http(
    place: Place, kinds: Sequence[str], *, clients: int, seconds: float
) -> dict[str, Any]:
    settings = _settings(place, "http")
    with MemoryStore.open(settings) as store:
        users = [f"u-{number}" for number in range(clients)]
        now = [_filled(store, user) for user in users][-1]
        then = quote(str(to_text(now)))
        auditor = _headers(store, Principal(id="o-1", roles=(Role.AUDITOR,)))
        callers = [
            _Caller(
                user,
                f"{user}-writes",
                {
                    "user": _headers(store, Principal(id=user)),
                    "writer": _headers(store, Principal(id=f"{user}-writes")),
                    "auditor": {**auditor, "Muniment-Reason": quote(REASON)},
                },
                then,
            )
            for user in users
        ]
    _analyze(place, "http")
    found: dict[str, Any] = {}
    with _service(place, settings.database_url) as (url, process):
        for kind in kinds:
            asks = [each.asks(kind) for each in callers]
            measured = partial(_together, url, asks, seconds, process.pid)
            found[kind] = measured(rate=None)
            if kind in RATES:
                found[f"{kind}, {RATES[kind]} a second"] = measured(rate=RATES[kind])
    return found


def _analyze(place: Place, name: str) -> None:
    """Let PostgreSQL look at its tables, as it does by itself a minute later."""
    if place.backend == "sqlite":
        return  # It is told what it needs when a store is opened.
    with closing(place.connect(place.prefix + name)) as connection:
        connection.execute("ANALYZE")  # Until then it plans for no rows.


def _headers(store: MemoryStore, principal: Principal) -> dict[str, str]:
    return {"Authorization": f"Bearer {store.issue_api_key(principal).secret}"}


def _together(
    url: str, asks: Sequence[Ask], seconds: float, pid: int, *, rate: float | None
) -> dict[str, Any]:
    """Let every client ask for so long; return the rate and how long an answer took."""
    with _watched(pid, seconds / 4) as resident:
        before = _processor_seconds(pid)
        answers = ask_together(url, asks, seconds, rate=rate)
        taken = _processor_seconds(pid) - before
    many = len(answers.taken)
    every = sorted(each * 1_000 for each in answers.taken)
    return {
        "per_second": many / seconds,
        "p50_ms": statistics.median(every),
        "p99_ms": every[int(many * 0.99)],
        "slowest_ms": every[-1],
        "answers": many,
        "errors": len(answers.wrong),
        "first_error": answers.wrong[0].decode(errors="replace") if answers.wrong else None,
        "service_cpu_ms": 1_000 * taken / many,
        "client_cpu_ms": 1_000 * answers.processor_seconds / many,
        "resident_mb": resident,
        "load_average": os.getloadavg()[0],
    }


@contextmanager
def _watched(pid: int, every: float) -> Iterator[list[float]]:
    """Give a list of how large a process is: now, each so many seconds, and at the end."""
    sizes, done = [_resident(pid)], threading.Event()

    def watch() -> None:
        while not done.wait(every):
            sizes.append(_resident(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield sizes
    finally:
        done.set()
        thread.join()
        sizes.append(_resident(pid))


def _filled(store: MemoryStore, user: str, facts: int = FACTS) -> Any:  # noqa: ANN401 - a time
    items = [f"{user} said {number}, 第{number}句" for number in range(facts)]
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


def _processor_seconds(pid: int) -> float:
    """Return the processor time a process has taken; 0 where Linux is not."""
    file = Path(f"/proc/{pid}/stat")
    if not file.exists():
        return 0.0
    fields = file.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the service and the guard.")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each kind")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, metavar="KIND")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument(
        "--rounds", type=int, default=30, help="of the guard's race; 0 for none"
    )
    parser.add_argument("--dir", type=Path, help="directory on the disk to measure")
    parser.add_argument("--postgres", metavar="URL", help="a server, instead of our own")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
