"""Commands that prove: that nothing was altered, and to others what the ledger holds."""

from pathlib import Path
from typing import Annotated

import typer

from muniment.api.cli import terminal
from muniment.api.cli.answers import Consistency, Head, Inclusion, Signer
from muniment.api.cli.asking import Looker
from muniment.api.cli.place import Place
from muniment.api.cli.schedules import Every, pause_of, repeated
from muniment.errors import TamperedError


PublishTo = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PLACE",
        help="Also keep it there: a file, a git checkout, or a URL. May be repeated.",
    ),
]


def verify(
    looker: Looker,
    at: Place,
    *,
    published: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="A file of tree heads that was kept elsewhere. May be repeated.",
        ),
    ] = None,
) -> None:
    """
    Check that what is stored is what was recorded, from the first event on.

    Every stored payload is read and hashed again; the order, the clock, the tree and
    every signed tree head are compared with that, and the timeline with a fresh fold.
    What is wrong is named by position, first the first, and the exit code is 1.

    Whoever can write to the database and has its keys could sign anew what they altered,
    or cut off the end. Only a tree head kept where they cannot write shows that: publish
    with tree-head --publish-to, and name the file here.
    """
    from muniment.api.publishing import notes_in  # noqa: PLC0415 - slow, not for --help

    notes = [note for each in published or () for note in notes_in(each)]
    with looker.asked(at) as store, terminal.counting("checked") as progress:
        found = store.verify(published=notes, progress=progress)
    at.answer(found)
    if not found:
        first = found.findings[0]
        raise TamperedError(first.position, first.kind, first.problem)


def prove(
    position: Annotated[
        int, typer.Argument(metavar="POSITION", help="Of the event, 1 for the first.")
    ],
    looker: Looker,
    at: Place,
    *,
    envelope: Annotated[
        bool,
        typer.Option(
            "--envelope",
            help="With the envelope that it is about, both as one JSON document.",
        ),
    ] = False,
) -> None:
    """
    Print the proof that an event stands in the ledger, for somebody who has no access.

    It is text in the form of c2sp.org/tlog-proof, with a signed tree head: 1.2 KB among a
    million events, of which 640 bytes are hashes. To check it takes the envelope, the
    public key and muniment/ledger/proof.py, and nothing else of this store.
    """
    from muniment.api.publishing import envelope_fields  # noqa: PLC0415 - as above

    with looker.asked(at) as store:
        proven = store.prove(position)
    fields = envelope_fields(proven) if envelope else None
    at.answer_text(Inclusion(proof=proven.text, envelope=fields), as_document=envelope)


def prove_consistency(
    size: Annotated[
        int,
        typer.Argument(metavar="SIZE", help="Of the earlier tree head, its second line."),
    ],
    looker: Looker,
    at: Place,
) -> None:
    """
    Print the proof that the ledger still begins with what an earlier tree head signed.

    Whoever kept that head sees that nothing before it was altered, removed or put in
    between.
    """
    with looker.asked(at) as store:
        proof = store.prove_consistency(size)
    at.answer_text(Consistency(proof=proof))


def tree_head(
    at: Place, looker: Looker, *, publish_to: PublishTo = None, every: Every = None
) -> None:
    """
    Sign what the ledger holds now: its size and one hash over all of it.

    The head is kept here, too, and is the same until something is written. Publish it
    from time to time where this store's administrators cannot write: from then on nobody
    can alter what was there without being found out.
    """
    from muniment.api.publishing import witness_at  # noqa: PLC0415 - as above

    witnesses = [witness_at(each) for each in publish_to or ()]
    pause = pause_of(every)

    def run() -> None:
        with looker.asked(at) as store:
            note = store.tree_head()
            for witness in witnesses:
                witness.publish(note)
        at.answer_text(Head(note=note, published_to=tuple(publish_to or ())))

    repeated(run, pause=pause)


def public_key(at: Place, looker: Looker) -> None:
    """
    Print the key that checks this ledger's signatures, as signed notes name it.

    Give it to those who check, by a way on which nobody can exchange it.
    """
    import base64  # noqa: PLC0415 - as above

    from muniment.api.publishing import verifier_key  # noqa: PLC0415 - as above

    with looker.asked(at) as store:
        origin, key = store.origin, store.public_key
    named = verifier_key(origin, key)
    raw = base64.b64encode(key).decode()
    at.answer_text(Signer(verifier_key=named, origin=origin, public_key=raw))
