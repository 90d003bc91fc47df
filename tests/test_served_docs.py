"""The guide's proxy, unit and containers say what the code does."""

import configparser
import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]
from typer.main import get_command

from muniment.api.cli import app
from muniment.api.http.serving import GRACE_SECONDS
from muniment.settings import Settings


GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "serve-others.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
PORT = "8321"


def options_of(*path: str) -> set[str]:
    """Return the options of a command."""
    command: Any = get_command(app)
    for name in path:
        command = command.commands[name]
    assert isinstance(command, typer.core.TyperCommand)
    return {option for each in command.params for option in each.opts}


def test_every_variable_in_the_guide_is_a_setting() -> None:
    named = set(re.findall(r"MUNIMENT_[A-Z_]+", TEXT))

    assert named
    assert named <= {f"MUNIMENT_{each}".upper() for each in Settings.model_fields}


@pytest.mark.parametrize("line", re.findall(r"^    muniment (.*)$", TEXT, re.MULTILINE))
def test_every_command_in_the_guide_takes_the_options_shown(line: str) -> None:
    words = line.split()
    path = words[:2] if words[0] in ("audit", "keys") else words[:1]

    assert {each for each in words if each.startswith("--")} <= options_of(*path)


def test_the_proxy_passes_to_where_the_service_listens_and_logs_no_query() -> None:
    nginx = BLOCKS["nginx"]

    assert f"proxy_pass http://127.0.0.1:{PORT};" in nginx
    limit = re.search(r"client_max_body_size (\d+)m;", nginx)
    assert limit
    assert int(limit[1]) * 1024 * 1024 == Settings.model_fields["request_limit"].default
    assert "ssl_protocols       TLSv1.2 TLSv1.3;" in nginx
    logged = re.search(r"log_format .*;", nginx)
    assert logged
    assert not re.search(r"\$(request|args|request_uri|query_string)\b", logged[0])


def test_the_unit_serves_this_machine_alone_and_waits_for_what_was_begun() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(BLOCKS["ini"])
    service = unit["Service"]

    command = service["ExecStart"].split()
    assert command[1] == "serve"
    assert {each for each in command if each.startswith("--")} <= options_of("serve")
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert int(service["TimeoutStopSec"]) > GRACE_SECONDS
    assert (service["KillSignal"], service["NoNewPrivileges"]) == ("SIGTERM", "yes")
    assert service["User"] != "root"


def test_the_containers_have_no_secret_inside_and_no_port_outside() -> None:
    composed = yaml.safe_load(BLOCKS["yaml"])
    services = composed["services"]

    assert set(services) == {"postgres", "qdrant", "muniment"}
    ports = [port for each in services.values() for port in each.get("ports", ())]
    assert ports == [f"127.0.0.1:{PORT}:{PORT}"]
    ours = services["muniment"]
    assert {each for each in ours["command"] if each.startswith("--")} <= options_of(
        "serve"
    )
    assert int(ours["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
    assert set(ours["depends_on"]) == {"postgres", "qdrant"}
    assert ours["environment"]["MUNIMENT_KEY_FILE"] == "/run/secrets/key"
    assert "POSTGRES_PASSWORD" not in services["postgres"]["environment"]
    named = {each for service in services.values() for each in service.get("secrets", ())}
    assert named == set(composed["secrets"])
    volumes = [
        each.partition(":")[0] for s in services.values() for each in s.get("volumes", ())
    ]
    assert set(volumes) == set(composed["volumes"])
