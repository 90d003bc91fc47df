"""Where signed tree heads are published, so that nobody can rewrite what was signed."""

import http.client
import ipaddress
import subprocess
import urllib.request
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from muniment.errors import InvalidValueError, WitnessUnavailableError


class Witness(Protocol):
    """Somebody outside who keeps signed tree heads."""

    def publish(self, note: str) -> None:
        """
        Keep *note*; keeping it twice does no harm.

        Raises:
            WitnessUnavailableError: If it could not be kept.
        """


class FileWitness:
    """
    Appends notes to a file, with a blank line after each.

    Args:
        path: Best on another machine's disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def publish(self, note: str) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(note + "\n")
        except OSError as error:
            raise WitnessUnavailableError(str(self._path), str(error)) from error

    def notes(self) -> list[str]:
        """Return the notes kept, oldest first."""
        blocks = self._path.read_text(encoding="utf-8").split("\n\n")
        pairs = zip(blocks[::2], blocks[1::2], strict=False)
        return [f"{text}\n\n{signature}\n" for text, signature in pairs]


class GitWitness:
    """
    Commits notes to a git repository.

    Args:
        repository: A checkout; its own pushing is not our business.
        name: Of the file in it.
    """

    def __init__(self, repository: Path, *, name: str = "tree-heads.txt") -> None:
        self._repository = repository
        self._name = name

    def publish(self, note: str) -> None:
        FileWitness(self._repository / self._name).publish(note)
        self._git("add", "--", self._name)
        size = note.split("\n")[1]
        self._git(
            "commit", "--quiet", "--message", f"Tree head of {size}", "--", self._name
        )

    def _git(self, *arguments: str) -> None:
        command = ["git", "-C", str(self._repository), *arguments]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=60)  # noqa: S603
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip() or str(error)
            raise WitnessUnavailableError(
                str(self._repository), f"git {arguments[0]}: {said}"
            ) from error
        except (OSError, subprocess.SubprocessError) as error:
            raise WitnessUnavailableError(str(self._repository), str(error)) from error


class WebhookWitness:
    """
    Posts notes to a URL, as ``text/plain``.

    Args:
        url: ``https://…``, or ``http://…`` on this machine.
        timeout: Seconds to wait for an answer.

    Raises:
        InvalidValueError: If it is another URL: who listens on the way could keep a note
            from the witness, and answer in its place.
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        if not _is_safe(url):
            raise InvalidValueError("a witness", url, "https, or http on this machine")
        self._url = url
        self._timeout = timeout

    def publish(self, note: str) -> None:
        request = urllib.request.Request(  # noqa: S310 - checked when it was made
            self._url,
            data=note.encode(),
            headers={"Content-Type": "text/plain; charset=utf-8"},
            method="POST",
        )
        try:
            with _STRAIGHT.open(request, timeout=self._timeout):
                pass
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise WitnessUnavailableError(self._url, str(error)) from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Takes a redirection for the failure it is: followed, it would post no note."""

    def redirect_request(self, *_args: object, **_rest: object) -> None:
        return None


_STRAIGHT = urllib.request.build_opener(_NoRedirect)


def _is_safe(url: str) -> bool:
    """Whether nobody on the way can read along or answer: https, or this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme != "http":
            return parts.scheme == "https" and bool(host)
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
