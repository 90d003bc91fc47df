"""Commands that keep a store: make it, fill it, fold it anew."""

from typing import TYPE_CHECKING, Annotated

import typer

import muniment
from muniment.api.cli import terminal
from muniment.api.cli.answers import FromArchive, Made, Rebuilt, Rotated
from muniment.api.cli.asking import Author, Looker
from muniment.api.cli.options import JsonLines
from muniment.api.cli.place import Place
from muniment.errors import StoreNotFoundError


if TYPE_CHECKING:
    from muniment.api.fields import By


def init(at: Place) -> None:
    """
    Make a store, if there is none.

    A directory gets an SQLite ledger, a vault of keys and, beside them, the key-encryption
    key: whoever has that key can read everything, so keep a copy of it elsewhere.
    """
    try:
        at.opened().close()
        created = False
    except StoreNotFoundError:
        created = True
    with at.created() as store:
        made = Made(store=store.place, ledger=store.settings.ledger, created=created)
    at.answer(made)


def load(
    file: JsonLines,
    author: Author,
    at: Place,
    *,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Leave out bad lines and load the rest."),
    ] = False,
) -> None:
    """
    Remember the fact of each line of a file of JSON Lines.

    A line is an object with content; with user_id, or scope such as team:eng; and with
    any of valid_from, valid_to, source, category, attribute, status, confidence,
    importance, core, entities, metadata, expires_at, session_id, source_turns, actor,
    reason, trigger, claimed_at and idempotency_key.

    Bad lines are named by number. Unless --keep-going is given, every line is checked
    before the first is written, and one bad line means that nothing is.

    Loading the same file again adds nothing, so a load that was interrupted or killed is
    finished by loading again.
    """
    from muniment.api import lines, loading  # noqa: PLC0415 - slow, and not for --help

    given = _of_all_lines(author)
    with at.opened() as store, terminal.progress(file.stat().st_size) as on_progress:
        found = loading.load(
            store,
            file,
            keep_going=keep_going,
            by=given,
            on_progress=on_progress,
            remember_many=author.asking(store).remember_many,
        )
    at.answer(found)
    if found.problems:
        raise lines.load_error(found.problems, loaded=found.facts)


def _of_all_lines(author: Author) -> "By":
    given = author.by
    if given.pop("idempotency_key", None) or given.pop("source_turns", None):
        raise typer.TyperException(
            "--idempotency-key and --turn belong to one fact: say them in its line"
        )
    return given


def rebuild(
    looker: Looker,
    at: Place,
    *,
    from_archive: Annotated[
        bool,
        typer.Option(
            "--from-archive",
            help="Make a ledger that is gone anew; its vault, key and archive are there.",
        ),
    ] = False,
) -> None:
    """
    Replace the timeline by a fresh fold of the ledger; writers wait meanwhile.

    The timeline is derived: every answer is the same before and after. With
    --from-archive the ledger itself is made anew from its archive, with the same
    positions, recorded times and proofs, as far as the archive reaches.
    """
    if from_archive:
        if looker.asker.is_somebody:
            raise typer.TyperException(
                "--from-archive is not done in anybody's name: there is no ledger that "
                "would know them"
            )
        with terminal.counting("events restored") as progress:
            made = muniment.MemoryStore.rebuild_from_archive(
                at.settings(), progress=progress
            )
        # What was erased since is erased again before anything can be asked.
        at.opened().close()
        answer = FromArchive(
            events=made.events, last_position=made.last_position, signed=made.signed
        )
        at.answer(answer)
        return
    with looker.asked(at) as store:
        found = Rebuilt(beliefs=store.rebuild())
    at.answer(found)


def rotate_key(looker: Looker, at: Place) -> None:
    """
    Replace the key-encryption key while the store is in use.

    With a key file, a new key is written beside the old one, every key of the vault is
    wrapped with it, and it is alone in the file at the end: keep a new copy of it. With
    MUNIMENT_KEY, name the old key and a new one there, with a comma between; run this;
    then name the new one alone.

    A rotation that was interrupted goes on when it is run again. The contents are not
    touched, however many there are.
    """
    with looker.asked(at) as store, terminal.counting("keys wrapped anew") as counted:

        def progress(done: int) -> None:
            if counted is not None:
                counted(done, done)

        found = Rotated(keys=store.rotate_key(progress=progress))
    at.answer(found)
