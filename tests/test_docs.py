"""What users can meet and the reference does not mention is a failing test."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.main import get_command, get_command_name

from muniment.api.operation import Operation
from muniment.api.operations import OPERATIONS
from muniment.archive import verifier
from muniment.domain import events
from muniment.errors import MunimentError
from muniment.settings import Settings


ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
README_LINES_MAX = 120

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def reference(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def missing(names: set[str], page: str) -> list[str]:
    """Return those of *names* that *page* does not mention as whole words."""
    return sorted(
        name
        for name in names
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page)
    )


def errors(root: type[MunimentError] = MunimentError) -> Iterator[type[MunimentError]]:
    yield root
    for error in root.__subclasses__():
        yield from errors(error)


def commands(app: typer.Typer, prefix: str) -> Iterator[str]:
    """Yield each command as it is typed, from `muniment` on."""
    for command in app.registered_commands:
        function = command.callback
        assert function is not None, "a command is a decorated function"
        yield f"{prefix} {command.name or get_command_name(function.__name__)}"
    for group in app.registered_groups:
        assert group.typer_instance is not None, "a group is an app"
        assert group.name, "a group is added under its name"
        yield from commands(group.typer_instance, f"{prefix} {group.name}")


def options(command: Any) -> Iterator[str]:  # noqa: ANN401 - a command, or a group
    """Yield each long option, of commands within commands, too."""
    for each in command.params:
        yield from (name for name in each.opts if name.startswith("--"))
    for each in getattr(command, "commands", {}).values():
        yield from options(each)


def prose(page: Path) -> str:
    """Return *page* without its examples, whose brackets are not links."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors that the headings of *page* get where it is shown."""
    titles = (
        re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(prose(page))
    )
    return {title.replace(" ", "-") for title in titles}


def resolves(link: str, page: Path) -> bool:
    place, _, anchor = link.partition("#")
    target = (page.parent / place).resolve() if place else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target)


def test_every_error_is_documented() -> None:
    public = {
        error.__name__
        for error in errors()
        if error.__module__.startswith("muniment.errors")
    }

    assert missing(public, reference("errors.md")) == []


def test_every_event_is_documented() -> None:
    members = {event.__name__ for event in get_args(events.Event)}

    assert missing(members, reference("events.md")) == []


def test_every_command_is_documented() -> None:
    app = importlib.import_module("muniment.api.cli").app

    assert missing(set(commands(app, "muniment")), reference("cli.md")) == []


def test_every_option_of_every_command_is_documented() -> None:
    command: Any = get_command(importlib.import_module("muniment.api.cli").app)

    assert missing(set(options(command)), reference("cli.md")) == []


def test_every_setting_is_documented() -> None:
    prefix = Settings.model_config["env_prefix"]
    variables = {f"{prefix}{name}".upper() for name in Settings.model_fields}

    assert missing(variables, reference("settings.md")) == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.verb)
def test_every_operation_is_documented_with_its_query(operation: Operation) -> None:
    asked = f"`{operation.method} /v1{operation.path}"
    fields = {**operation.needed, **operation.taken} if operation.method == "GET" else {}
    query = "&".join(f"{name}=" for name in fields)

    rows = [
        row for row in reference("http.md").splitlines() if f"`{operation.verb}`" in row
    ]

    assert any(f"{asked}?{query}`" in row if query else f"{asked}`" in row for row in rows)


def test_every_option_of_the_verifier_is_documented() -> None:
    source = Path(verifier.__file__).read_text(encoding="utf-8")
    options = set(re.findall(r'"(--[a-z-]+)"', source))

    assert len(options) > 2
    assert missing(options, reference("cli.md")) == []


def test_every_decision_is_listed_once_in_its_order() -> None:
    decisions = ROOT / "docs" / "adr"
    index = (decisions / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| \[\d{4}\]\((.*?)\)", index, re.MULTILINE) == [
        each.name for each in sorted(decisions.glob("0*.md"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(CODE.sub("", prose(page)))

    dead = [
        link for link in links if not ELSEWHERE.match(link) and not resolves(link, page)
    ]

    assert dead == []


def test_the_readme_is_short_and_exists_in_chinese() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert len(lines) <= README_LINES_MAX, "move the rest to docs/"
    assert (ROOT / "README.zh-CN.md").exists()


SHOWN = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")
ITEM = re.compile(r"^\| (C\d+) \|.*\|(.*)\|$", re.MULTILINE)


def test_every_item_of_compliance_names_tests_that_there_are() -> None:
    items = ITEM.findall(reference("compliance.md"))
    astray = [
        (item, file, test)
        for item, cell in items
        for file, test in SHOWN.findall(cell) or [("", "")]
        if not (ROOT / file).is_file()
        or (test and f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8"))
    ]

    assert [item for item, _ in items] == [f"C{number}" for number in range(1, 21)]
    assert astray == []
