"""Who tells the demonstration: prints it, and checks each thing it claims."""

from typing import TYPE_CHECKING, TypeVar

from muniment.api.cli import rendering, terminal
from muniment.api.cli.story import StoryError
from muniment.api.cli.tables import words


if TYPE_CHECKING:
    from muniment.api.cli.answers import Answer

T = TypeVar("T")


class Narrator:
    """
    Tells a story to a person, or beside a pipe.

    Attributes:
        checked: How many claims were compared with what the store says.
    """

    def __init__(self, *, spelled: str, stderr: bool) -> None:
        self.checked = 0
        self._spelled = spelled
        self._console = terminal.console(stderr=stderr)

    def chapter(self, title: str) -> None:
        self._console.print()
        self._console.print(words(title, "bold underline"))

    def say(self, text: str) -> None:
        self._console.print(words(text))

    def command(self, arguments: str) -> None:
        """Show what a reader could type to do the same."""
        line = words(f"$ {terminal.program()} {arguments}{self._spelled}", "bold cyan")
        self._console.print()
        # Not broken, so that it can be copied.
        self._console.print(line, soft_wrap=True)

    def show(self, answer: "Answer") -> None:
        self._console.print(rendering.rendered(answer))

    def expect(self, found: T, wanted: T, claim: str) -> T:
        """
        Say *claim*, if it is so.

        Raises:
            StoryError: If *found* is not *wanted*.
        """
        if found != wanted:
            raise StoryError(f"{claim}: expected {wanted!r}, the store says {found!r}")
        self.checked += 1
        self.say(f"✓ {claim}")
        return found
