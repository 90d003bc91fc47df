"""Lines of the deletion policy on what says the same, and that nothing is lost by it."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import MemoryStore, RetentionRule, Scope
from muniment.api.retaining import Retirement
from muniment.domain.time import AsOf, Instant
from muniment.instants import moment
from muniment.ledger.records import Origin
from muniment.settings import Settings
from tests import oracle
from tests.stores import Backend, SettableClock


SAME = RetentionRule(merge_alike=1)
ALIKE = RetentionRule(merge_alike=0.95)
USER = "u"
IN_MEMORY = Settings(database_url="memory://", embedder="hashing")
TICK = timedelta(microseconds=1)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(IN_MEMORY) as opened:
        yield opened


def due(store: MemoryStore, *rules: RetentionRule) -> list[tuple[str | None, str | None]]:
    found: Sequence[Retirement] = store.plan_retention(rules or [SAME])
    assert {each.cause for each in found} <= {"merged"}
    return [(each.fact_id, each.survivor) for each in found]


def listed(store: MemoryStore) -> list[str | None]:
    return [each.content for each in store.get_all(user_id=USER)]


def test_f43_the_same_words_are_merged_and_both_stay_known(backend: Backend) -> None:
    with backend.open() as store:
        stays = store.remember("用户 写 Ｐｙｔｈｏｎ。", user_id=USER)
        goes = store.remember("用户写python", user_id=USER)
        others = ["用户不写python", "不，喜欢茶", "不喜欢茶", "writes C", "writes C++"]
        for each in others:
            store.remember(each, user_id=USER)
        assert store.retain([]) == ()
        planned = due(store)

        (receipt,) = store.retain([SAME], actor="keeper", reason="policy 9")

        assert planned == [(goes.fact_id, stays.fact_id)]
        assert receipt.fact_ids == (goes.fact_id,)
        assert listed(store) == [stays.content, *others]
        last = store.get_fact_history(goes.fact_id).versions[-1]
        assert (last.kind, last.survivor, last.action) == (
            "retired",
            stays.fact_id,
            "retain",
        )
        assert (last.actor, last.reason, last.trigger) == (
            "keeper",
            "policy 9",
            "retention",
        )
        known = store.get_memory_as_of(user_id=USER, timestamp=receipt.recorded_at - TICK)
        assert {stays.content, goes.content} <= {each.content for each in known}
        (act,) = store.report_retention([SAME]).acts
        assert (act.cause, act.survivor) == ("merged", stays.fact_id)
        store.undo(receipt.tx_id or 0)
        assert len(listed(store)) == len(others) + 2
        assert store.verify()


def test_f44_what_stays_is_in_every_answer_that_what_goes_was_in(
    store: MemoryStore,
) -> None:
    store.remember("likes tea", user_id=USER, metadata={"access_level": "restricted"})
    store.remember("Likes tea", user_id="v")
    store.remember("likes tea", scope=Scope.team(USER))
    store.remember("likes tea.", user_id=USER, category="drink")
    store.remember("likes TEA", user_id=USER, status="unverified")
    late = store.remember("likes tea!", user_id=USER)
    early = store.remember("LIKES TEA", user_id=USER, valid_from="2020-01-01T00:00:00Z")

    assert due(store) == [(late.fact_id, early.fact_id)]


def test_f45_what_is_alike_is_merged_if_nothing_that_matters_differs(
    store: MemoryStore,
) -> None:
    text = "the user prefers tabs over spaces in the code editor at work"
    stays = store.remember(text, user_id=USER)
    goes = store.remember(text.replace("the code", "the  own code"), user_id=USER)
    for other in ("never prefers", "prefers 2", "prefers Emacs"):
        store.remember(text.replace("prefers", other), user_id=USER)
    assert due(store, ALIKE) == []
    store.search("tabs", user_id=USER)

    assert due(store, ALIKE) == [(goes.fact_id, stays.fact_id)]
    assert due(store) == []


def test_f46_nothing_is_merged_across_a_hold(store: MemoryStore) -> None:
    stays = store.remember("喜欢茶", user_id=USER)
    goes = store.remember("喜欢茶。", user_id=USER)
    store.remember("喜欢 茶", user_id=USER, core=True)
    for number, bound in enumerate((stays.fact_id, goes.fact_id, None)):
        hold_id = f"h-{number}"
        store.place_hold(user_id=USER, matter="案件", fact_id=bound, hold_id=hold_id)
        held = store.report_retention([SAME]).held
        assert (due(store), store.retain([SAME])) == ([], ())
        assert [(e.fact_id, e.survivor, e.holds) for e in held] == [
            (goes.fact_id, stays.fact_id, (hold_id,))
        ]
        store.release_hold(hold_id, user_id=USER)

    assert due(store) == [(goes.fact_id, stays.fact_id)]
    store.freeze(user_id=USER)
    assert due(store) == []


def test_f46_a_copy_is_merged_with_nothing_even_with_what_pretends_to_be_one(
    store: MemoryStore,
) -> None:
    team = Scope.team("t")
    fact = store.remember("喜欢茶", user_id=USER)
    proposal = store.propose_share(fact.fact_id, to=team, actor=USER)
    store.approve(proposal.proposal_id, actor="lead")
    (copy,) = store.get_all(scope=team).items
    # What it was shared from stands in the metadata of a copy, and keeps others apart.
    pretends = store.remember("喜欢茶。", scope=team, metadata=copy.metadata)
    assert pretends.metadata == copy.metadata
    assert due(store) == []

    again = store.remember("喜欢 茶", scope=team, metadata=copy.metadata)

    assert due(store) == [(again.fact_id, pretends.fact_id)]


def test_f47_what_is_apart_again_is_left_apart(store: MemoryStore) -> None:
    store.remember("likes tea", user_id=USER)
    goes = store.remember("Likes tea.", user_id=USER)
    store.retain([SAME])
    store.restore(goes.fact_id)
    third = store.remember("LIKES TEA", user_id=USER)

    assert [each for each, _ in due(store)] == [third.fact_id]


def test_a_write_between_plan_and_merge_comes_first(store: MemoryStore) -> None:
    stays = store.remember("likes tea", user_id=USER)
    store.remember("Likes tea.", user_id=USER)
    retainer = store._retainer([SAME])
    subject = store._ledger.vault.find(Scope.user(USER))
    assert subject is not None
    found = list(retainer._due(subject, held=False))
    store.correct(stays.fact_id, content="hates tea")

    retainer.retire(subject, found, Origin())

    assert listed(store) == ["hates tea", "Likes tea."]


texts = st.sampled_from(["茶", "茶。", "Ｔｅａ", "tea", "no tea"])
steps = st.lists(
    st.tuples(st.sampled_from(["say", "say", "end", "merge", "undo"]), texts), max_size=8
)


@settings(max_examples=settings().max_examples // 10)
@given(steps=steps)
def test_every_point_before_a_merge_is_what_the_oracle_says(
    steps: list[tuple[str, str]],
) -> None:
    clock = SettableClock()
    with MemoryStore.open(IN_MEMORY, clock=clock) as store:
        merged: list[int] = []
        for verb, text in steps:
            clock.now += 1_000
            facts = store.get_all(user_id=USER).items
            match verb:
                case "say":
                    store.remember(text, user_id=USER)
                case "end" if facts:
                    store.end(facts[0].fact_id)
                case "merge":
                    merged += [each.tx_id or 0 for each in store.retain([SAME])]
                    assert store.plan_retention([SAME]) == ()
                case "undo" if merged:
                    store.undo(merged.pop())
        _check_all_points(store)


def _check_all_points(store: MemoryStore) -> None:
    subject = store._ledger.vault.find(Scope.user(USER))
    events = store._ledger.subject_events(subject) if subject else ()
    ledger = [
        oracle.Recorded(
            position=each.position,
            tx_id=each.tx_id,
            recorded_at=each.recorded_at,
            subject=USER,
            fact_id=each.fact_id,
            version=each.version,
            event=each.event,
        )
        for each in events
    ]
    for at in {each.recorded_at for each in events}:
        for then in (at, Instant(at - 1)):
            seen = oracle.snapshot(ledger, USER, AsOf(recorded_at=then, valid_at=then))
            known = store.get_memory_as_of(user_id=USER, timestamp=moment(then))
            assert [each.position for each in known] == [e.said.position for e in seen]
