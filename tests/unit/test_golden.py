"""What is stored can always be read, and is stored today as it was on the first day."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

import pytest

from muniment.domain.events import Event
from muniment.ledger import codec
from tests.unit.golden_events import EXAMPLES


GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*.json"))
EVENT_TYPES: tuple[type[Event], ...] = get_args(Event)
TODAY = [(topic, number) for topic, some in EXAMPLES.items() for number in range(len(some))]


@dataclass(frozen=True, slots=True)
class Stored:
    """One event as bytes; the content as it is before it is sealed."""

    topic: str
    header: bytes
    content: bytes


def stored(file: Path) -> list[Stored]:
    return [
        Stored(file.stem, each["header"].encode(), each["content"].encode())
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]


def topic_of(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", FILES, ids=topic_of)
def test_every_golden_file_can_be_read(file: Path) -> None:
    for each in stored(file):
        event = codec.decode(each.topic, each.header, each.content, place="here")
        assert isinstance(event, EVENT_TYPES)


@pytest.mark.parametrize("file", FILES, ids=topic_of)
def test_every_golden_file_can_be_read_without_any_key(file: Path) -> None:
    for each in stored(file):
        event = codec.decode(each.topic, each.header, None, place="here")
        sealed = codec.SEALED & {one.name for one in fields(event)}
        assert all(getattr(event, name) is None for name in sealed)


@pytest.mark.parametrize(("topic", "number"), TODAY)
def test_todays_event_has_the_golden_bytes(topic: str, number: int) -> None:
    event = EXAMPLES[topic][number]
    golden = stored(GOLDEN / f"{topic}.json")[number]

    encoded = codec.encode(event)

    assert Stored(encoded.topic, encoded.header, encoded.content) == golden


@pytest.mark.parametrize(("topic", "number"), TODAY)
def test_the_golden_bytes_are_todays_event(topic: str, number: int) -> None:
    event = EXAMPLES[topic][number]
    golden = stored(GOLDEN / f"{topic}.json")[number]

    read = codec.decode(topic, golden.header, golden.content, place="here")

    assert read == event


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_every_event_has_examples_with_golden_bytes(kind: type[Event]) -> None:
    topic = codec.topic_of(kind)

    assert [type(each) for each in EXAMPLES[topic]] == [kind] * len(EXAMPLES[topic])
    assert len(stored(GOLDEN / f"{topic}.json")) == len(EXAMPLES[topic])


def test_every_schema_there_ever_was_has_its_golden_file() -> None:
    today = {codec.topic_of(kind).rpartition(".v") for kind in EVENT_TYPES}

    ever = {
        f"{name}.v{schema}"
        for name, _, newest in today
        for schema in range(1, int(newest) + 1)
    }

    assert {file.stem for file in FILES} == ever
