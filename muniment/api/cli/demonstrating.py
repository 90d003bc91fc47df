"""The command that tells what the product is for, on a store that can be asked on."""

from typing import TYPE_CHECKING

from muniment.api.cli import terminal
from muniment.api.cli.answers import Told
from muniment.api.cli.place import Place
from muniment.errors import ConfigurationError


if TYPE_CHECKING:
    import muniment


def demo(at: Place) -> None:
    """
    Tell the story of one memory: it grows, is poisoned, gives a wrong answer, is mended.

    It happens on a new store, on a clock of its own, and every claim is checked. The
    store is left behind to be asked: each step names the command to type.
    """
    # Slow to import, and nothing of it is needed to show what commands there are.
    from muniment.api.cli import story, telling  # noqa: PLC0415
    from muniment.api.cli.narrator import Narrator  # noqa: PLC0415

    script = story.script()
    clock = story.ScriptedClock(script[0].happens_at)
    narrator = Narrator(spelled=at.spelled, stderr=not at.is_for_a_person)
    with at.created(clock=clock) as store:
        _refuse_if_used(store)
        telling.tell(script, store, clock, narrator)
        told = Told(
            store=store.place,
            user=story.USER,
            events=len(script),
            checked=narrator.checked,
            try_next=tuple(
                f"{terminal.program()} {each} --user {story.USER}{at.spelled}"
                for each in (
                    "as-of 2026-03-25T10:30:00+08:00",
                    "diff 2026-03-24T00:00:00+08:00 2026-03-25T00:00:00+08:00",
                    "list",
                )
            ),
        )
    at.answer(told)


def _refuse_if_used(store: "muniment.MemoryStore") -> None:
    from muniment.api.cli.story import CUSTOMER  # noqa: PLC0415 - as above

    if store.get_all(scope=CUSTOMER, limit=1).position > 0:
        raise ConfigurationError(
            f"the store at {store.place} holds memories already",
            "name a new directory with --store, the demonstration starts from nothing",
        )
