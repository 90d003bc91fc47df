"""
What the property tests draw from: ranges so tiny that everything collides.

Twelve instants, three contents, two sessions, actors and sources. Recorded and valid
time are drawn from the same instants, since a valid time that is left out is recorded
time.
"""

from hypothesis import strategies as st

from muniment.domain.events import (
    Content,
    Evidence,
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRevised,
    FactRolledBack,
    RetireCause,
    RevisionCause,
    Status,
    Traits,
)
from muniment.domain.time import ALWAYS, BEGINNING, FOREVER, Instant, Period
from tests.oracle import Recorded


INSTANTS = [Instant(number) for number in range(12)]
ENDS = [BEGINNING, *INSTANTS, FOREVER]
CONTENTS = ["咖啡 ☕", "tea", "water"]
VERSIONS_MAX = 8

instants = st.sampled_from(INSTANTS)
sources = st.sampled_from(["user_explicit", "tool"])
actors = st.sampled_from([None, "ann", "agent"])
sessions = st.sampled_from([None, "s-1", "s-2"])
triggers = st.sampled_from([None, "user_explicit", "tool_result"])
origins = st.tuples(actors, triggers, sessions)
categories = st.sampled_from([None, "drink"])


@st.composite
def periods(draw: st.DrawFn) -> Period:
    """Draw a period between two of the instants, open at either end now and then."""
    start, end = draw(
        st.lists(st.sampled_from(ENDS), min_size=2, max_size=2, unique=True).map(sorted)
    )
    return Period(start, end)


traits = st.builds(
    Traits,
    category=categories,
    attribute=st.sampled_from([None, "likes"]),
    status=st.just(Status.ACTIVE),
    confidence=st.sampled_from([1.0, 0.5]),
    importance=st.sampled_from([0.5, 0.9]),
    core=st.booleans(),
    expires_at=st.none() | instants,
)
evidence = st.builds(
    Evidence,
    source=sources,
    source_turns=st.sampled_from([(), ("t-1",), ("t-2", "t-1")]),
    entities=st.sampled_from([(), ("Ann", "北京")]),
    metadata=st.sampled_from([{}, {"key": [1, None, {"深": 0.5}]}]),
    claimed_at=st.none() | instants,
)
contents = st.builds(Content, text=st.sampled_from(CONTENTS), evidence=evidence)
versions = st.integers(0, VERSIONS_MAX)

statements = st.builds(FactAsserted, valid=periods(), traits=traits, content=contents)
changes = st.one_of(
    statements,
    st.builds(
        FactRevised,
        valid=periods(),
        traits=traits,
        content=contents,
        cause=st.sampled_from(RevisionCause),
    ),
    st.builds(FactEnded, valid_to=instants),
    st.builds(
        FactCorroborated,
        confidence=st.just(1.0),
        importance=st.just(0.5),
        evidence=evidence,
    ),
    st.builds(FactRetired, cause=st.sampled_from(RetireCause)),
    st.builds(FactRestored, to_version=versions),
    st.builds(FactRolledBack, to_version=versions, within=st.just(ALWAYS) | periods()),
)
lives = st.builds(
    lambda first, rest: [first, *rest],
    statements,
    st.lists(changes, max_size=VERSIONS_MAX - 1),
)
"""The events of one fact that has all of its content."""

nonsense = st.lists(
    changes
    | st.builds(FactRestored, to_version=st.integers(-2, 20))
    | st.builds(FactEnded, valid_to=st.sampled_from(ENDS))
    | st.just(FactRedacted()),
    max_size=VERSIONS_MAX,
)
"""Events in an order, and with versions, that no ledger should ever hold."""


@st.composite
def facts(
    draw: st.DrawFn, events: st.SearchStrategy[list[FactEvent]] = lives
) -> list[Recorded]:
    """Draw the recorded events of one fact, some of them of one transaction."""
    recorded: list[Recorded] = []
    tx_id, now, by = 1, draw(instants), draw(origins)
    for version, event in enumerate(draw(events), 1):
        if version > 1 and draw(st.integers(0, 3)):
            tx_id, now, by = (
                tx_id + 1,
                Instant(now + draw(st.integers(1, 3))),
                draw(origins),
            )
        recorded.append(
            Recorded(
                position=version,
                tx_id=tx_id,
                recorded_at=now,
                subject="user:ann",
                fact_id="f",
                version=version,
                event=event,
                actor=by[0],
                trigger=by[1],
                session_id=by[2],
            )
        )
    return recorded
