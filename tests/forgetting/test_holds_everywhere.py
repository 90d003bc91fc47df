"""A memory under a hold goes through everything that could take content from it."""

from datetime import datetime
from pathlib import Path

import pytest

from muniment import MemoryStore, Principal, RetentionRule
from muniment.api.cli import main
from muniment.domain.access import Role
from muniment.domain.keeping import DAY_US, LEAST_DAYS, Records
from muniment.domain.policy import YEAR_US
from muniment.domain.time import Instant
from muniment.errors import LedgerNotEmptyError, UnknownFactError
from muniment.instants import moment
from tests.forgetting.traces import Backup
from tests.served import client_of, served
from tests.stores import NEW_YEAR, SECOND, SQLITE, SettableClock, backend_at


USER = "ann"
SAID = ["CANARY eins", "CANARY zwei", "CANARY drei"]
ALL_RULES = [
    RetentionRule(older_than_us=SECOND),
    RetentionRule(unused_for_us=SECOND),
    RetentionRule(importance_below=1.0),
    RetentionRule(thin_older_than_us=YEAR_US),
    *(
        RetentionRule(records=kind, older_than_us=LEAST_DAYS.get(kind, 1) * DAY_US)
        for kind in Records
    ),
]
OFFICER = Principal(id="officer-1", roles=(Role.COMPLIANCE_OFFICER, Role.ADMINISTRATOR))


class Held:
    """A store in a directory with one memory under a hold; its clock goes on."""

    def __init__(self, directory: Path, *, whole: bool) -> None:
        self.backend = backend_at(SQLITE, directory=directory, postgres_url=None)
        self.clock = SettableClock(NEW_YEAR - 5 * YEAR_US + SECOND)
        self.store = self.open()
        self.other = self.store.remember("the same", user_id=USER).fact_id
        expires_at = "2025-06-01T00:00:00Z"
        fact = self.store.remember(SAID[0], user_id=USER, expires_at=expires_at)
        self.fact_id = fact.fact_id
        for content in SAID[1:]:
            self.tick()
            self.store.update(self.fact_id, content=content)
        self.tick()
        self.session_id = self.store.start_session(user_id=USER).session_id
        self.store.add_turn(self.session_id, role="user", content=SAID[0])
        self.store.search(SAID[0], user_id=USER)
        self.store.acting_as(OFFICER).get_all(user_id=USER, reason=SAID[0])
        self.store.flush_receipts()
        self.tick()
        bound = None if whole else self.fact_id
        self.store.place_hold(user_id=USER, fact_id=bound, matter="case", hold_id="h-1")
        self.backup = Backup.of(self.backend, directory.with_name("backup.db"))
        self.clock.now = NEW_YEAR

    def store_time(self) -> datetime:
        return moment(Instant(self.clock.now))

    def open(self) -> MemoryStore:
        return self.backend.open(clock=self.clock, embedder="none")

    def tick(self) -> None:
        self.clock.now += SECOND

    def check(self) -> None:
        """Check that nothing went that was said, and that the hold is still there."""
        said = [
            each.content
            for each in self.store.get_fact_history(self.fact_id)
            if each.kind in ("asserted", "revised")
        ]
        assert said == SAID
        (turn,) = self.store.get_turns(self.session_id, as_of=self.store_time())
        looks = [each.reason for each in self.store.access_log(user_id=USER)]
        receipts = [each.query for each in self.store.get_receipts(user_id=USER)]
        assert (turn.content, receipts, looks[-1]) == (SAID[0], [SAID[0]], SAID[0])
        assert [each.hold_id for each in self.store.list_holds(user_id=USER)] == ["h-1"]
        assert self.store.verify()
        self.tick()


def by_rule(held: Held) -> None:
    """Everything that retires or thins, and its own expiry: of one, and of everybody."""
    held.store.retain(ALL_RULES, user_id=USER)
    held.check()
    held.store.retain(ALL_RULES)


def by_what_may_be_done(held: Held) -> None:
    """What a hold does not stop, since nothing is lost by it."""
    store, fact_id = held.store, held.fact_id
    store.forget(fact_id)
    store.restore(fact_id)
    store.merge(fact_id, into=held.other)
    store.rollback_fact(fact_id, to_version=0)


def by_request(held: Held) -> None:
    assert held.store.forget(held.fact_id, mode="redact").deferred
    held.check()
    assert held.store.erase(user_id=USER, reason="asked").status == "DEFERRED"


def by_maintenance(held: Held) -> None:
    held.store.archive()
    held.store.prune()
    held.check()
    held.store.rebuild()
    held.store.rotate_key()
    held.store.catch_up()


def by_import_over_it(held: Held) -> None:
    exported = held.store.export(user_id=USER)
    with pytest.raises(LedgerNotEmptyError):
        held.store.import_export(exported.document)


def by_http(held: Held) -> None:
    why = "asked by the person"
    with (
        served(held.store) as url,
        client_of(held.store, url, OFFICER) as client,
    ):
        client.forget(held.fact_id, mode="redact", reason=why)
        client.erase(user_id=USER, reason=why)
        client.retain(ALL_RULES, reason=why)


def by_command(held: Held) -> None:
    store = ["--store", str(held.backend.directory)]
    for command in (
        ["forget", held.fact_id, "--redact", "--yes"],
        ["erase", "--user", USER, "--reason", "asked", "--yes"],
        ["retain", "--older-than", "1s", "--yes"],
        ["retain", "--thin-older-than", "365d", "--yes"],
        *(
            ["retain", "--records", kind, "--older-than", "2192d", "--yes"]
            for kind in Records
        ),
    ):
        assert main([*command, *store]) == 0


def by_an_older_backup(held: Held) -> None:
    """An older ledger put back, in which the hold was placed."""
    held.store.close()
    held.backup.restore()
    held.store = held.open()
    held.store.erase(user_id=USER, reason="asked")


def by_a_restored_archive(held: Held) -> None:
    """A ledger made anew from its archive, from before the older one was put back."""
    held.store.close()
    for file in held.backend.directory.glob("ledger.db*"):
        file.unlink()
    MemoryStore.rebuild_from_archive(held.backend.settings())
    held.store = held.open()
    held.store.erase(user_id=USER, reason="asked")


WAYS = (
    by_rule,
    by_what_may_be_done,
    by_request,
    by_maintenance,
    by_import_over_it,
    by_http,
    by_command,
    by_an_older_backup,
    by_a_restored_archive,
)


# C10, S11 (areev#278, #279). That a hold between plan and execution wins is C9.
@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False], ids=["subject", "fact"])
def test_a_hold_binds_every_path_by_which_content_could_go(
    tmp_path: Path, *, whole: bool
) -> None:
    held = Held(tmp_path / "store", whole=whole)

    for way in WAYS:
        way(held)
        held.check()
    held.store.release_hold("h-1", user_id=USER)

    with pytest.raises(UnknownFactError):
        held.store.get_fact_history(held.fact_id)
    assert held.store.verify()
    held.store.close()
