"""The service as a process: what it says, and how it ends."""

import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx

from muniment import MemoryStore, Principal, Settings
from tests.api.cli.command_line import COMMAND, WAIT_S
from tests.served import key_of


def test_told_to_end_it_keeps_its_receipts_and_every_line_it_said_is_json(
    tmp_path: Path,
) -> None:
    """A supervisor stops a service by SIGTERM: that is no death, and nothing is lost."""
    settings = Settings(database_url=f"sqlite:///{tmp_path}/ledger.db", embedder="none")
    with MemoryStore.open(settings) as store:
        key = key_of(store, Principal(id="u-1"))
        store.remember("用户喝茶", user_id="u-1")
    line = [str(COMMAND), "serve", "--port", "0", "--store", str(tmp_path)]
    # A receipt waits so long for others that none is recorded but at the end.
    environment = {"MUNIMENT_EMBEDDER": "none", "MUNIMENT_RECEIPT_WINDOW": "60"}

    with subprocess.Popen(line, stderr=subprocess.PIPE, env=environment) as running:
        assert running.stderr is not None
        url = re.findall(r"http://\S+", running.stderr.readline().decode())[0]
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as wire:
            wire.sendall("GET /茶 HTTP/1.1\r\n\r\n".encode())
            assert wire.recv(100).startswith(b"HTTP/1.1 400")
        found = httpx.post(
            f"{url}/v1/search",
            json={"query": "喝茶", "scope": "user:u-1"},
            headers={"Authorization": f"Bearer {key}"},
            timeout=WAIT_S,
        )
        running.send_signal(signal.SIGTERM)
        said = running.stderr.read().decode().splitlines()
        code = running.wait(WAIT_S)

    with MemoryStore.open(settings, create=False) as store:
        receipts = store.get_receipts(user_id="u-1")
    assert found.status_code == 200
    assert code == 0
    assert [set(json.loads(each)) & {"server", "route"} for each in said] == [
        {"server"},
        {"route"},
    ]
    assert len(receipts) == 1
