"""
Checks a package of evidence that Muniment made. Needs Python and `cryptography` alone.

    python verify.py package.zip
    python verify.py package.zip --key KEY --tree-head heads.txt --stamp-root root.pem
    python verify.py report.json --key KEY

KEY is the ledger's public key, and heads.txt holds tree heads that the ledger signed, as
you got both from elsewhere: what comes with a package cannot vouch for itself. A time
stamp of a third party, where there is one, is checked up to a certificate in root.pem by
the package `rfc3161-client`, which nothing else needs. A report of retention, as JSON, is
checked by KEY alone. It says what is proven and what is
not, and ends with 0; or it names the first file that is not what it was, and ends with 1.
What cannot be read, or is no key, tree head or certificate, ends it with 2, and so does
what it cannot say, such as into a file on a disk that is full: 1 is said of packages alone.
"""

import argparse
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from muniment.archive.container import AlteredError
from muniment.archive.evidence_check import check
from muniment.archive.heads_check import notes_in, raw_key
from muniment.archive.report_check import check_report


_MALFORMED = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError, struct.error),
)
"""What reading something comes to that is not what it is taken for."""


class UsageError(Exception):
    """What the verifier was given beside the package is not what it asks for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the package that is named, say what was found, and return 0, 1 or 2."""
    parser = argparse.ArgumentParser(
        description="Check a package of evidence that Muniment made.",
        epilog="Needs Python and the package cryptography, and nothing else.",
    )
    parser.add_argument("package", type=Path, help="the zip file, or a report as JSON")
    parser.add_argument("--key", help="the ledger's public key, got by another way")
    parser.add_argument(
        "--tree-head", type=Path, action="append", default=[], help="heads kept elsewhere"
    )
    parser.add_argument(
        "--stamp-root", type=Path, action="append", default=[], help="PEM, of time stamps"
    )
    given = parser.parse_args(arguments)
    try:
        return _answer(given)
    except UsageError as error:
        problem = str(error)
    except (MemoryError, OSError) as error:
        problem = f"nothing was said of the package: {error!r}"
    if sys.stderr is not None:
        sys.stderr.write(f"{parser.prog}: {problem}\n")
    return 2


def _answer(given: argparse.Namespace) -> int:
    """
    Check what was *given*, say what was found, and return 0 or 1.

    Raises:
        UsageError: If something beside the package is not what it is given as.
    """
    raw = _read("the package", given.package)
    heads = [note for each in given.tree_head for note in _heads(each)]
    roots = [_root(each) for each in given.stamp_root]
    _check_key(given.key)
    is_report = _is_report(raw, given.key)
    try:
        report = (
            check_report(raw, key=given.key)
            if is_report
            else check(raw, key=given.key, heads=heads, stamp_roots=roots)
        )
    except AlteredError as error:
        _say(f"REFUSED  {error.file}: {error.problem}")
        return 1
    except _MALFORMED as error:
        # Signed as it is, and still not what such a file looks like.
        _say(f"REFUSED  the file is malformed: {error!r}")
        return 1
    proven, stated = ([f"  - {e}" for e in each] for each in (report.proven, report.stated))
    _say("PROVEN", *proven, "NOT PROVEN", *stated)
    return 0


def _say(*lines: str) -> None:
    """Print *lines*, of which none can look like two, whatever is quoted in it."""
    text = "\n".join(map(_on_one_line, lines))
    if sys.stdout is None:
        return  # It was closed by whoever asks: they want the number alone.
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Whoever read enough went away, such as `head`: that refuses nothing.
        if not isinstance(error, BrokenPipeError):
            raise


def _on_one_line(text: str) -> str:
    return "".join(e if e.isprintable() else ascii(e)[1:-1] for e in text)


def _read(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {path}: {error.strerror}") from error


def _is_report(raw: bytes, key: str | None) -> bool:
    """Whether it is a report as JSON, which names no key that it could be checked by."""
    found = raw.lstrip()[:1] == b"{"
    if found and key is None:
        raise UsageError("a report is checked by the ledger's public key: name --key")
    return found


def _heads(path: Path) -> list[str]:
    try:
        text = _read("a file of --tree-head", path).decode("utf-8-sig")
        return notes_in(text.replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise UsageError(f"--tree-head {path}: it is no text") from error
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"--tree-head {path}: {error}") from error


def _root(path: Path) -> bytes:
    from cryptography import x509  # noqa: PLC0415 - slow to load, and seldom needed

    raw = _read("a file of --stamp-root", path)
    try:
        x509.load_pem_x509_certificates(raw)
    except ValueError as error:
        raise UsageError(f"--stamp-root {path}: it holds no certificate in PEM") from error
    return raw


def _check_key(key: str | None) -> None:
    try:
        if key is not None:
            raw_key(key)
    except ValueError as error:
        raise UsageError(
            f"--key is malformed ({error}); name what `muniment public-key` prints"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
