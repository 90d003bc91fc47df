import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.events import Content, Evidence, FactAsserted, FactEvent
from muniment.errors import NewerSchemaError, UnknownEventError
from muniment.ledger import codec
from muniment.ledger.codec import decode, encode
from tests.strategies import lives, nonsense
from tests.unit.facts import TRAITS, asserted, period


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(lives | nonsense)
def test_an_event_is_read_as_it_was_written(events: list[FactEvent]) -> None:
    for event in events:
        stored = encode(event)
        assert decode(stored.topic, stored.header, stored.content, place="here") == event


@given(
    st.dictionaries(st.text(max_size=9), json_values),
    st.text(min_size=1),
)
def test_what_people_write_is_kept_to_the_letter(
    metadata: dict[str, codec.Fields], text: str
) -> None:
    evidence = Evidence(
        source="s", source_turns=(), entities=(), metadata=metadata, claimed_at=None
    )
    event = FactAsserted(
        valid=period(0), traits=TRAITS, content=Content(text=text, evidence=evidence)
    )
    stored = encode(event)

    read = decode(stored.topic, stored.header, stored.content, place="here")

    assert isinstance(read, FactAsserted)
    assert read.content is not None
    assert read.content.text == text
    # As text, in which 1, 1.0 and true, and 0.0 and -0.0, are not the same.
    kept = read.content.evidence.metadata
    assert json.dumps(kept, sort_keys=True) == json.dumps(metadata, sort_keys=True)


def test_equal_events_have_equal_bytes_whatever_the_order_of_their_keys() -> None:
    one, other = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})

    assert codec.canonical(one) == codec.canonical(other)


def test_nothing_personal_is_in_the_header() -> None:
    stored = encode(asserted("a secret", period(0)))

    assert b"secret" not in stored.header
    assert b"Ann" not in stored.header
    assert b"user_explicit" not in stored.header
    assert b"secret" in stored.content


def test_without_its_key_an_event_says_all_but_its_content() -> None:
    event = asserted("a secret", period(3, 9))
    stored = encode(event)

    read = decode(stored.topic, stored.header, None, place="here")

    assert read == FactAsserted(valid=period(3, 9), traits=TRAITS, content=None)


@pytest.mark.parametrize(
    "topic",
    [
        "fact.invented.v1",
        "fact.asserted",
        "fact.asserted.v0",
        "fact.asserted.v-1",
        "fact.asserted.v1.0",
        "fact.asserted.vx",
        "muniment.domain.events:FactAsserted",
        "",
    ],
)
def test_an_event_nobody_knows_stops_the_reader(topic: str) -> None:
    with pytest.raises(UnknownEventError):
        decode(topic, b"{}", None, place="fact f version 1")


def test_an_event_of_a_newer_schema_stops_the_reader() -> None:
    stored = encode(asserted("tea", period(0)))

    with pytest.raises(NewerSchemaError):
        decode("fact.asserted.v2", stored.header, stored.content, place="here")


@pytest.fixture
def next_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the category of a statement was once called its kind."""

    def renamed(header: codec.Fields) -> codec.Fields:
        traits = dict(header["traits"])
        traits["category"] = traits.pop("kind")
        return {**header, "traits": traits}

    monkeypatch.setitem(codec._SCHEMAS, "fact.asserted", 2)
    monkeypatch.setitem(codec._UPCASTERS, ("fact.asserted", 1), renamed)


@pytest.mark.usefixtures("next_schema")
def test_an_event_of_an_older_schema_is_upcast_when_it_is_read() -> None:
    old = (
        b'{"traits":{"confidence":1.0,"core":false,"importance":0.5,"kind":"drink",'
        b'"status":"active"},"valid":[0,9]}'
    )

    event = decode("fact.asserted.v1", old, None, place="here")

    assert isinstance(event, FactAsserted)
    assert event.traits.category == "drink"


@pytest.mark.usefixtures("next_schema")
def test_what_is_written_today_is_of_the_newest_schema() -> None:
    assert encode(asserted("tea", period(0))).topic == "fact.asserted.v2"
