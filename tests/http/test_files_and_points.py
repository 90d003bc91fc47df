"""What leaves as a file, what comes back as one, and where each answer was read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from muniment import MemoryStore, Principal, Scope, Settings
from muniment.api.operations import OPERATIONS
from muniment.api.publishing import verifier_key
from muniment.archive.evidence_check import check
from muniment.domain.access import Role
from muniment.errors import (
    InvalidValueError,
    LedgerNotEmptyError,
    OutOfReachError,
    ReasonRequiredError,
)
from tests.access.matrix import IDENTITIES, REASON
from tests.served import client_of, key_of, served


OFFICER, ADMINISTRATOR = IDENTITIES["officer"], IDENTITIES["administrator"]


def person(name: str) -> Principal:
    return Principal(id=name)


def test_an_export_and_evidence_are_downloaded_whole_and_on_record_first(
    store: MemoryStore, url: str, tmp_path: Path
) -> None:
    store.remember_many([f"喝茶 {n}" for n in range(300)], user_id="u-file")
    store.remember("Wu likes jazz", user_id="u-file", category="taste")
    file = tmp_path / "evidence.zip"

    with client_of(store, url, OFFICER) as officer:
        export = officer.export(user_id="u-file", matter="request 7", reason=REASON)
        given = officer.export_evidence(
            file,
            user_id="u-file",
            matter="case 7",
            reason=REASON,
            points=[store.get_all(user_id="u-file").recorded_at],
            third_parties=["Wu"],
        )
        with pytest.raises(InvalidValueError, match="not taken"):
            officer.export_evidence(file, user_id="u-file", matter="m", reason=REASON)
        with pytest.raises(ReasonRequiredError):
            officer.export(user_id="u-file")

    embedded = store.export(user_id="u-file")
    assert export.document.facts == embedded.document.facts
    assert export.document.counts.facts == 301
    assert given.byte_count == file.stat().st_size
    key = verifier_key(store.origin, store.public_key)
    assert check(file.read_bytes(), key=key).proven
    kinds = [each.kind for each in embedded.document.about]
    assert kinds == ["disclosed"] * 3


def test_what_was_exported_comes_back_by_whoever_runs_the_store_with_a_reason(
    store: MemoryStore, url: str, tmp_path: Path
) -> None:
    store.remember("住在杭州 canary-88", user_id="u-moves")
    document = store.export(user_id="u-moves").document
    settings = Settings(
        database_url=f"sqlite:///{tmp_path}/other/ledger.db", embedder="none", upkeep=False
    )

    with MemoryStore.open(settings) as other, served(other) as there:
        with client_of(other, there, ADMINISTRATOR) as administrator:
            with pytest.raises(ReasonRequiredError):
                administrator.import_export(document)
            imported = administrator.import_export(document, reason=REASON)
            again = administrator.import_export(document, reason=REASON)
        with client_of(other, there, person("u-moves")) as subject:
            (fact,) = subject.get_all(user_id="u-moves")
        stranger = client_of(other, there, person("u-2"))
        with stranger, pytest.raises(OutOfReachError):
            stranger.import_export(document)
        looks = other.access_log(user_id="u-moves")

    assert (imported.events > 0, again.events) == (True, 0)
    assert fact.content == "住在杭州 canary-88"
    assert {each.verb for each in looks} == {"import_export"}
    assert "canary-88" not in str(looks)
    here = client_of(store, url, ADMINISTRATOR)
    with here, pytest.raises(LedgerNotEmptyError):
        here.import_export(document, reason=REASON)


def test_the_archive_is_written_and_asked_over_http(store: MemoryStore, url: str) -> None:
    # Whatever the other tests of this module left is archived and gone already.
    store.archive()
    store.prune()
    fact = store.remember("an old thing", user_id="u-archived")
    for number in range(3):
        store.correct(fact.fact_id, content=f"an old thing, corrected {number}")

    with client_of(store, url, ADMINISTRATOR) as administrator:
        plan = administrator.plan_archive()
        done = administrator.archive()
        pruned = administrator.prune()
    with client_of(store, url, OFFICER) as officer:
        sql = "SELECT count(*) AS n, sum(position) AS s, [1, 2] AS l FROM events"
        rows = officer.query_archive(sql, reason=REASON)
        with pytest.raises(InvalidValueError):
            officer.query_archive("COPY events TO 'x'", reason=REASON)
        log = officer.access_log(reason=REASON, limit=2)

    assert plan.last_position == done.last_position
    assert done.segments == 1
    assert pruned == 3
    assert store.get(fact.fact_id).content == "an old thing, corrected 2"
    assert rows.columns == ("n", "s", "l")
    assert rows.rows[0][0] == done.last_position
    assert "query_archive" in {each.verb for each in log}


def test_a_wrong_answer_is_reproduced_by_an_agent_on_this_side(
    store: MemoryStore, url: str
) -> None:
    with client_of(store, url, person("u-case")) as client:
        session = client.start_session(user_id="u-case")
        for number in range(8):
            client.add_turn(session.session_id, role="user", content=f"第 {number} 句: 茶")
        answer = client.add_turn(session.session_id, role="assistant", content="no idea")
        client.remember("likes tea", user_id="u-case")
        made = client.summarize_session(session.session_id, keep=2, force=True)
        client.withdraw_summary(session.session_id, version=made[0].version)
        left = client.get_summaries(session.session_id)
        case = client.reproduce_badcase(
            user_id="u-case",
            timestamp=answer.recorded_at,
            agent=lambda memory, convo, config: f"{len(memory)} {len(convo)} {config}",
        )
        embedded = store.reproduce_badcase(user_id="u-case", timestamp=answer.recorded_at)

    assert len(made) == 1
    assert left == ()
    assert case.result == f"0 {len(embedded.convo)} {{}}"
    assert (case.memory, case.convo) == (embedded.memory, embedded.convo)


OTHERWISE = {
    "diff_memory": {"time_a", "time_b", "valid_at"},
    "list_modified_facts": {"start", "end"},
    "get_receipts": {"start", "end"},
    "get_stray_receipts": {"start", "end"},
    "report_retention": {"start", "end"},
    "get_turns_before": {"timestamp", "as_of"},
    "get_config_as_of": {"timestamp"},
    "reproduce_badcase": {"timestamp"},
    "why": {"at"},
}
"""Reads whose times have names of their own: two points, a span, said by when."""

TIMELESS = {
    **dict.fromkeys(("whoami", "public_key", "origin"), "the same at every time"),
    **dict.fromkeys(("tree_head", "prove", "prove_consistency"), "say sizes and positions"),
    **dict.fromkeys(("verify", "index_progress"), "what is stored now, events or not"),
    "erasure_certificate": "given out once, with its times in it",
    "plan_rollback": "would be now; the plan says its position",
    **dict.fromkeys(
        ("plan_erasure", "plan_retention", "plan_archive"), "would be done now"
    ),
    "query_archive": "the statement says what times it asks for",
}
"""Reads for which a time can mean nothing; ADR 0107."""

READS = [each for each in OPERATIONS if not each.writes]


@pytest.fixture
def pointed(store: MemoryStore, url: str) -> Iterator[httpx.Client]:
    """One who may ask everything of their own memory, of a team and of the ledger."""
    roles = (Role.ADMINISTRATOR, Role.COMPLIANCE_OFFICER)
    who = Principal(id="u-point", memberships=("lead_of:pointed",), roles=roles)
    headers = {
        "Authorization": f"Bearer {key_of(store, who)}",
        "Muniment-Reason": "quarterly review",
    }
    with httpx.Client(base_url=f"{url}/v1", headers=headers) as raw:
        yield raw


def test_every_read_takes_both_times_or_refuses_them(pointed: httpx.Client) -> None:
    wrong = []

    for each in READS:
        taken = {**each.needed, **each.taken}.keys()
        wanted = OTHERWISE.get(each.verb, {"as_of", "valid_at"})
        if each.verb not in TIMELESS:
            if not wanted <= taken:
                wrong.append((each.verb, "neither"))
            continue
        place = each.path.format(position=1, size=1, subject_ref="0" * 20)
        for name in ("as_of", "valid_at"):
            answer = pointed.request(
                each.method, place, params={name: "2026-01-01T00:00:00Z"}
            )
            named = [p["field"] for p in answer.json()["facts"].get("problems", ())]
            if answer.status_code != 422 or f"query.{name}" not in named:
                wrong.append((each.verb, name))

    assert wrong == []


def test_every_read_says_where_it_was_read(
    store: MemoryStore, pointed: httpx.Client
) -> None:
    team = Scope.team("pointed")
    store.remember("tea at four", scope=team)
    fact = store.remember("likes tea", user_id="u-point")
    session = store.start_session(user_id="u-point")
    turn = store.add_turn(session.session_id, role="user", content="I like tea 茶")
    now = turn.recorded_at.isoformat()
    fields: dict[str, Any] = {
        "scope": str(Scope.user("u-point")),
        **dict.fromkeys(("as_of", "timestamp", "time_a", "time_b", "start"), now),
        "query": "tea",
        "expect": "tea",
    }
    path = {
        "fact_id": fact.fact_id,
        "session_id": session.session_id,
        "turn_id": turn.turn_id,
    }
    silent = []

    for each in READS:
        if each.verb in TIMELESS:
            continue
        sent = {name: fields[name] for name in each.needed}
        if each.verb == "list_shared":
            # It is never about a person's memory.
            sent["scope"] = str(team)
        place = each.path.format(**path)
        if each.method == "GET":
            answer = pointed.get(place, params=sent)
        else:
            answer = pointed.post(place, json={**sent, "scope": fields["scope"]})
        assert answer.status_code == 200, (each.verb, answer.text)
        names = ("Muniment-Position", "Muniment-Recorded-At", "Muniment-Valid-At")
        if not all(name in answer.headers for name in names):
            silent.append(each.verb)

    assert silent == []
