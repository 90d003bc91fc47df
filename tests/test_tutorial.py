"""
What the pages show is what happens: their examples are run, page by page.

A block of `python` is run; the `text` right below it is what it printed. A block of
`console` holds commands after `$`, each followed by what it printed. The blocks of one
page share their names, their directory and what is in it. An ellipsis stands for any
text within a line, such as an id that is new each time; alone on a line, for any lines.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

import muniment
from muniment.api.operations import OPERATIONS


ROOT = Path(__file__).parents[1]
CHINESE = (ROOT / "README.zh-CN.md", ROOT / "docs" / "tutorial" / "first-steps.zh-CN.md")
"""Pages with the very examples of their English ones, which are run."""
COMMAND_SECONDS_MAX = 60

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = re.compile(r"^```(?:python|console)$", re.MULTILINE)
HEADING = re.compile(r"^##+ ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    One example of a page.

    Attributes:
        language: `python`, or `console` for one command.
        code: What is run.
        shown: What the page says it prints.
        line: Where the page says so.
    """

    language: str
    code: str
    shown: str
    line: int


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def steps(page: Path) -> Iterator[Step]:
    """Yield the examples of *page* in order."""
    text = read(page)
    blocks = list(BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        language, body = block.groups()
        line = text.count("\n", 0, block.start(2)) + 1
        if language == "python":
            shown = ""
            if number + 1 < len(blocks):
                below = blocks[number + 1]
                between = text[block.end() : below.start()]
                shown = below[2] if below[1] == "text" and not between.strip() else ""
            yield Step(language=language, code=body, shown=shown, line=line)
        elif language == "console":
            yield from commands(body, line)


def commands(body: str, line: int) -> Iterator[Step]:
    """Yield each command of a console with what it prints."""
    first, *rest = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert not first, "a console begins with a command"
    for each in rest:
        command, _, shown = each.partition("\n")
        yield Step(language="console", code=command, shown=shown, line=line)
        line += 1 + shown.count("\n")


def printed(step: Step, page: Path, names: dict[str, object]) -> str:
    """Run one example and return what it printed."""
    if step.language == "console":
        return printed_by_command(step.code)
    # Blank lines in front, so that a traceback names the line of the page.
    code = compile("\n" * (step.line - 1) + step.code, named(page), "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)  # noqa: S102 - the code of the page is what is tested
    return out.getvalue()


def printed_by_command(line: str) -> str:
    program, *arguments = shlex.split(line)
    assert program == "muniment", "a console shows our own command"
    finished = subprocess.run(
        [Path(sys.executable).parent / program, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=COMMAND_SECONDS_MAX,
        encoding="utf-8",
        check=False,
    )
    assert finished.returncode == 0, f"{line}: {finished.stderr}"
    return finished.stdout


def matches(text: str, shown: str) -> bool:
    """Whether *text* is what is shown, an ellipsis being anything within a line."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in shown.rstrip().splitlines()
    )
    return re.fullmatch(pattern or r"\n", f"{text.rstrip()}\n") is not None


PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page not in CHINESE and RUN.search(read(page))
]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_example_prints_what_its_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in [each for each in os.environ if each.startswith("MUNIMENT_")]:
        monkeypatch.delenv(variable)
    names: dict[str, object] = {"__name__": "__main__"}

    for step in steps(page):
        text = printed(step, page, names)

        shown = f"{named(page)}:{step.line} shows\n{step.shown}and prints\n{text}"
        assert matches(text, step.shown), shown


def test_the_tutorial_and_the_readme_have_examples_that_run() -> None:
    running = {named(page) for page in PAGES}

    assert {
        "README.md",
        "docs/tutorial/first-steps.md",
        "docs/concepts/the-two-clocks.md",
    } <= running


@pytest.mark.parametrize("page", CHINESE, ids=named)
def test_a_chinese_page_has_the_sections_and_the_examples_of_the_english(
    page: Path,
) -> None:
    english = read(page.with_name(page.name.replace(".zh-CN", "")))
    chinese = read(page)

    assert len(HEADING.findall(english)) == len(HEADING.findall(chinese))
    assert BLOCK.findall(english) == BLOCK.findall(chinese)


def test_every_chinese_page_is_held_against_its_english_one() -> None:
    assert {*ROOT.glob("*.zh-CN.md"), *(ROOT / "docs").rglob("*.zh-CN.md")} == {*CHINESE}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fact 01k9\n", "fact 01k8\n"),
        ("one\ntwo\n", "one…\n"),
        ("one\n", ""),
        ("", "one\n"),
        ("one\ntwo\n", "one\n…\nthree\n"),
    ],
)
def test_an_example_that_prints_something_else_is_found(text: str, shown: str) -> None:
    assert not matches(text, shown)


def test_an_ellipsis_stands_for_text_that_is_new_each_time() -> None:
    assert matches("fact 01k9 of user:u-123\nend\n", "fact … of user:u-123\nend\n")
    assert matches("one\ntwo\nthree\nfour\n", "one\n…\nfour\n")


PYTHON = read(ROOT / "docs" / "reference" / "python.md")
PUBLIC = {getattr(muniment, name) for name in muniment.__all__}
GIVEN = {muniment.Scope, muniment.Cause}


def types_in(answer: Any) -> Iterator[type]:  # noqa: ANN401 - a type, or an alias of one
    parts = get_args(answer)
    if not parts:
        yield answer
    for part in parts:
        yield from types_in(part)


def answers() -> list[type]:
    """Return the classes of what verbs give back."""
    said = {each for operation in OPERATIONS for each in types_in(operation.answer)}
    found = {each for each in PUBLIC | said if is_dataclass(each)} - GIVEN
    return sorted(found, key=lambda each: each.__name__)


def test_every_verb_and_every_public_name_is_documented() -> None:
    verbs = {name for name in dir(muniment.MemoryStore) if not name.startswith("_")}

    assert verbs | set(muniment.__all__) <= set(re.findall(r"\w+", PYTHON))


@pytest.mark.parametrize("answer", answers(), ids=lambda each: each.__name__)
def test_every_attribute_of_an_answer_is_documented_in_its_row(answer: Any) -> None:  # noqa: ANN401
    row = re.search(rf"^\| `{answer.__name__}` \| (.*)$", PYTHON, re.MULTILINE)

    assert row
    assert {each.name for each in fields(answer)} <= set(re.findall(r"\w+", row[1]))
