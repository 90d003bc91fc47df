"""
Checks a package of evidence that Muniment made. Needs Python and `cryptography` alone.

    python verify.py package.zip
    python verify.py package.zip --key KEY --tree-head heads.txt --stamp-root root.pem

KEY is the ledger's public key, and heads.txt holds tree heads that the ledger signed, as
you got both from elsewhere: what comes with a package cannot vouch for itself. A time
stamp of a third party, where there is one, is checked up to a certificate in root.pem by
the package `rfc3161-client`, which nothing else needs. It says what is proven and what is
not, and ends with 0; or it names the first file that is not what it was, and ends with 1.
"""

import argparse
import binascii
import sys
from collections.abc import Sequence
from pathlib import Path

from muniment.archive.container import AlteredError
from muniment.archive.evidence_check import check


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the package that is named, say what was found, and return 0, or 1."""
    parser = argparse.ArgumentParser(
        description="Check a package of evidence that Muniment made.",
        epilog="Needs Python and the package cryptography, and nothing else.",
    )
    parser.add_argument("package", type=Path, help="the zip file")
    parser.add_argument("--key", help="the ledger's public key, got by another way")
    parser.add_argument(
        "--tree-head", type=Path, action="append", default=[], help="heads kept elsewhere"
    )
    parser.add_argument(
        "--stamp-root", type=Path, action="append", default=[], help="PEM, of time stamps"
    )
    given = parser.parse_args(arguments)
    heads = [note for each in given.tree_head for note in _notes(each.read_text("utf-8"))]
    roots = [each.read_bytes() for each in given.stamp_root]
    raw = given.package.read_bytes()
    try:
        report = check(raw, key=given.key, heads=heads, stamp_roots=roots)
    except AlteredError as error:
        sys.stdout.write(f"REFUSED  {error.file}: {error.problem}\n")
        return 1
    except (KeyError, TypeError, ValueError, IndexError, binascii.Error) as error:
        # Signed as it is, and still not what a package looks like.
        sys.stdout.write(f"REFUSED  the package is malformed: {error!r}\n")
        return 1
    for title, sentences in (("PROVEN", report.proven), ("NOT PROVEN", report.stated)):
        sys.stdout.write(f"{title}\n")
        for each in sentences:
            sys.stdout.write(f"  - {each}\n")
    return 0


def _notes(text: str) -> list[str]:
    """Return the signed notes in a file, one after the other."""
    blocks = [each.strip("\n") for each in text.split("\n\n") if each.strip()]
    return [
        f"{one}\n\n{two}\n" for one, two in zip(blocks[::2], blocks[1::2], strict=False)
    ]


if __name__ == "__main__":
    sys.exit(main())
