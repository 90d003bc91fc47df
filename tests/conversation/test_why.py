"""What became of something an agent should have known, named by the stage that lost it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muniment import Fact, MemoryStore, Principal, RetentionRule, Scope
from muniment.api.proposed import ProposalState
from muniment.domain.time import Instant
from muniment.errors import ChangeContestedError
from muniment.instants import moment
from tests.stores import MEMORY, NEW_YEAR, SECOND, Backend, SettableClock


TEAM = Scope.team("eng")
SAID = "用户对花生严重过敏, allergic to peanuts"
DAY_US = 86_400 * SECOND
Lose = Callable[[MemoryStore, Fact], object]


class _At:
    """A memory whose clock the test moves."""

    def __init__(self, directory: Path) -> None:
        self.clock = SettableClock()
        self.clock.now = NEW_YEAR
        backend = Backend(MEMORY, "memory://", directory)
        self.store = backend.open(clock=self.clock, embedder="none")

    def now(self) -> str:
        """Return a moment after all that happened, and let a day pass."""
        self.clock.now += SECOND
        seen = moment(Instant(self.clock.now)).isoformat()
        self.clock.now += DAY_US
        return seen


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[_At]:
    memory = _At(tmp_path)
    with memory.store:
        yield memory


def revised(store: MemoryStore, fact: Fact) -> None:
    store.update(fact.fact_id, content="说错了, something else", reason="said so")


def rolled_back(store: MemoryStore, fact: Fact) -> None:
    store.rollback_fact(fact.fact_id, to_version=0, actor="ops")


def merged(store: MemoryStore, fact: Fact) -> None:
    other = store.remember("花生过敏", user_id="ann")
    store.merge(fact.fact_id, into=other.fact_id)


def redacted(store: MemoryStore, fact: Fact) -> None:
    store.forget(fact.fact_id)
    store.forget(fact.fact_id, mode="redact")


def swept(store: MemoryStore, fact: Fact) -> None:
    del fact
    store.retain([RetentionRule(older_than_us=10_000 * DAY_US)])


def held(store: MemoryStore, fact: Fact) -> None:
    store.place_hold(user_id="ann", matter="case 7", hold_id="h-7")
    store.forget(fact.fact_id, mode="redact")


def hidden(store: MemoryStore, fact: Fact) -> None:
    del fact
    store.freeze(user_id="ann", hide=True)


LOSSES: dict[str, tuple[Lose, str, str]] = {
    "changed": (revised, "changed", "said so"),
    "corrected": (
        lambda store, fact: store.correct(fact.fact_id, content="花"),
        "changed",
        "corrected in tx",
    ),
    "ended": (
        lambda store, fact: store.end(fact.fact_id, valid_to=fact.recorded_at),
        "ended",
        "ended in tx",
    ),
    "retired": (lambda store, fact: store.forget(fact.fact_id), "retired", "was retired"),
    "merged": (merged, "retired", "merged into fact"),
    "swept": (swept, "expired", "had expired"),
    "rolled back": (rolled_back, "rolled back", "by ops"),
    "held": (held, "held", "a legal hold keeps it"),
    "hidden": (hidden, "hidden", "frozen and hidden"),
    "redacted": (redacted, "redacted", "was redacted"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_what_lost_it_is_named_then_and_not_before_and_still_when_it_is_back(
    memory: _At, name: str
) -> None:
    lose, expected, told = LOSSES[name]
    store = memory.store
    expires = {"expires_at": "2026-01-02T12:00:00Z"} if name == "swept" else {}
    fact = store.remember(SAID, user_id="ann", **expires)  # type: ignore[arg-type]
    before = memory.now()
    expect = fact.fact_id if name == "redacted" else SAID
    memory.clock.now += DAY_US

    lose(store, fact)

    lost_at = memory.now()
    now = store.why(expect, user_id="ann")
    assert (now.stage, now.fact_id) == (expected, fact.fact_id)
    assert told in now.sentence
    assert store.why(expect, user_id="ann", at=before).stage == "not recalled"
    if name == "held":
        store.release_hold("h-7", user_id="ann")
        expect = fact.fact_id
    if name == "hidden":
        store.thaw(user_id="ann")
        assert store.why(SAID, user_id="ann").stage == "not recalled"
    else:
        again = store.remember(SAID, user_id="ann")
        assert store.why(SAID, user_id="ann").fact_id == again.fact_id
        assert store.why(SAID, user_id="ann").stage == "not recalled"
    then = store.why(expect, user_id="ann", at=lost_at)
    assert (then.stage, then.fact_id) == (expected, fact.fact_id)


def test_a_rollback_that_brings_back_what_was_said_before_is_no_change(
    memory: _At,
) -> None:
    store = memory.store
    fact = store.remember("likes coffee", user_id="ann")
    store.correct(fact.fact_id, content=SAID)
    store.rollback_fact(fact.fact_id, to_version=1, reason="poisoned")
    store.correct(fact.fact_id, content="likes cocoa")

    found = store.why(SAID, user_id="ann")

    assert found.stage == "rolled back"
    assert "version 3" in found.sentence
    assert "poisoned" in found.sentence


def test_time_alone_makes_it_not_yet_so_or_no_longer(memory: _At) -> None:
    store = memory.store
    store.remember(
        SAID,
        user_id="ann",
        valid_from="2026-01-03T00:00:00+08:00",
        valid_to="2026-01-05T00:00:00+08:00",
    )
    early = memory.now()
    memory.clock.now += 2 * DAY_US
    during = memory.now()
    memory.clock.now += DAY_US

    found = store.why(SAID, user_id="ann", at=early)

    assert found.stage == "not yet"
    assert "2026-01-02T16:00:00" in found.sentence
    assert store.why(SAID, user_id="ann", at=during).stage == "not recalled"
    over = store.why(SAID, user_id="ann")
    assert (over.stage, "held until 2026-01-04T16:00:00" in over.sentence) == (
        "ended",
        True,
    )


def test_of_several_that_say_it_the_one_that_was_used_is_looked_at(memory: _At) -> None:
    store = memory.store
    gone = store.remember(SAID, user_id="ann")
    store.forget(gone.fact_id)
    doubtful = store.remember(f"{SAID}!", user_id="ann", status="unverified")
    assert store.why(SAID, user_id="ann").fact_id == doubtful.fact_id
    used = store.remember(f"{SAID}?", user_id="ann")
    later = store.remember(f"{SAID}.", user_id="ann", status="unverified")
    store.search("peanuts", user_id="ann")

    found = store.why(SAID, user_id="ann")

    assert (found.stage, found.fact_id) == ("not used", used.fact_id)
    assert store.why(later.fact_id, user_id="ann").stage == "quarantined"


def test_what_cannot_be_read_is_not_said_never_to_have_been_said(memory: _At) -> None:
    store = memory.store
    store.remember("likes tea", user_id="ann")
    nearest = store.why("drinks green tea all day", user_id="ann")
    assert nearest.stage == "never said"
    assert [e.question for e in nearest.checks] == [
        "was it said",
        "was it written",
        "what comes nearest",
    ]
    fact = store.remember(SAID, user_id="ann")
    at = memory.now()
    session_id = store.start_session(user_id="ann").session_id
    turn = store.add_turn(session_id, role="user", content="my dog is called 旺财")
    assert store.why("dog called 旺财", user_id="ann", at=at).stage == "too late"
    assert store.why("dog called 旺财", user_id="ann").stage == "never remembered"

    store.forget(fact.fact_id, mode="redact")
    store.redact_turn(turn.turn_id)

    for expect in (SAID, "dog called 旺财"):
        found = store.why(expect, user_id="ann")
        assert found.stage == "perhaps gone"
        assert f"fact {fact.fact_id}, redacted" in found.sentence
        assert "1 turns" in found.sentence


@pytest.mark.parametrize(
    ("query", "expected", "told"),
    [
        ("When is the dinner, 几点?", "not used", "answered otherwise"),
        ("when is the DINNER  几点", "not used", "answered otherwise"),
        ("dinner", "not used", "answered otherwise"),
        ("peanuts", "not recalled", "none of 2 receipts asked that"),
        ("zebra crossing", "not found", "no leg of a search"),
    ],
)
def test_a_question_need_not_be_told_to_the_letter(
    memory: _At, query: str, expected: str, told: str
) -> None:
    store = memory.store
    store.remember(f"dinner, {SAID}", user_id="ann")
    store.search("When is the dinner, 几点?", user_id="ann")
    store.search("tea", user_id="ann")

    found = store.why(SAID, user_id="ann", query=query)

    assert found.stage == expected
    assert told in found.sentence
    evidence = " ".join(each.evidence for each in found.checks)
    is_exact = query.startswith("When")
    assert ("which asked 'When is" in evidence) == (expected == "not used" and not is_exact)


def test_a_recall_that_was_narrowed_is_told_from_one_that_did_not_find_it(
    memory: _At,
) -> None:
    store = memory.store
    store.remember(SAID, user_id="ann", category="health")
    store.search("peanuts", user_id="ann", category="work")
    narrowed = store.why(SAID, user_id="ann")
    assert narrowed.stage == "not found"
    assert narrowed.sentence == (
        "it ranked 1, and 0 were given: the call asked for less, by a filter or in "
        "another way"
    )
    for number in range(3):
        store.remember(f"peanuts peanuts {number}", user_id="ann")
    store.search("peanuts peanuts", user_id="ann", limit=2)

    crowded = store.why(SAID, user_id="ann")

    assert crowded.stage == "not found"
    assert crowded.sentence == "it ranked 4, and 2 were given"


def test_what_another_memory_says_was_not_asked_or_is_pointed_at(memory: _At) -> None:
    store = memory.store
    store.remember("likes tea", user_id="ann")
    fact = store.remember("周五不得部署, no deploys on Friday", scope=TEAM)
    question, expect = "may I deploy on Friday", "周五不得部署"
    store.search(question, user_id="ann")
    alone = memory.now()
    both = [Scope.user("ann"), TEAM]

    assert store.why(expect, user_id="ann").stage == "never said"
    found = store.why(expect, scopes=both)
    assert (found.stage, found.fact_id) == ("not asked", fact.fact_id)
    assert "put to user:ann, not to team:eng" in found.sentence
    store.build_context(question, scopes=both)

    assert store.why(expect, scopes=both).stage == "not used"
    assert store.why(expect, scopes=both, at=alone).stage == "not asked"
    missing = store.why(expect, user_id="ann")
    assert missing.stage == "never said"
    assert missing.checks[-1].evidence == "recalls asked team:eng as well: look there, too"


def test_a_late_change_that_nobody_agreed_to_is_told_as_that(memory: _At) -> None:
    lead = memory.store.acting_as(Principal(id="u-1", memberships=("lead_of:eng",)))
    other = memory.store.acting_as(Principal(id="u-2", memberships=("lead_of:eng",)))
    fact = lead.remember("deploys on Friday", scope=TEAM)
    lead.update(fact.fact_id, content="deploys on Monday", expected_version=1)
    with pytest.raises(ChangeContestedError) as caught:
        other.update(fact.fact_id, content="周二部署", expected_version=1)

    waiting = memory.store.why("周二部署", scope=TEAM)

    assert waiting.stage == "proposed"
    assert caught.value.proposal_id in waiting.sentence
    assert ProposalState.OPEN.value in waiting.sentence
