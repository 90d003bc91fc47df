"""The machine that a measurement ran on, as far as it matters."""

import os
import platform
import sqlite3
import statistics
from functools import partial
from pathlib import Path

import psycopg

from benchmarks.places import Place
from benchmarks.timing import seconds


_BLOCK = b"m" * 8192
_FLUSHES = 200


def described(places: list[Place]) -> dict[str, object]:
    """Return what the machine is, and how long its disk takes to make 8 KiB durable."""
    return {
        "processors": len(os.sched_getaffinity(0)),
        "processor": _line("/proc/cpuinfo", "model name"),
        "load_average_before": round(os.getloadavg()[0], 1),
        "memory": _line("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": _postgresql(places),
        "flush_8_kib_us": _flush_us(places[0].directory / "flush"),
    }


def _line(file: str, name: str) -> str:
    """Return what a file of the kernel says of *name*."""
    with Path(file).open(encoding="utf-8") as lines:
        found = (each.partition(":")[2] for each in lines if each.startswith(name))
        return next(found, "unknown").strip()


def _postgresql(places: list[Place]) -> str | None:
    for place in places:
        if place.server is not None:
            with psycopg.connect(place.server) as connection:
                (version,) = connection.execute("SHOW server_version").fetchone() or ("",)
                (fsync,) = connection.execute("SHOW fsync").fetchone() or ("",)
                return f"{version}, fsync {fsync}"
    return None


def _flush_us(file: Path) -> int:
    """Return the median time of a write in place with a flush, in microseconds."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT)
    taken: list[float] = []
    try:
        for _ in range(2):  # the first time round the file grows, which costs more
            taken = [
                seconds(partial(_write, handle, number * len(_BLOCK)))
                for number in range(_FLUSHES)
            ]
            os.fsync(handle)
    finally:
        os.close(handle)
        file.unlink()
    return round(1_000_000 * statistics.median(taken))


def _write(handle: int, offset: int) -> None:
    os.pwrite(handle, _BLOCK, offset)
    os.fdatasync(handle)
