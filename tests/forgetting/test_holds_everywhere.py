"""A memory under a hold goes through everything that could take content from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment import MemoryStore, Principal, RetentionRule
from muniment.api.cli import main
from muniment.client import Client
from muniment.domain.access import Role
from muniment.domain.keeping import DAY_US, Records
from muniment.domain.policy import YEAR_US
from muniment.domain.time import Instant
from muniment.errors import LedgerNotEmptyError, UnknownFactError
from muniment.instants import moment
from tests.forgetting.traces import Backup
from tests.served import client_of, served
from tests.stores import NEW_YEAR, SECOND, SQLITE, SettableClock, backend_at


SAID = ["CANARY eins", "CANARY zwei", "CANARY drei"]
ASKED = "CANARY vier"
"""What is said in a turn, asked in a recall, and why an officer looked."""

SIX_YEARS_US = 2_192 * DAY_US
ALL_RULES = [
    RetentionRule(older_than_us=SECOND),
    RetentionRule(unused_for_us=SECOND),
    RetentionRule(importance_below=1.0),
    RetentionRule(thin_older_than_us=YEAR_US),
    *(RetentionRule(records=each, older_than_us=SIX_YEARS_US) for each in Records),
]
OFFICER = Principal(id="officer-1", roles=(Role.COMPLIANCE_OFFICER, Role.ADMINISTRATOR))
WHY = "asked by the person"


class Told:
    """A store in a directory that was told long ago what users say; its clock goes on."""

    def __init__(self, directory: Path, *users: str) -> None:
        self.backend = backend_at(SQLITE, directory=directory, postgres_url=None)
        self.clock = SettableClock(NEW_YEAR - 7 * YEAR_US + SECOND)
        self.store = self.open()
        self.facts = {user: self._tell(user) for user in users}

    def _tell(self, user: str) -> str:
        expires_at = "2025-06-01T00:00:00Z"
        fact = self.store.remember(SAID[0], user_id=user, expires_at=expires_at)
        for content in SAID[1:]:
            self.tick()
            self.store.update(fact.fact_id, content=content)
        session_id = self.store.start_session(user_id=user).session_id
        self.store.add_turn(session_id, role="user", content=ASKED)
        self.store.search(ASKED, user_id=user)
        self.store.flush_receipts()
        self.store.acting_as(OFFICER).get_all(user_id=user, reason=ASKED)
        self.tick()
        return fact.fact_id

    def open(self) -> MemoryStore:
        return self.backend.open(clock=self.clock, embedder="none")

    def tick(self) -> None:
        self.clock.now += SECOND

    def said(self, user: str) -> list[str | None]:
        """Return what a user said, as far as it can be read."""
        try:
            history = self.store.get_fact_history(self.facts[user])
        except UnknownFactError:
            return []
        return [e.content for e in history if e.kind in ("asserted", "revised")]

    def recorded(self, user: str) -> list[str | None]:
        """Return what was said, asked and looked for long ago, as far as it can be read."""
        # Read past what is withheld for now: that is kept all the same.
        before = moment(Instant(NEW_YEAR - 6 * YEAR_US))
        store, receipts = self.store, self.store.get_receipts(user_id=user, end=before)
        turns = store.get_turns_before(user_id=user, timestamp=before)
        looks = store.access_log(user_id=user)
        return [
            *(each.content for each in turns),
            *(each.query for each in receipts),
            *(each.reason for each in looks if each.recorded_at < before),
        ]

    @contextmanager
    def service(self) -> Iterator[Client]:
        with served(self.store) as url, client_of(self.store, url, OFFICER) as client:
            yield client

    def command(self, *words: str) -> None:
        assert main([*words, "--yes", "--store", str(self.backend.directory)]) == 0


Take = Callable[[Told, str], object]


def redact(told: Told, user: str) -> None:
    told.store.forget(told.facts[user], mode="redact")


def erase(told: Told, user: str) -> None:
    told.store.erase(user_id=user, reason=WHY)


def retain(told: Told, user: str) -> None:
    """Everything that retires or thins, and its own expiry."""
    told.store.retain(ALL_RULES, user_id=user)


def retain_all(told: Told, _user: str) -> None:
    told.store.retain(ALL_RULES)


def redact_by_http(told: Told, user: str) -> None:
    with told.service() as client:
        client.forget(told.facts[user], mode="redact", reason=WHY)


def erase_by_http(told: Told, user: str) -> None:
    with told.service() as client:
        client.erase(user_id=user, reason=WHY)


def retain_by_http(told: Told, user: str) -> None:
    with told.service() as client:
        client.retain(ALL_RULES, user_id=user, reason=WHY)


def redact_by_command(told: Told, user: str) -> None:
    told.command("forget", told.facts[user], "--redact")


def erase_by_command(told: Told, user: str) -> None:
    told.command("erase", "--user", user, "--reason", WHY)


def retain_records_by_command(told: Told, user: str) -> None:
    for kind in (Records.RECEIPT, Records.LOOK, Records.TURN):
        told.command("retain", "--user", user, "--records", kind, "--older-than", "2192d")


def retain_by_command(told: Told, user: str) -> None:
    told.command("retain", "--user", user, "--thin-older-than", "365d")


TAKES: dict[str, Take] = {
    each.__name__: each
    for each in (
        *(retain, redact, erase),
        *(retain_by_http, redact_by_http, erase_by_http),
        *(retain_by_command, redact_by_command, erase_by_command),
        retain_records_by_command,
        retain_all,
    )
}
"""By name: each path by which what a user said goes for good, where no hold is."""

OF_FACTS = {redact, redact_by_http, redact_by_command, retain_by_command}
OF_RECORDS = {retain_records_by_command}
"""Those that take nothing but a fact, or nothing but records; the others take both."""


@pytest.mark.slow
def test_each_path_takes_content_that_no_hold_binds(tmp_path: Path) -> None:
    told = Told(tmp_path / "store", *TAKES)
    told.clock.now = NEW_YEAR

    for user, take in TAKES.items():
        assert (told.said(user), told.recorded(user)) == (SAID, [ASKED] * 3)
        take(told, user)
        assert (SAID[0] in told.said(user)) == (take in OF_RECORDS), user
        left = [ASKED] * 3 if take in OF_FACTS else []
        assert [each for each in told.recorded(user) if each] == left, user
    told.store.close()


class Held(Told):
    """The same with one memory, which is under a hold."""

    def __init__(self, directory: Path, *, whole: bool) -> None:
        super().__init__(directory, "ann")
        self.fact_id = self.facts["ann"]
        bound = None if whole else self.fact_id
        self.store.place_hold(user_id="ann", fact_id=bound, matter="case", hold_id="h-1")
        self.backup = Backup.of(self.backend, directory.with_name("backup.db"))
        self.clock.now = NEW_YEAR

    def check(self) -> None:
        """Check that nothing went that was said, and that the hold is still there."""
        assert (self.said("ann"), self.recorded("ann")) == (SAID, [ASKED] * 3)
        assert [each.hold_id for each in self.store.list_holds(user_id="ann")] == ["h-1"]
        assert self.store.verify()
        self.tick()


def by_what_may_be_done(held: Held) -> None:
    """What a hold does not stop, since nothing is lost by it."""
    store, fact_id = held.store, held.fact_id
    store.forget(fact_id)
    store.restore(fact_id)
    store.merge(fact_id, into=store.remember("the same", user_id="ann").fact_id)
    store.rollback_fact(fact_id, to_version=0)


def by_maintenance(held: Held) -> None:
    held.store.archive()
    held.store.prune()
    held.check()
    held.store.rebuild()
    held.store.rotate_key()
    held.store.catch_up()


def by_import_over_it(held: Held) -> None:
    exported = held.store.export(user_id="ann")
    with pytest.raises(LedgerNotEmptyError):
        held.store.import_export(exported.document)


def by_an_older_backup(held: Held) -> None:
    """An older ledger put back, in which the hold was placed."""
    held.store.close()
    held.backup.restore()
    held.store = held.open()
    erase(held, "ann")


def by_a_restored_archive(held: Held) -> None:
    """A ledger made anew from its archive, from before the older one was put back."""
    held.store.close()
    for file in held.backend.directory.glob("ledger.db*"):
        file.unlink()
    MemoryStore.rebuild_from_archive(held.backend.settings())
    held.store = held.open()
    erase(held, "ann")


WAYS = (
    by_what_may_be_done,
    by_maintenance,
    by_import_over_it,
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

    for take in TAKES.values():
        take(held, "ann")
        held.check()
    for way in WAYS:
        way(held)
        held.check()
    held.store.release_hold("h-1", user_id="ann")

    with pytest.raises(UnknownFactError):
        held.store.get_fact_history(held.fact_id)
    assert held.store.verify()
    held.store.close()
