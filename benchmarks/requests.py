"""
Clients of the service that cost little themselves, since they share its processors.

Each has one connection that it keeps, and asks one thing after the other; all live in one
thread and speak no more HTTP than they need, a tenth of a millisecond a request. A client
library takes several times that, from the same two cores that are measured.

A client asks again as soon as it is answered, or at set times. In a closed loop, the first,
whoever is slow is asked less: what its answers take says nothing of a load that does not
wait. At set times, an answer takes from when it was due to be asked for, though the client
may have been waiting for the one before.
"""

import asyncio
import gc
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import urlsplit


Ask = Callable[[int], bytes]
"""Gives a request by its number, as it goes over the wire."""

_HEADERS_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length:"


@dataclass(slots=True)
class Answers:
    """
    What came back.

    Attributes:
        taken: Seconds of each answer, in the order in which they came.
        wrong: Those that were no success, as they came.
        processor_seconds: What the clients took themselves.
    """

    taken: list[float] = field(default_factory=list)
    wrong: list[bytes] = field(default_factory=list)
    processor_seconds: float = 0.0


def request(
    method: str, path: str, headers: Mapping[str, str], body: object = None
) -> bytes:
    """Return a request as it goes over the wire."""
    content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
    fields = {"Host": "service", "Content-Length": str(len(content)), **headers}
    if body is not None:
        fields["Content-Type"] = "application/json"
    lines = [f"{method} {path} HTTP/1.1", *(f"{each}: {fields[each]}" for each in fields)]
    return "\r\n".join([*lines, "", ""]).encode() + content


def ask_together(
    url: str, asks: Sequence[Ask], seconds: float, *, rate: float | None = None
) -> Answers:
    """
    Let one client for each of *asks* ask for so long; return what came back.

    Args:
        url: Of the service.
        asks: What each client asks.
        seconds: How long new things are asked.
        rate: How many are due in a second, of all clients together, evenly spaced;
            ``None`` for as many as are answered.
    """
    gc.collect()
    gc.freeze()  # A client that looks for garbage in all there is would wait for itself.
    answers, before = Answers(), time.process_time()
    asyncio.run(_asked(url, asks, seconds, rate, answers))
    gc.unfreeze()
    answers.processor_seconds = time.process_time() - before
    return answers


async def _asked(
    url: str, asks: Sequence[Ask], seconds: float, rate: float | None, answers: Answers
) -> None:
    loop, place = asyncio.get_running_loop(), urlsplit(url)
    began = loop.time()
    clients = [
        _Client(ask, _Times(began, began + seconds, rate, number, len(asks)), answers)
        for number, ask in enumerate(asks)
    ]
    for each in clients:
        await loop.create_connection(
            partial(_itself, each), str(place.hostname), int(str(place.port))
        )
    await asyncio.gather(*(each.ended for each in clients))


def _itself(client: "_Client") -> "_Client":
    return client


@dataclass(frozen=True, slots=True)
class _Times:
    """
    When one of many clients asks.

    Attributes:
        began: The first time of all.
        until: Nothing is asked any more.
        rate: How many all together ask in a second; ``None`` for one after the other.
        number: Of the client.
        clients: How many there are.
    """

    began: float
    until: float
    rate: float | None
    number: int
    clients: int

    def due(self, asked: int, now: float) -> float:
        """Return when to ask for the next thing after so many."""
        if self.rate is None:
            return now
        return self.began + (self.number + asked * self.clients) / self.rate


class _Client(asyncio.Protocol):
    def __init__(self, ask: Ask, times: _Times, answers: Answers) -> None:
        self._ask, self._times, self._answers = ask, times, answers
        self._asked, self._due, self._got = 0, 0.0, b""
        self._wire: asyncio.Transport
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "a socket can be written to"
        self._wire = transport
        self._go_on()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, end, body = self._got.partition(_HEADERS_END)
        if not end or len(body) < _length(head):
            return
        self._answers.taken.append(self._loop.time() - self._due)
        if not head.startswith(b"HTTP/1.1 20"):
            self._answers.wrong.append(self._got)
        self._got = b""
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the service hung up"))

    def _go_on(self) -> None:
        now = self._loop.time()
        self._due = self._times.due(self._asked, now)
        if self._due >= self._times.until:
            self.ended.set_result(None)
            self._wire.close()
        elif self._due <= now:
            self._send()
        else:
            self._loop.call_at(self._due, self._send)

    def _send(self) -> None:
        self._wire.write(self._ask(self._asked))
        self._asked += 1


def _length(head: bytes) -> int:
    rest = head.lower().partition(_LENGTH)[2]
    return int(rest.partition(b"\r\n")[0] or b"0")
