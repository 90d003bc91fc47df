"""Later lines of the deletion policy; and no line of it is without a test."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muniment import Cause, Fact, MemoryStore, RetentionRule
from muniment.api.giving_up import INDEX_GONE
from muniment.api.turns import EXPIRED, REDACTED, WITHHELD
from muniment.domain.keeping import DAY_US, Records
from muniment.domain.policy import YEAR_US
from muniment.errors import (
    FactNotCurrentError,
    InvalidValueError,
    SessionRedactedError,
    SubjectFrozenError,
    ThinnedError,
    UnknownFactError,
    WordsRedactedError,
)
from muniment.settings import Settings
from tests.api import test_forgetting_policy, test_merging_policy
from tests.api.test_forgetting_policy import CANARY, Hands, known, said


PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "forgetting.md"
LINE = re.compile(r"^\| (F\d+) \|", re.MULTILINE)
TEST = re.compile(r"test_(f\d+)_")

GOING = (Records.RECEIPT, Records.TURN)
OLD = RetentionRule(thin_older_than_us=2 * YEAR_US)

hands = pytest.fixture(lambda: Hands(), name="hands")  # noqa: PLW0108 - no class may be one


@pytest.fixture
def store(tmp_path: Path, hands: Hands) -> MemoryStore:
    return MemoryStore.open(tmp_path / "store", clock=hands)


def grown_old(store: MemoryStore, hands: Hands, **said_as: Any) -> Fact:  # noqa: ANN401
    """Remember what says three things within a year, two when others began; years pass."""
    fact = store.remember(CANARY, user_id="u", **said_as)
    for when, content in (
        (datetime(2026, 3, 1, tzinfo=UTC), "b"),
        (datetime(2026, 9, 1, tzinfo=UTC), "c"),
        (datetime(2028, 5, 1, tzinfo=UTC), "d"),
    ):
        hands.now = when
        store.update(fact.fact_id, content=content)
    hands.now = datetime(2031, 1, 1, tzinfo=UTC)
    return fact


@pytest.mark.parametrize(
    "rules",
    [
        None,
        "90d",
        5,
        OLD,
        {"category": "c"},
        [{"category": "c", "older_than": "90d"}],
        [OLD, None],
        (each for each in [OLD]),
    ],
)
def test_what_is_no_rule_is_refused_though_nothing_is_remembered(
    store: MemoryStore,
    rules: Any,  # noqa: ANN401 - whatever is sent
) -> None:
    for verb in (store.plan_retention, store.retain):
        with pytest.raises(InvalidValueError, match="RetentionRule"):
            verb(rules)


def test_f27_what_was_said_between_the_years_goes_for_good(
    store: MemoryStore, hands: Hands
) -> None:
    fact = grown_old(store, hands)
    (due,) = store.plan_retention([OLD])
    store.retain([OLD])

    assert (due.cause, due.versions) == ("thinned", ((1, 2),))
    assert due.until == datetime(2029, 1, 1, tzinfo=UTC)
    assert said(store, fact.fact_id) == [None, None, "c", "d", None]
    held = grown_old(store, hands)
    store.place_hold(user_id="u", matter="m", hold_id="h", fact_id=held.fact_id)
    hands.now = datetime(2040, 1, 1, tzinfo=UTC)
    assert held.fact_id not in {each.fact_id for each in store.plan_retention([OLD])}
    store.release_hold("h", user_id="u")
    assert held.fact_id in {each.fact_id for each in store.plan_retention([OLD])}


def test_f28_what_is_kept_is_answered_as_before(store: MemoryStore, hands: Hands) -> None:
    grown_old(store, hands)
    new_year = datetime(2027, 1, 1, tzinfo=UTC)
    times = (
        new_year,
        new_year - timedelta(microseconds=1),
        datetime(2029, 1, 1, tzinfo=UTC),
        datetime(2030, 6, 1, tzinfo=UTC),
    )
    before = [known(store, each) for each in times]
    store.retain([OLD])

    assert before == [["c"], ["c"], ["d"], ["d"]]
    assert [known(store, each) for each in times] == before


def test_f29_other_times_are_refused_and_the_kept_ones_named(
    store: MemoryStore, hands: Hands
) -> None:
    fact = grown_old(store, hands)
    whole = store.remember("whole", user_id="u", valid_from="2026-01-01T00:00:00Z")
    store.retain([OLD])
    between = datetime(2026, 6, 1, tzinfo=UTC)

    for ask in (
        lambda: known(store, between),
        lambda: store.get_memory_as_of(user_id="u", timestamp=hands.now, valid_at=between),
        lambda: store.get(fact.fact_id, as_of=between),
        lambda: store.search("b", user_id="u", as_of=between),
    ):
        with pytest.raises(ThinnedError, match=r"2026-01-01T.* or of 2027-01-01T"):
            ask()
    assert store.get(whole.fact_id, valid_at=between).content == "whole"


def test_f30_history_names_what_went(store: MemoryStore, hands: Hands) -> None:
    fact = grown_old(store, hands)
    store.retain([OLD], actor="keeper", reason="policy 3")

    last = store.get_fact_history(fact.fact_id).versions[-1]
    assert (last.kind, last.thinned) == ("thinned", ((1, 2),))
    assert (last.actor, last.reason, last.trigger) == ("keeper", "policy 3", "retention")


def test_f31_nothing_brings_back_what_went(store: MemoryStore, hands: Hands) -> None:
    fact = grown_old(store, hands)
    store.retain([OLD])

    with pytest.raises(ThinnedError):
        store.rollback_fact(fact.fact_id, to_version=1)
    since = Cause(since="2026-08-01T00:00:00Z", trigger="user_explicit")
    plan = store.plan_rollback(user_id="u", where=since)
    assert [each.why for each in plan.skipped] == ["what it said then was thinned"]


def test_f32_redaction_reaches_what_stayed(store: MemoryStore, hands: Hands) -> None:
    fact = grown_old(store, hands)
    store.archive()
    store.prune()
    store.retain([OLD])
    archived = said(store, fact.fact_id)
    store.forget(fact.fact_id, mode="redact")

    assert archived == [None, None, "c", "d", None]
    assert said(store, fact.fact_id) == [None] * 6


def test_f33_core_facts_and_frozen_memories_are_not_thinned(
    store: MemoryStore, hands: Hands
) -> None:
    grown_old(store, hands, core=True)
    grown_old(store, hands)
    hands.now = datetime(2040, 1, 1, tzinfo=UTC)
    due = store.plan_retention([OLD])
    store.freeze(user_id="u")

    assert len(due) == 1
    assert store.plan_retention([OLD]) == ()


# C16: a pause, or consent withdrawn, stops writes and reads at once.
def test_f34_a_paused_memory_is_neither_used_nor_written_to(store: MemoryStore) -> None:
    fact = store.remember("a", user_id="u")
    session_id = store.start_session(user_id="u").session_id
    store.add_turn(session_id, role="user", content="a")
    store.freeze(user_id="u", hide=True, reason="consent withdrawn")

    assert [each.token for each in store.get_turns(session_id)] == [WITHHELD]
    with pytest.raises(SubjectFrozenError):
        store.add_turn(session_id, role="user", content="b")
    assert list(store.search("a", scopes=["user:u"])) == []
    assert store.get_all(user_id="u").items == ()
    assert list(store.search("a", user_id="u")) == []
    assert "a" not in store.build_context("a", user_id="u").text.split()
    with pytest.raises(FactNotCurrentError, match="hidden"):
        store.get(fact.fact_id)
    with pytest.raises(SubjectFrozenError):
        store.remember("b", user_id="u")
    assert (known(store, fact.recorded_at), said(store, fact.fact_id)) == (["a"], ["a"])
    store.thaw(user_id="u")
    assert store.get(fact.fact_id).content == "a"


def test_f35_what_was_said_goes_with_what_was_made_of_it(store: MemoryStore) -> None:
    session_id = store.start_session(user_id="u").session_id
    turn = store.add_turn(session_id, role="user", content=CANARY)
    fact = store.remember(CANARY, user_id="u", source_turns=[turn.turn_id])
    store.summarize_session(session_id, keep=0, force=True)
    receipt = store.redact_turn(turn.turn_id)

    assert receipt.fact_ids == (fact.fact_id,)
    (then,) = store.get_turns(session_id, as_of=turn.recorded_at)
    assert (then.content, then.role, then.token) == (None, "user", REDACTED)
    assert store.get_summaries(session_id) == ()
    store.redact_session(session_id)
    with pytest.raises(SessionRedactedError):
        store.add_turn(session_id, role="user", content="more")


def test_f36_what_was_said_waits_for_a_hold_and_is_not_used(store: MemoryStore) -> None:
    session_id = store.start_session(user_id="u").session_id
    turn = store.add_turn(session_id, role="user", content=CANARY)
    hold = store.place_hold(user_id="u", matter="case").hold_id

    assert store.redact_turn(turn.turn_id).deferred
    assert store.get_turns(session_id)[0].token == WITHHELD
    store.release_hold(hold or "", user_id="u")
    assert store.get_turns(session_id)[0].token == REDACTED


def test_f49_the_redaction_of_a_fact_waits_for_a_hold_on_what_its_receipt_gave(
    store: MemoryStore,
) -> None:
    fact, held = (store.remember(each, user_id="u") for each in (CANARY, "likes tea"))
    store.search(f"{CANARY}, likes tea", user_id="u")
    hold = store.place_hold(user_id="u", matter="case", fact_id=held.fact_id).hold_id

    assert store.forget(fact.fact_id, mode="redact").deferred
    store.release_hold(hold or "", user_id="u")
    assert store.get_receipts(user_id="u")[0].token == REDACTED
    assert store.get_fact_history(fact.fact_id).versions[0].content is None


def said_and_asked(store: MemoryStore, hands: Hands) -> str:
    """Say something, draw a fact from it, ask for it; half a year passes."""
    session_id = store.start_session(user_id="u").session_id
    turn = store.add_turn(session_id, role="user", content=CANARY)
    store.remember("tea", user_id="u", source_turns=[turn.turn_id])
    store.search(CANARY, user_id="u")
    store.flush_receipts()
    hands.now += timedelta(days=186)
    return session_id


@pytest.mark.parametrize("records", GOING)
def test_f37_records_have_a_time_to_live_of_their_own(
    store: MemoryStore, hands: Hands, records: Records
) -> None:
    kept = RetentionRule(records=records, older_than_us=184 * DAY_US)
    session_id = said_and_asked(store, hands)
    hold = store.place_hold(user_id="u", matter="case").hold_id
    held = (store.plan_retention([kept]), store.retain([kept]))
    store.release_hold(hold or "", user_id="u")
    (due,) = store.plan_retention([kept])
    store.retain([kept])

    assert held == ((), ())
    assert (due.records, due.cause, due.count) == (kept.records, "expired", 1)
    (turn,), (receipt,) = store.get_turns(session_id), store.get_receipts(user_id="u")
    assert (turn.content is None) == (kept.records == "turn")
    assert (receipt.query is None) == (kept.records == "receipt")
    assert [each.content for each in store.get_all(user_id="u")] == ["tea"]


def test_f38_nothing_goes_that_a_law_wants_kept() -> None:
    for records, days in (("receipt", 184), ("look", 184), ("emergency", 2192)):
        RetentionRule(records=Records(records), older_than_us=days * DAY_US)
        with pytest.raises(InvalidValueError, match=f"{days:,} days or more"):
            RetentionRule(records=Records(records), older_than_us=days * DAY_US - 1)


def test_f39_a_record_stays_up_to_a_day_longer_and_never_shorter(
    store: MemoryStore, hands: Hands
) -> None:
    kept = RetentionRule(records=Records.TURN, older_than_us=184 * DAY_US)
    hands.now = datetime(2026, 1, 1, 8, tzinfo=UTC)
    said_and_asked(store, hands)
    since = hands.now - timedelta(days=2)

    hands.now = since.replace(hour=23, minute=59)
    assert store.plan_retention([kept]) == ()
    hands.now = since.replace(hour=0) + timedelta(days=1)
    assert [each.count for each in store.plan_retention([kept])] == [1]


def test_f40_a_token_stands_in_its_place_and_uses_count_as_before(
    store: MemoryStore, hands: Hands
) -> None:
    session_id = said_and_asked(store, hands)
    (fact,), now = store.get_all(user_id="u"), hands.now
    before = store.get_uses(fact.fact_id), store.search("tea", user_id="u", as_of=now)
    store.retain([RetentionRule(records=e, older_than_us=184 * DAY_US) for e in GOING])

    for as_of in (None, now):
        (turn,) = store.get_turns(session_id, as_of=as_of)
        assert (turn.content, turn.token) == (None, EXPIRED)
    (receipt, *_) = store.get_receipts(user_id="u")
    assert (receipt.token, receipt.facts[0].fact_id) == (EXPIRED, fact.fact_id)
    again = store.search("tea", user_id="u", as_of=now)
    assert (store.get_uses(fact.fact_id), again.items) == (before[0], before[1].items)


def test_f41_what_was_drawn_stays_and_nothing_is_drawn_any_more(
    store: MemoryStore, hands: Hands
) -> None:
    session_id = said_and_asked(store, hands)
    (fact,) = store.get_all(user_id="u")
    store.retain([RetentionRule(records=e, older_than_us=184 * DAY_US) for e in GOING])

    assert store.get(fact.fact_id).content == "tea"
    with pytest.raises(WordsRedactedError):
        store.remember("late", user_id="u", source_turns=[f"{session_id}.1"])
    assert store.redact_turn(f"{session_id}.1").fact_ids == (fact.fact_id,)


def test_f42_a_report_says_what_went_and_what_did_not(
    store: MemoryStore, hands: Hands
) -> None:
    said_and_asked(store, hands)
    rules = [RetentionRule(records=e, older_than_us=184 * DAY_US) for e in GOING]
    due = store.report_retention(rules).due
    store.retain(rules, actor="keeper", reason="policy 5")
    report = store.report_retention(rules, user_id="u")

    assert {each.records for each in due} == set(GOING)
    assert (report.status, report.due, report.held) == ("DONE", (), ())
    assert [(e.records, e.actor, e.reason, e.remaining) for e in report.acts] == [
        (Records.RECEIPT, "keeper", "policy 5", 0),
        (Records.TURN, "keeper", "policy 5", 0),
    ]
    assert all(e.older_than == "184 days, 0:00:00" for e in report.acts)


def test_f48_an_index_that_is_gone_for_good_is_said_to_be(tmp_path: Path) -> None:
    place = Settings(database_url=f"sqlite:///{tmp_path / 'l.db'}", embedder="hashing")
    with MemoryStore.open(place) as store:
        fact = store.remember(CANARY, user_id="u")
        store.catch_up()
    elsewhere = place.model_copy(update={"upkeep": False})
    with MemoryStore.open(elsewhere) as store:
        partial = store.erase(user_id="u", reason="asked")
        with pytest.raises(InvalidValueError, match="reason"):
            store.record_config(INDEX_GONE, " ")
        store.record_config(INDEX_GONE, "硬盘已销毁", actor="ops-1")
        store.remember("b", user_id="v")
        later = store.erase(user_id="v", reason="asked")
    with MemoryStore.open(elsewhere) as store:
        done = store.erasure_certificate(partial.subject_ref or "")
        store.record_config(INDEX_GONE, None)
        store.remember(CANARY, user_id="w")
        again = store.erase(user_id="w", reason="asked")
    with MemoryStore.open(place) as store:
        store.catch_up()
        assert store.verify()
        with pytest.raises(UnknownFactError):
            store.get(fact.fact_id)

    assert done is not None
    assert [e.status for e in (partial, later, done, again)] == [
        "PARTIAL",
        "DONE",
        "DONE",
        "PARTIAL",
    ]
    for each in (later, done):
        recall = next(e for e in each.stores if e.store == "recall")
        assert not recall.verified
        assert re.search(
            r"recall .* unverified, declared gone .* by ops-1: 硬盘已销毁", each.text
        )


def test_every_line_of_the_policy_has_its_test_and_no_test_is_without() -> None:
    lines = [each.lower() for each in LINE.findall(PAGE.read_text(encoding="utf-8"))]
    modules = (test_forgetting_policy, test_merging_policy, sys.modules[__name__])
    named = (TEST.match(each) for module in modules for each in vars(module))
    tests = {found[1] for found in named if found}

    assert len(lines) == len(set(lines)), "each line has a number of its own"
    assert set(lines) == tests
