"""Things named that are not there."""

from muniment.errors.categories import NotFound
from muniment.errors.wording import moment, shown


class UnknownFactError(NotFound):
    """No event was ever recorded for this fact, or its subject was erased."""

    def __init__(self, fact_id: str) -> None:
        self.fact_id = fact_id
        super().__init__(f"no such fact: {shown(fact_id)}; list facts to see their ids")


class UnknownHoldError(NotFound):
    """No hold of that name was ever placed."""

    def __init__(self, hold_id: str) -> None:
        self.hold_id = hold_id
        super().__init__(
            f"no hold {shown(hold_id)} was ever placed; its placing said its id"
        )


class UnknownSessionError(NotFound):
    """No session of that name was ever started, or its subject was erased."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f"no such session: {shown(session_id)}; start_session gives its id"
        )


class UnknownTurnError(NotFound):
    """Nothing of that name was ever said, or its subject was erased."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        super().__init__(f"no such turn: {shown(turn_id)}; get_turns shows their ids")


class UnknownTransactionError(NotFound):
    """The ledger holds no such transaction."""

    def __init__(self, tx_id: object) -> None:
        self.tx_id = tx_id
        super().__init__(
            f"no such transaction: {shown(tx_id)}; blame and history show them"
        )


class FactNotCurrentError(NotFound):
    """The fact was recorded, but nothing about it is believed now."""

    def __init__(self, fact_id: str, why: str) -> None:
        self.fact_id, self.why = fact_id, why
        super().__init__(
            f"fact {fact_id} is not believed now: {why}; its history still shows it"
        )


class FactRedactedError(NotFound):
    """The content of the fact was made unreadable for good."""

    def __init__(self, fact_id: str) -> None:
        self.fact_id = fact_id
        super().__init__(f"fact {fact_id} was redacted and stays so; remember a new fact")


class ThinnedError(NotFound):
    """
    What was said then was thinned: only the start of each year is kept.

    Either what was known at a time, `asked`, in place of which the times `kept` may be
    asked for; or what a `version` said, which cannot be brought back.
    """

    def __init__(
        self,
        what: str,
        *,
        asked: int | None = None,
        kept: tuple[int, ...] = (),
        version: int | None = None,
    ) -> None:
        self.what, self.asked, self.kept, self.version = what, asked, kept, version
        if asked is None:
            text = _version_thinned(what, version)
        else:
            text = _time_thinned(what, asked, kept)
        super().__init__(text)


class SubjectErasedError(NotFound):
    """The subject was erased while the request was under way."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"the memory of {scope} was erased; write again to start afresh")


class StoreNotFoundError(NotFound):
    """There is no store at the place named."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"no store at {place}; check the name, or make one with: muniment init"
        )


class MissingKeyError(NotFound):
    """The key-encryption key is not where the settings say."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"the key-encryption key is missing: {place}; without it nothing remembered "
            "can be read. Put the key back, or name it with MUNIMENT_KEY_FILE or "
            "MUNIMENT_KEY"
        )


def _time_thinned(what: str, asked: int, kept: tuple[int, ...]) -> str:
    times = " or of ".join(moment(each) for each in kept)
    return f"what was known of {what} at {moment(asked)} was thinned; ask as of {times}"


def _version_thinned(what: str, version: int | None) -> str:
    return (
        f"what version {version} of {what} said was thinned; its history shows which "
        "versions can still be brought back"
    )
