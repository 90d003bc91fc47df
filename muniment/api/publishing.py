"""Where tree heads are published, by the name of the place; and who signed them."""

import base64
from pathlib import Path

from muniment.errors import InvalidValueError
from muniment.ledger.attesting import InclusionProof
from muniment.ledger.proof import key_id
from muniment.ledger.witness import FileWitness, GitWitness, WebhookWitness, Witness


_ED25519 = b"\x01"


def witness_at(place: str) -> Witness:
    """
    Return the witness that *place* names: a URL, a checkout of git, or else a file.

    Raises:
        InvalidValueError: If it is a directory that is no checkout.
    """
    if place.startswith(("https://", "http://")):
        return WebhookWitness(place)
    path = Path(place)
    if not path.is_dir():
        return FileWitness(path)
    # In a worktree of git it is a file.
    if not (path / ".git").exists():
        raise InvalidValueError("a witness", place, "a file, a git checkout or a URL")
    return GitWitness(path)


def notes_in(file: Path) -> list[str]:
    """Return the signed tree heads that a file of a witness holds, oldest first."""
    return FileWitness(file).notes()


def verifier_key(origin: str, public_key: bytes) -> str:
    """Return the key by which others check signed notes, as they write it down."""
    kind_and_key = base64.b64encode(_ED25519 + public_key).decode()
    return f"{origin}+{key_id(origin, public_key).hex()}+{kind_and_key}"


def envelope_fields(proven: InclusionProof) -> dict[str, str | int]:
    """Return an envelope as JSON types: what is bytes in base64, the rest as it is."""
    fields: dict[str, str | int] = {}
    for name in type(proven.envelope).__dataclass_fields__:
        value = getattr(proven.envelope, name)
        is_bytes = isinstance(value, bytes)
        fields[name] = base64.b64encode(value).decode() if is_bytes else value
    return fields
