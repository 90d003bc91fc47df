"""What agents were given, and how they were set up: receipts and configuration."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Unpack

from muniment.api import inputs
from muniment.api.answers import Receipt
from muniment.api.fields import KeyedDeed
from muniment.api.giving_up import INDEX_GONE
from muniment.api.receipting import ReceiptBook
from muniment.api.receipts import RecallReceipt, receipt_of
from muniment.api.transacting import receipt, request_body
from muniment.api.unsaying import UnsayingStore
from muniment.api.verbs import verb, write_verb
from muniment.domain.events import Event
from muniment.domain.keeping import Records
from muniment.domain.receipt import (
    ConfigurationRecorded,
    ReceiptsLost,
    Setting,
    configuration_of,
)
from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.domain.time import Period
from muniment.errors import InvalidValueError
from muniment.instants import Time, moment, to_instant
from muniment.ledger import codec, tally
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import ACCOUNT, CONFIGURATION, Origin
from muniment.ledger.transaction import Request, Transaction
from muniment.projections.conversation import NO_END


RECEIPTS_MAX = 10_000


class ReceivingStore(UnsayingStore):
    """A store that can say what agents were given, and how they were set up then."""

    _receipts: ReceiptBook

    @write_verb
    def record_config(
        self,
        name: str,
        value: Json,
        **by: Unpack[KeyedDeed],
    ) -> Receipt:
        """
        Keep how agents are set up from now on: a prompt, weights, the name of a model.

        It belongs to the ledger and outlasts every subject, so nothing personal.

        Args:
            name: Of what is set; 1 to 256 characters. Of ``index_gone`` the value is why
                the index of current facts is gone for good: erasures wait for it no more.
            value: Any JSON up to the content limit; ``None`` ends it.
            by: See `KeyedDeed`.

        Returns:
            The receipt; with nothing done where it is so already.
        """
        setting = Setting(name=inputs.name("name", name), value=self._value(value))
        if setting.name == INDEX_GONE and value is not None:
            inputs.reason(value)
        origin = inputs.origin(by)

        def work(transaction: Transaction) -> None:
            known = _settings(enumerate(transaction.stream(CONFIGURATION), 1))
            in_force = configuration_of(known, len(known))
            # Compared as they are kept: to Python 1 and 1.0 and True are the same.
            known_as = codec.canonical(in_force.get(setting.name))
            if known_as != codec.canonical(setting.value):
                event = ConfigurationRecorded(setting=setting)
                transaction.add_to(CONFIGURATION, [event])

        asked = request_body(origin, setting=setting)
        request = _of_nobody("record_config", origin, work, asked)
        return receipt(self._ledger.transact(request))

    @verb
    def get_config_as_of(self, timestamp: Time) -> Mapping[str, Json]:
        """
        Return how agents were set up at a recorded time, by name.

        Raises:
            FutureAsOfError: If *timestamp* has not come.
        """
        position = self._lookup.at(to_instant(timestamp), None).position
        known = settings_of(self._ledger, position)
        return configuration_of(known, len(known))

    @verb
    def get_receipts(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        start: Time | None = None,
        end: Time | None = None,
        limit: int | None = None,
    ) -> tuple[RecallReceipt, ...]:
        """
        Return what was recalled from a memory for agents, oldest first.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            start: Only what was asked for then or later.
            end: Only what was asked for before then.
            limit: Only so many, the newest; all if left out.
        """
        whose = inputs.scope_of(user_id, scope)
        asked = inputs.within(start, end)
        self._receipts.flush()
        self._lookup.now()
        return self.receipts_of(whose, asked, limit=_limit(limit))

    @verb
    def get_stray_receipts(
        self,
        *,
        start: Time | None = None,
        end: Time | None = None,
        limit: int | None = None,
    ) -> tuple[RecallReceipt, ...]:
        """
        Return the receipts of recalls from memories that there were not, oldest first.

        Such as one with a mistyped name, or before anything was remembered. They say that
        an agent was served with nothing and when, not for whom.

        Args:
            start: Only what was asked for then or later.
            end: Only what was asked for before then.
            limit: Only so many, the newest; all if left out.
        """
        self._receipts.flush()
        self._lookup.now()
        nobody = self._ledger.mapper.nobody.ref
        asked = inputs.within(start, end)
        stamped = self._conversation.receipts(nobody, asked, limit=_limit(limit))
        opened = self._ledger.mapper.opened(stamped, None)
        return tuple(receipt_of(None, each) for each in opened)

    @verb
    def get_uses(
        self, fact_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> tuple[datetime, ...]:
        """
        Return when a fact was given to an agent, in order.

        Args:
            fact_id: The fact.
            as_of: Of what receipts were recorded by then; of all if left out. They are
                recorded a moment after what they are of.
            valid_at: When it was given then or before; by *as_of* if left out.

        Raises:
            UnknownFactError: If it was never recorded, or its subject was erased.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("fact_id", fact_id)
        self._receipts.flush()
        point = self._lookup.point(as_of, valid_at)
        # That a fact was never given to anybody is no answer about one there never was.
        self._ledger.fact(fact_id)
        until = point.as_of.valid_at
        found = self._conversation.uses([fact_id], until, position=point.position)
        return tuple(moment(each) for each in found.get(fact_id, ()))

    @verb
    def count_lost_receipts(
        self, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> int:
        """
        Return how many receipts killed processes lost, at most.

        Args:
            as_of: As far as it was known then; now if left out.
            valid_at: Likewise; the earlier of both times counts.

        Raises:
            FutureAsOfError: If *as_of* has not come.
        """
        position = self._lookup.place(self._lookup.point(as_of, valid_at))
        stamped = self._ledger.recorder.read_stream(ACCOUNT)
        known = [each for each in stamped if each.position <= position]
        events = self._ledger.mapper.opened(known, None)
        return sum(
            each.event.count for each in events if isinstance(each.event, ReceiptsLost)
        )

    def flush_receipts(self) -> None:
        """Return once every receipt so far is durable; they become so by themselves."""
        self._receipts.flush()

    def _settle(self) -> None:
        self._receipts.flush()

    def receipts_of(
        self, scope: Scope, asked: Period = NO_END, *, limit: int | None = None
    ) -> tuple[RecallReceipt, ...]:
        """Return the receipts of a subject asked for within a period, oldest first."""
        self._receipts.flush()
        subject = self._ledger.vault.find(scope)
        if subject is None:
            return ()
        stamped = self._conversation.receipts(subject.ref, asked, limit=limit)
        opened = self._ledger.mapper.opened(stamped, subject)
        state = self._ledger.subject_state(subject)
        if self._ledger.was_erased(subject):
            # The keys of an erased subject go before its rows.
            return ()
        until = state.expired_until(Records.RECEIPT)
        return tuple(
            receipt_of(subject, each, expired=each.recorded_at < until) for each in opened
        )

    def _value(self, value: object) -> Json:
        plain = inputs.plain("value", value)
        size = len(codec.canonical(plain))
        if size > self._settings.content_limit:
            expected = f"at most {self._settings.content_limit:,} bytes of JSON"
            raise InvalidValueError("value", f"{size:,} bytes", expected)
        return plain


def _limit(limit: int | None) -> int | None:
    if limit is None:
        return None
    return inputs.count("limit", limit, least=1, most=RECEIPTS_MAX)


def settings_of(ledger: Ledger, position: int) -> dict[int, Setting]:
    """Return by version what was recorded of the configuration up to *position*."""
    stamped = ledger.recorder.read_stream(CONFIGURATION)
    known = [each for each in stamped if each.position <= position]
    opened = ledger.mapper.opened(known, None)
    return _settings((each.version, each.event) for each in opened)


def _settings(events: Iterable[tuple[int, Event]]) -> dict[int, Setting]:
    return {
        version: event.setting
        for version, event in events
        if isinstance(event, ConfigurationRecorded) and event.setting
    }


def _of_nobody(
    action: str,
    origin: Origin,
    work: Callable[[Transaction], None],
    body: Mapping[str, object],
) -> Request:
    """Return a request that is about no memory."""
    return Request(
        action=action, origin=origin, scope=None, fact_id=None, body=body, work=work
    )


def tell_what_was_lost(ledger: Ledger, directory: Path, name: str) -> None:
    """Record how many receipts were lost by processes that are dead."""
    for count, tick_off in tally.lost(directory, name):
        if count:
            event = ReceiptsLost(count=count)
            work = partial(Transaction.add_to, stream=ACCOUNT, events=[event])
            ledger.transact(_of_nobody("count_lost_receipts", Origin(), work, {}))
        tick_off()
