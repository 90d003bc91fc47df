"""
Retention: which facts are no longer to be used, as decisions over explicit inputs. Pure.

An expiry is not an erasure: a fact retired by policy is still there at every as-of
before, and may be restored. What is thinned of its old history is gone for good, and so
are records of other kinds once their time is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from muniment.domain.duplicates import LEAST_ALIKE
from muniment.domain.events import RetireCause
from muniment.domain.keeping import DAY_US, LEAST_DAYS, Records, cut
from muniment.domain.thinning import year_start
from muniment.domain.time import Instant
from muniment.errors import InvalidValueError


THINNED: Final = "thinned"
"""The cause by which a plan names what is thinned; the others are of a `RetireCause`."""

YEAR_US: Final = 365 * DAY_US
"""What is younger than this is never thinned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """
    When facts of a category are retired or thinned; at least one limit is given.

    Or, where it names *records*, when those become unreadable: then *older_than_us* is
    the one limit there is.

    Attributes:
        category: Of which facts, or ``None`` for all.
        older_than_us: Retire what was recorded longer ago than this.
        unused_for_us: Retire what was not written or used for this long.
        importance_below: Retire what is less important than this; 0 to 1.
        thin_older_than_us: Of what was recorded longer ago than this, a year or more,
            keep no more than how it stood when each year (UTC) began.
        merge_alike: Merge what says the same as another fact into that, see
            `muniment.domain.duplicates`: for 1 what does in the same words, for less,
            0.95 at least, also what is at least so alike to the embedder.
        records: See `muniment.domain.keeping.Records`; ``None`` for facts.

    Raises:
        InvalidValueError: If no limit is given, or one is out of bounds, or shorter than
            a law wants such records kept.
    """

    category: str | None = None
    older_than_us: int | None = None
    unused_for_us: int | None = None
    importance_below: float | None = None
    thin_older_than_us: int | None = None
    merge_alike: float | None = None
    records: Records | None = None

    def __post_init__(self) -> None:
        limits = (
            self.older_than_us,
            self.unused_for_us,
            self.importance_below,
            self.thin_older_than_us,
            self.merge_alike,
        )
        if all(limit is None for limit in limits):
            raise InvalidValueError("a retention rule", "no limit", "at least one limit")
        for name, limit in (
            ("older_than", self.older_than_us),
            ("unused_for", self.unused_for_us),
            ("thin_older_than", self.thin_older_than_us),
        ):
            # Of `True` a microsecond would be made, and everything retired.
            if isinstance(limit, bool) or not isinstance(limit, int | None):
                raise InvalidValueError(name, limit, "whole microseconds")
        for name, limit in (
            ("older_than", self.older_than_us),
            ("unused_for", self.unused_for_us),
        ):
            if limit is not None and limit <= 0:
                raise InvalidValueError(name, limit, "a positive duration")
        share = self.importance_below
        if share is not None and not 0 < share <= 1:
            raise InvalidValueError("importance_below", share, "above 0, at most 1")
        age = self.thin_older_than_us
        if age is not None and age < YEAR_US:
            raise InvalidValueError("thin_older_than", _days(age), "365 days or more")
        alike = self.merge_alike
        if alike is not None and not LEAST_ALIKE <= alike <= 1:
            raise InvalidValueError("merge_alike", alike, f"{LEAST_ALIKE} to 1")
        if self.records is not None:
            self._check_records()

    def _check_records(self) -> None:
        if self.records not in tuple(Records):
            expected = f"one of {', '.join(Records)}"
            raise InvalidValueError("records", self.records, expected)
        records = Records(self.records)
        object.__setattr__(self, "records", records)
        others = (
            self.category,
            self.unused_for_us,
            self.importance_below,
            self.thin_older_than_us,
            self.merge_alike,
        )
        age = self.older_than_us
        if age is None or any(each is not None for each in others):
            expected = "older_than and nothing else, where it is about records"
            raise InvalidValueError("a retention rule", records.value, expected)
        least = LEAST_DAYS.get(records, 0)
        if age < least * DAY_US:
            expected = f"{least:,} days or more for {records}, which the law wants kept"
            raise InvalidValueError("older_than", _days(age), expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """
    That records of a kind are due.

    Attributes:
        until: Those recorded before then.
        older_than_us: The time to live that the rule gives them.
    """

    until: Instant
    older_than_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedFact:
    """
    What a rule looks at.

    Attributes:
        core: A core fact is kept whatever the rules say, but for its own expiry.
        said_at: When what it says was recorded.
        used_at: When it was last written or used.
        expires_at: From then on it is not used, or ``None``.
        held: Whether a legal hold binds it.
    """

    fact_id: str
    category: str | None
    importance: float
    core: bool
    said_at: Instant
    used_at: Instant
    expires_at: Instant | None
    held: bool


def retirement(
    fact: RetainedFact, rules: Sequence[RetentionRule], *, now: Instant
) -> RetireCause | None:
    """
    Return why a fact is to be retired now, if it is.

    A limit is reached, not passed: a fact is retired from the very microsecond on. What
    a legal hold binds stays.
    """
    if fact.held:
        return None
    if fact.expires_at is not None and fact.expires_at <= now:
        return RetireCause.EXPIRED
    if fact.core:
        return None
    causes = (
        _cause(fact, rule, now)
        for rule in rules
        if rule.records is None and rule.category in (None, fact.category)
    )
    return next((cause for cause in causes if cause is not None), None)


def thinned_until(
    *, category: str | None, core: bool, rules: Sequence[RetentionRule], now: Instant
) -> Instant | None:
    """
    Return until when old history of a fact is to be thinned now, if it is.

    The first moment of a year (UTC), so that every year is kept in full or thinned in
    full. Of a core fact all is kept.

    Args:
        category: Of the fact as it was last said.
        core: Whether it belongs into every prompt.
        rules: Those there are; of several that apply, the one that keeps least counts.
        now: The time.
    """
    if core:
        return None
    ages = [
        rule.thin_older_than_us
        for rule in rules
        if rule.category in (None, category) and rule.thin_older_than_us is not None
    ]
    return year_start(Instant(now - min(ages))) if ages else None


def merged_from(
    *, category: str | None, core: bool, rules: Sequence[RetentionRule]
) -> float | None:
    """
    Return from which likeness on facts of a category are merged; ``None`` for never.

    Of several rules that apply, the one that keeps least counts. Core facts are not.
    """
    asked = [
        rule.merge_alike
        for rule in rules
        if rule.category in (None, category) and rule.merge_alike is not None
    ]
    return min(asked) if asked and not core else None


def expiry(
    records: Records, rules: Sequence[RetentionRule], *, now: Instant
) -> Expiry | None:
    """
    Return until when records of a kind are to become unreadable now, if they are.

    Of several rules that apply, the one that keeps least counts.
    """
    ages = [
        rule.older_than_us
        for rule in rules
        if rule.records is records and rule.older_than_us is not None
    ]
    if not ages:
        return None
    return Expiry(until=cut(min(ages), now=now), older_than_us=min(ages))


def _days(age_us: int) -> str:
    return f"{age_us / DAY_US:,.6g} days"


def _cause(fact: RetainedFact, rule: RetentionRule, now: Instant) -> RetireCause | None:
    if rule.older_than_us is not None and now - fact.said_at >= rule.older_than_us:
        return RetireCause.EXPIRED
    if rule.unused_for_us is not None and now - fact.used_at >= rule.unused_for_us:
        return RetireCause.UNUSED
    if rule.importance_below is not None and fact.importance < rule.importance_below:
        return RetireCause.UNIMPORTANT
    return None
