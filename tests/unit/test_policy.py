"""Which facts rules retire: decisions over explicit inputs, to the microsecond."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.events import RetireCause
from muniment.domain.keeping import DAY_US, Records
from muniment.domain.policy import RetainedFact, RetentionRule, expiry, retirement
from muniment.domain.time import Instant
from muniment.errors import InvalidValueError


NOW = Instant(1_000_000)
FACT = RetainedFact(
    fact_id="f-1",
    category="drink",
    importance=0.5,
    core=False,
    said_at=Instant(0),
    used_at=Instant(0),
    expires_at=None,
    held=False,
)
OLD = RetentionRule(older_than_us=NOW)
UNUSED = RetentionRule(unused_for_us=NOW)
UNIMPORTANT = RetentionRule(importance_below=0.5)

DAY = DAY_US


def test_a_duration_is_in_whole_microseconds() -> None:
    """Of `True` one was made, and every fact was due."""
    for duration in (True, 1.5, "1", timedelta(days=400)):
        for limit in ("older_than_us", "unused_for_us", "thin_older_than_us"):
            fields: dict[str, Any] = {limit: duration}
            with pytest.raises(InvalidValueError, match="whole microseconds"):
                RetentionRule(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"records": "receipt"},
        {"records": "turn", "older_than_us": DAY, "category": "drink"},
        {"records": "turn", "older_than_us": DAY, "unused_for_us": DAY},
        {"records": "turn", "older_than_us": DAY, "importance_below": 0.5},
        {"records": "turn", "older_than_us": 400 * DAY, "thin_older_than_us": 400 * DAY},
        {"records": "fact", "older_than_us": 400 * DAY},
        {"records": ["turn"], "older_than_us": DAY},
        {"records": "turn", "older_than_us": 0},
    ],
)
def test_a_rule_about_records_has_one_kind_and_one_limit(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        RetentionRule(**fields)


@given(days=st.integers(1, 400), others=st.lists(st.integers(1, 400)), now=st.integers(0))
def test_of_several_rules_the_shortest_cuts_at_the_beginning_of_a_day(
    days: int, others: list[int], now: int
) -> None:
    rules = [
        RetentionRule(records=Records.TURN, older_than_us=each * DAY)
        for each in (*others, days)
    ]

    due = expiry(Records.TURN, [*rules, OLD], now=Instant(now))

    shortest = min(days, *others) if others else days
    assert due is not None
    assert due.older_than_us == shortest * DAY
    assert due.until % DAY == 0
    assert 0 <= now - shortest * DAY - due.until < DAY
    assert expiry(Records.LOOK, rules, now=Instant(now)) is None


def test_a_rule_about_records_retires_no_fact() -> None:
    rule = RetentionRule(records=Records.TURN, older_than_us=1)

    assert retirement(FACT, [rule], now=NOW) is None


durations = st.integers(1, 2 * NOW)
instants = st.integers(0, NOW).map(Instant)
rules = st.builds(
    RetentionRule,
    category=st.sampled_from([None, "drink", "food"]),
    older_than_us=durations,
    unused_for_us=st.none() | durations,
    importance_below=st.sampled_from([None, 0.1, 0.5, 1.0]),
)
facts = st.builds(
    RetainedFact,
    fact_id=st.just("f-1"),
    category=st.sampled_from([None, "drink", "food"]),
    importance=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    core=st.booleans(),
    said_at=instants,
    used_at=instants,
    expires_at=st.none() | instants,
    held=st.booleans(),
)


# B45 (delta-rs#1013: what was still within its retention was removed).
@pytest.mark.parametrize(
    ("rule", "offset_us", "cause"),
    [
        (OLD, -1, None),
        (OLD, 0, RetireCause.EXPIRED),
        (OLD, 1, RetireCause.EXPIRED),
        (UNUSED, -1, None),
        (UNUSED, 0, RetireCause.UNUSED),
        (UNUSED, 1, RetireCause.UNUSED),
    ],
)
def test_a_limit_is_reached_on_its_very_microsecond(
    rule: RetentionRule, offset_us: int, cause: RetireCause | None
) -> None:
    assert retirement(FACT, [rule], now=Instant(NOW + offset_us)) is cause


@pytest.mark.parametrize(
    ("expires_at", "cause"),
    [(NOW - 1, RetireCause.EXPIRED), (NOW, RetireCause.EXPIRED), (NOW + 1, None)],
)
@pytest.mark.parametrize("core", [True, False])
def test_a_fact_expires_on_the_very_microsecond_it_says_core_or_not(
    expires_at: int, cause: RetireCause | None, *, core: bool
) -> None:
    fact = replace(FACT, expires_at=Instant(expires_at), core=core)

    assert retirement(fact, [], now=NOW) is cause


@pytest.mark.parametrize(
    ("importance", "cause"), [(0.49, RetireCause.UNIMPORTANT), (0.5, None), (0.51, None)]
)
def test_a_fact_as_important_as_the_limit_is_kept(
    importance: float, cause: RetireCause | None
) -> None:
    assert retirement(replace(FACT, importance=importance), [UNIMPORTANT], now=NOW) is cause


@pytest.mark.parametrize(
    ("category", "of_rule", "reached"),
    [
        ("drink", "drink", True),
        ("drink", None, True),
        (None, None, True),
        ("food", "drink", False),
        (None, "drink", False),
        ("Drink", "drink", False),
    ],
)
def test_a_rule_reaches_its_category_alone(
    category: str | None, of_rule: str | None, *, reached: bool
) -> None:
    fact = replace(FACT, category=category)
    rule = replace(OLD, category=of_rule)

    assert (retirement(fact, [rule], now=NOW) is not None) == reached


def test_a_fact_that_is_used_again_is_kept_by_the_rule_on_use_alone() -> None:
    fact = replace(FACT, used_at=Instant(1))

    assert retirement(fact, [UNUSED], now=NOW) is None
    assert retirement(fact, [OLD], now=NOW) is RetireCause.EXPIRED


@pytest.mark.parametrize("rule", [OLD, UNUSED, UNIMPORTANT])
def test_a_core_fact_is_kept_whatever_the_rules_say(rule: RetentionRule) -> None:
    fact = replace(FACT, core=True, importance=0.0)

    assert retirement(replace(fact, core=False), [rule], now=NOW) is not None
    assert retirement(fact, [rule], now=NOW) is None


@pytest.mark.parametrize("rule", [OLD, UNUSED, UNIMPORTANT])
@pytest.mark.parametrize("expires_at", [None, Instant(0)])
def test_what_a_hold_binds_stays(rule: RetentionRule, expires_at: Instant | None) -> None:
    fact = replace(FACT, held=True, importance=0.0, expires_at=expires_at)

    assert retirement(replace(fact, held=False), [rule], now=NOW) is not None
    assert retirement(fact, [rule], now=NOW) is None


def test_the_first_rule_that_is_reached_says_why() -> None:
    rules = [RetentionRule(older_than_us=NOW + 1), UNUSED, OLD]

    assert retirement(FACT, rules, now=NOW) is RetireCause.UNUSED


def test_its_own_expiry_says_why_before_any_rule() -> None:
    fact = replace(FACT, expires_at=NOW)

    assert retirement(fact, [UNUSED], now=NOW) is RetireCause.EXPIRED


def test_without_a_rule_everything_is_kept() -> None:
    assert retirement(FACT, [], now=NOW) is None


@given(fact=facts, rules=st.lists(rules, max_size=3), later=st.integers(0, NOW))
def test_what_is_due_stays_due(
    fact: RetainedFact, rules: list[RetentionRule], later: int
) -> None:
    now = retirement(fact, rules, now=NOW)

    then = retirement(fact, rules, now=Instant(NOW + later))

    assert now is None or then is not None


@given(fact=facts, rules=st.lists(rules, max_size=3), more=rules)
def test_another_rule_never_keeps_what_was_due(
    fact: RetainedFact, rules: list[RetentionRule], more: RetentionRule
) -> None:
    before = retirement(fact, rules, now=NOW)

    assert before is None or retirement(fact, [*rules, more], now=NOW) is before


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"category": "drink"},
        {"older_than_us": 0},
        {"older_than_us": -1},
        {"unused_for_us": 0},
        {"importance_below": 0.0},
        {"importance_below": 1.01},
        {"importance_below": float("nan")},
    ],
)
def test_a_rule_without_a_limit_or_with_one_out_of_bounds_is_refused(
    given: dict[str, float],
) -> None:
    with pytest.raises(InvalidValueError):
        RetentionRule(**given)  # type: ignore[arg-type]
