"""
A badcase as files that somebody else can run: data, a script, a test to go on with.

The files need nothing but this package: no store, no key, no network. They hold what was
remembered and said in plain text, so they are made readable to their owner alone.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from muniment.api.answers import Fact, MemorySnapshot
from muniment.api.gone import Gone
from muniment.api.receipts import RecallReceipt, ServedFact
from muniment.api.replaying import Agent, Badcase
from muniment.api.shapes import document
from muniment.api.turns import Turn
from muniment.domain.scope import Scope
from muniment.errors import InvalidValueError
from muniment.instants import moment, to_instant


CASE_FILE: Final = "case.json"
SCRIPT_FILE: Final = "reproduce.py"
TEST_FILE: Final = "test_badcase.py"

T = TypeVar("T")


def write_badcase(case: Badcase, directory: Path) -> tuple[Path, ...]:
    """
    Write *case* into *directory*, which is made, or is empty.

    Raises:
        InvalidValueError: If there is something in it.
    """
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    if any(directory.iterdir()):
        raise InvalidValueError("out", str(directory), "a directory with nothing in it")
    data = document(replace(case, result=None))
    digest = hashlib.sha256(data.encode()).hexdigest()
    texts = {
        CASE_FILE: data,
        SCRIPT_FILE: _SCRIPT.replace("DIGEST", digest),
        TEST_FILE: _TEST,
    }
    for name, text in texts.items():
        _write(directory / name, text)
    return tuple(directory / name for name in texts)


def load_badcase(file: Path | str, *, sha256: str | None = None) -> Badcase:
    """
    Return the badcase that `write_badcase` wrote.

    Args:
        file: The data.
        sha256: What it must hash to, in hexadecimal, where that is known.

    Raises:
        InvalidValueError: If it was changed, or is no badcase.
    """
    data = Path(file).read_bytes()
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise InvalidValueError("file", str(file), "the data as it was written")
    try:
        case = json.loads(data)
        memory = case["memory"]
        return Badcase(
            scope=Scope.parse(case["scope"]),
            timestamp=_time(case["timestamp"]),
            memory=MemorySnapshot(
                facts=tuple(_revived(Fact, each) for each in memory["facts"]),
                position=memory["position"],
                recorded_at=_time(memory["recorded_at"]),
                valid_at=_time(memory["valid_at"]),
            ),
            convo=tuple(_revived(Turn, each) for each in case["convo"]),
            config=case["config"],
            receipts=tuple(_receipt(each) for each in case["receipts"]),
            answered=case["answered"] and _revived(Turn, case["answered"]),
            gone=tuple(_revived(Gone, each) for each in case["gone"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValueError("file", str(file), "a badcase of muniment") from error


def named_agent(name: str) -> Agent:
    """
    Return the agent that ``module:function`` names.

    Raises:
        InvalidValueError: If it is not there.
    """
    module, _, function = name.partition(":")
    try:
        found: Agent = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        expected = "module:function, where Python finds it"
        raise InvalidValueError("agent", name, expected) from error
    return found


def summary_of(case: Badcase) -> str:
    """Return in lines what the agent had, and what is said of it."""
    lines = [
        f"{case.scope} at {case.timestamp.isoformat()}",
        *(["nothing is there: nobody had that memory, or it was erased"] * case.is_empty),
        *(f"fact {each.fact_id} v{each.version}: {each.content}" for each in case.memory),
        *(f"{each.role} {each.turn_id}: {each.content}" for each in case.convo),
        *(f"config {name}: {value!r}" for name, value in sorted(case.config.items())),
        *(
            f"recall {each.token or repr(each.query)}: {_names(each)}"
            for each in case.receipts
        ),
    ]
    lines += [f"{e.kind} {e.name} is gone: {e.token} {_since(e)}" for e in case.gone]
    if case.answered is not None:
        lines.append(f"answered then: {case.answered.content}")
    if case.result is not None:
        lines.append(f"answers now: {case.result}")
    return "\n".join(lines)


def _names(receipt: RecallReceipt) -> str:
    return ", ".join(each.fact_id for each in receipt.facts)


def _since(gone: Gone) -> str:
    return "" if gone.since is None else f"since {gone.since.isoformat()}"


def _write(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as opened:
        opened.write(text)


def _revived(kind: Callable[..., T], given: Mapping[str, Any]) -> T:
    """Return the value of *kind* whose shape *given* is."""
    named: Any = kind
    values = {
        each.name: given[each.name]
        for each in fields(named)
        # A case that was written before there was such a field is without.
        if each.name in given or each.default is MISSING
    }
    return kind(**{name: _value(name, each) for name, each in values.items()})


def _receipt(given: Mapping[str, Any]) -> RecallReceipt:
    served = tuple(_revived(ServedFact, each) for each in given["facts"])
    summaries = tuple((session, version) for session, version in given["summaries"])
    # One that an earlier version wrote has no token: its receipts were whole.
    plain = {"token": None, **given, "facts": (), "summaries": ()}
    return replace(_revived(RecallReceipt, plain), facts=served, summaries=summaries)


def _value(name: str, value: Any) -> Any:  # noqa: ANN401 - JSON in, a field out
    match value:
        case str() if name in _TIMES:
            return _time(value)
        case str() if name == "scope":
            return Scope.parse(value)
        case str() if name == "utc_offset":
            return _offset(value)
        case list():
            return tuple(value)
        case _:
            return value


def _time(text: str) -> datetime:
    return moment(to_instant(text))


def _offset(text: str) -> timedelta:
    hours, minutes, *seconds = (int(each) for each in text[1:].split(":"))
    ahead = timedelta(hours=hours, minutes=minutes, seconds=sum(seconds))
    return -ahead if text.startswith("-") else ahead


_TIMES: Final = frozenset(
    {
        "asked_at",
        "expires_at",
        "recorded_at",
        "since",
        "uttered_at",
        "valid_at",
        "valid_from",
        "valid_to",
    }
)
_SCRIPT: Final = '''"""
Reproduce an answer of an agent, given exactly what it had.

    python reproduce.py                     shows what it had
    python reproduce.py MODULE:FUNCTION     asks an agent again, and compares

Needs `pip install muniment` and nothing else: no store, no key, no network. The agent is
called as FUNCTION(memory=..., convo=..., config=...). Ends with 0 when it says what was
said then, with 1 when it does not.
"""

import sys
from pathlib import Path

from muniment.api.badcases import load_badcase, named_agent, summary_of
from muniment.api.replaying import replayed


HERE = Path(__file__).resolve().parent
case = load_badcase(HERE / "case.json", sha256="DIGEST")
if len(sys.argv) > 1:
    sys.path.insert(0, str(Path.cwd()))
    case = replayed(case, named_agent(sys.argv[1]))
print(summary_of(case))
if case.is_reproduced is not None:
    print("reproduced" if case.is_reproduced else "not reproduced")
sys.exit(case.is_reproduced is False)
'''
_TEST: Final = '''"""A test to go on with: say what the agent should have answered."""

import os
from pathlib import Path

import pytest

from muniment.api.badcases import load_badcase, named_agent
from muniment.api.replaying import replayed


CASE = load_badcase(Path(__file__).with_name("case.json"))
AGENT = os.environ.get("BADCASE_AGENT", "")


@pytest.mark.skipif(not AGENT, reason="set BADCASE_AGENT=module:function")
def test_the_agent_answers_better_than_it_did() -> None:
    case = replayed(CASE, named_agent(AGENT))

    assert case.answered is None or case.result != case.answered.content
'''
