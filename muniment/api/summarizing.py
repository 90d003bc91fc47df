"""Working memory: what was said, in fewer words, with where each word is from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Unpack

from muniment.api import inputs, showing
from muniment.api.answers import Receipt
from muniment.api.fields import Deed, KeyedDeed
from muniment.api.points import Point
from muniment.api.replaying import ReplayingStore
from muniment.api.summaries import (
    Piece,
    Summary,
    due,
    next_level,
    of_turns,
    runs,
    summary_of,
)
from muniment.api.talking import session_state
from muniment.api.transacting import receipt, request_body
from muniment.api.turns import REDACTED, Turn
from muniment.api.usable import Usable
from muniment.api.verbs import verb, write_verb
from muniment.domain.session import (
    SessionState,
    SummaryMade,
    SummaryTrigger,
    SummaryWithdrawn,
    summaries_in_use,
)
from muniment.domain.subject import SubjectState
from muniment.errors import (
    InvalidValueError,
    SummarizerUnavailableError,
    UnknownSessionError,
    WordsRedactedError,
)
from muniment.instants import Time
from muniment.ledger.records import SUMMARIES, Origin, RecordedEvent
from muniment.ledger.transaction import Request, Transaction
from muniment.ledger.vault import Subject
from muniment.projections.vectors import chunks
from muniment.recall.summary import (
    Extractive,
    Summarizer,
    essentials,
    problem_with,
)


EVERY_MAX: Final = 1_000

_UNBOUND: Final = SubjectState()

Told = tuple[str, int, str]
"""Session, version and words of a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """
    By whose words, why, and who asked for it.

    Attributes:
        known: The session before anything was read: what was unreadable then.
    """

    maker: Summarizer | None
    trigger: SummaryTrigger | None
    by: Deed
    known: SessionState


class SummarizingStore(ReplayingStore):
    """A store that keeps long conversations within reach."""

    @write_verb
    def summarize_session(
        self,
        session_id: str,
        *,
        every: int = 20,
        keep: int = 6,
        meta_every: int = 5,
        budget_tokens: int | None = None,
        force: bool = False,
        summarizer: Summarizer | None = None,
        **by: Unpack[Deed],
    ) -> tuple[Summary, ...]:
        """
        Put older turns of a session in fewer words, where that is due.

        It is due when *every* turns were not summarised yet, when those take half of
        *budget_tokens*, or when the conversation turned to something else. Words of a
        model that drop over a fifth of the names and numbers, or add one, are not
        taken: then the plain extraction is, and says so in `Summary.refused`.

        Args:
            session_id: The session.
            every: Most turns of one summary; 2 to 1,000.
            keep: The last turns, which stay as they are; 0 to 1,000.
            meta_every: So many summaries make one of the next level; 2 to 1,000.
            budget_tokens: Of the prompt that the turns are to fit in.
            force: Summarise now.
            summarizer: Who makes the words; plain extraction if left out.
            by: See `Deed`.

        Returns:
            What was made; empty when nothing was due.

        Raises:
            SubjectFrozenError: If writes to the subject are refused for now.
            WordsRedactedError: If turns of it were redacted meanwhile.
        """
        inputs.count("every", every, least=2, most=EVERY_MAX)
        inputs.count("meta_every", meta_every, least=2, most=EVERY_MAX)
        known = session_state(self._ledger, inputs.name("session_id", session_id))
        older = self._not_summarised(
            session_id, inputs.count("keep", keep, least=0, most=EVERY_MAX)
        )
        trigger = due(older, every=every, budget=budget_tokens)
        if inputs.flag("force", force):
            trigger = SummaryTrigger.ASKED
        stretches = runs(older) if trigger is not None else []
        pieces = [of_turns(some) for run in stretches for some in chunks(run, every)]
        by_whom = _How(maker=summarizer, trigger=trigger, by=by, known=known)
        return self._all_made(session_id, pieces, by_whom, meta_every)

    @write_verb
    def withdraw_summary(
        self, session_id: str, *, version: int, **by: Unpack[KeyedDeed]
    ) -> None:
        """
        Use a summary no longer, nor what was made of it; its turns can be done anew.

        Args:
            session_id: The session.
            version: Of the summary.
            by: See `KeyedDeed`.

        Raises:
            UnknownSessionError: If there is no such session.
            InvalidValueError: If that version is no summary in use.
        """
        inputs.count("version", version, least=1, most=2**31)
        origin = inputs.origin({**by, "session_id": inputs.name("session_id", session_id)})

        def work(transaction: Transaction) -> None:
            if version not in _in_use(transaction, session_id, transaction.state):
                raise InvalidValueError("version", version, "a summary that is in use")
            event = SummaryWithdrawn(summary_version=version)
            transaction.add_at_end(SUMMARIES + session_id, [event])

        self._ledger.transact(
            Request(
                action="withdraw_summary",
                origin=origin,
                scope=None,
                fact_id=None,
                body=request_body(origin, session_id=session_id, version=version),
                work=work,
                session_id=session_id,
            )
        )

    def _summary_undone(self, tx_id: int, origin: Origin) -> Receipt | None:
        """Withdraw the summary that a transaction made; ``None`` where it made none."""
        row = self._ledger.recorder.transaction(tx_id)
        if row is None or self._ledger.vault.subject(row.subject_ref) is None:
            return None
        # A summary is made in a transaction of its own.
        stamped = self._ledger.recorder.read(after=row.first_position - 1, limit=1)
        (made,) = self._ledger.mapper.opened(stamped, None)
        if not isinstance(made.event, SummaryMade):
            return None

        def work(transaction: Transaction) -> None:
            if made.version in _in_use(transaction, made.session_id, _UNBOUND):
                event = SummaryWithdrawn(summary_version=made.version)
                transaction.add_at_end(made.stream, [event])

        committed = self._ledger.transact(
            Request(
                action="undo",
                origin=origin,
                scope=None,
                fact_id=None,
                body={"tx_id": tx_id},
                work=work,
                session_id=made.session_id,
            )
        )
        position = committed.position
        no_fact = showing.diff_of([], position - len(committed.events), position)
        return replace(receipt(committed), diff=no_fact)

    @verb
    def get_summaries(
        self, session_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> tuple[Summary, ...]:
        """
        Return the summaries of a session in use, by level, then by turn.

        Args:
            session_id: The session.
            as_of: As of this recorded time; now if left out.
            valid_at: Of what had been said by then alone; by *as_of* if left out.

        Raises:
            UnknownSessionError: If there is none, or its subject was erased.
            FutureAsOfError: If *as_of* has not come.
        """
        point = self._lookup.point(as_of, valid_at)
        used = self._used(
            session_id, None if as_of is None else point.position, for_use=as_of is None
        )
        later = self._talker.said_later(session_id, point) if used else ()
        used = {name: each for name, each in used.items() if not _covers(each, later)}
        ordered = sorted(used.values(), key=lambda each: (each.level, each.first_turn))
        return tuple(ordered)

    def _all_made(
        self, session_id: str, pieces: Sequence[Piece], how: _How, meta_every: int
    ) -> tuple[Summary, ...]:
        """Summarise *pieces*, then summaries, level by level, as long as that is due."""
        made = [self._made(session_id, each, how) for each in pieces if each.lines]
        by_count = replace(how, trigger=SummaryTrigger.COUNT)
        while piece := next_level(self._used(session_id), meta_every):
            made.append(self._made(session_id, piece, by_count))
        return tuple(made)

    def _not_summarised(self, session_id: str, keep: int) -> list[Turn]:
        """Return the turns that no summary covers, but for the last ones."""
        turns = sorted(self.get_turns(session_id), key=lambda each: each.number)
        used = self._used(session_id)
        covered = {
            number
            for each in used.values()
            if each.level == 1
            for number in range(each.first_turn, each.last_turn + 1)
        }
        last = turns[-1].number - keep if turns else 0
        return [e for e in turns if e.number <= last and e.number not in covered]

    def _summaries_for(
        self,
        session_id: str | None,
        turns: Sequence[Turn],
        point: Point,
        usable: Usable,
    ) -> list[Told]:
        """Return the summaries of what was said before *turns*, oldest first."""
        if session_id is None and turns:
            session_id = turns[-1].session_id
        row = self._conversation.session(session_id) if session_id else None
        subject = self._ledger.vault.subject(row.subject_ref) if row else None
        if session_id is None or subject is None:
            return []
        state = usable.state(subject.ref)
        used = self._used_by(subject, session_id, point.position, state)
        inner = {source for each in used.values() for source in each.sources}
        shown = [each.number for each in turns if each.session_id == session_id]
        later = self._talker.said_later(session_id, point) if used else ()
        told = [
            each
            for version, each in used.items()
            if version not in inner and each.first_turn < min(shown, default=2**62)
            if not _covers(each, later)
        ]
        told.sort(key=lambda each: each.first_turn)
        return [
            (session_id, each.version, each.content or each.token or REDACTED)
            for each in told
        ]

    def _used(
        self, session_id: str, position: int | None = None, *, for_use: bool = True
    ) -> dict[int, Summary]:
        """Return the summaries in use; *for_use*, without what is withheld now."""
        row = self._conversation.session(inputs.name("session_id", session_id))
        subject = self._ledger.vault.subject(row.subject_ref) if row else None
        if subject is None:
            raise UnknownSessionError(session_id)
        state = self._ledger.subject_state(subject) if for_use else _UNBOUND
        return self._used_by(subject, session_id, position, state)

    def _used_by(
        self,
        subject: Subject,
        session_id: str,
        position: int | None,
        state: SubjectState,
    ) -> dict[int, Summary]:
        stamped = self._ledger.recorder.read_stream(SUMMARIES + session_id)
        known = [e for e in stamped if position is None or e.position <= position]
        events = {e.version: e for e in self._ledger.mapper.opened(known, subject)}
        told = [
            (version, each.event)
            for version, each in events.items()
            if isinstance(each.event, SummaryMade | SummaryWithdrawn)
        ]
        used = summaries_in_use(
            told, withheld=lambda number: state.withholds(session_id, number)
        )
        last = session_state(self._ledger, session_id).last_expired
        return {
            version: summary_of(events[version], expired=made.first_turn <= last)
            for version, made in used.items()
        }

    def _made(self, session_id: str, piece: Piece, how: _How) -> Summary:
        assert how.trigger is not None, "what is summarised is due"
        maker: Summarizer = how.maker or Extractive()
        must_keep = essentials(piece.lines)
        refused = None
        try:
            text = maker.summarize(piece.lines, must_keep)
            if how.maker is not None:
                refused = problem_with(text, piece.lines, must_keep)
        except SummarizerUnavailableError as error:
            text, refused = "", error.problem
        if refused is not None:
            maker = Extractive()
            text = maker.summarize(piece.lines, must_keep)
        event = SummaryMade(
            level=piece.level,
            first_turn=piece.first_turn,
            last_turn=piece.last_turn,
            sources=piece.sources,
            maker=maker.name,
            trigger=how.trigger,
            summary=text,
        )
        return summary_of(self._append_summary(session_id, event, how), refused)

    def _append_summary(
        self,
        session_id: str,
        event: SummaryMade,
        how: _How,
    ) -> RecordedEvent:
        def work(transaction: Transaction) -> None:
            if _has_lost(transaction.session(session_id), how.known):
                # It may have the words in it.
                raise WordsRedactedError(session_id)
            transaction.add_at_end(SUMMARIES + session_id, [event])

        committed = self._ledger.transact(
            Request(
                action="summarize",
                origin=inputs.origin({**how.by, "session_id": session_id}),
                scope=None,
                fact_id=None,
                body={},
                work=work,
                session_id=session_id,
            )
        )
        return committed.events[0]


def _in_use(
    transaction: Transaction, session_id: str, state: SubjectState
) -> dict[int, SummaryMade]:
    """Return the summaries in use under the lock, what is of the same batch included."""
    told = (
        (each.version, each.event) for each in transaction.headers(SUMMARIES + session_id)
    )
    return summaries_in_use(
        (
            (version, event)
            for version, event in told
            if isinstance(event, SummaryMade | SummaryWithdrawn)
        ),
        withheld=lambda number: state.withholds(session_id, number),
    )


def _covers(summary: Summary, turns: Collection[int]) -> bool:
    """Whether one of *turns* is among those that are in *summary*."""
    return any(summary.first_turn <= each <= summary.last_turn for each in turns)


def _has_lost(session: SessionState, known: SessionState) -> bool:
    """Whether turns became unreadable that could be read when it was *known*."""
    redacted = session.redacted or session.redacted_turns - known.redacted_turns
    return bool(redacted) or session.last_expired > known.last_expired
