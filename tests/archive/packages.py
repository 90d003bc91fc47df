"""A package of evidence, who made it, and how they would make another."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.archive import package
from muniment.archive.container import contents
from muniment.archive.evidence_check import Report, check
from muniment.ledger.attesting import Attestor
from tests.archive.told import Told


@dataclass
class Made:
    """A package, who made it, and what was published before."""

    story: Told
    raw: bytes
    key: str
    heads: list[str]

    @property
    def files(self) -> dict[str, bytes]:
        return contents(self.raw)

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(each) for each in self.files[name].splitlines()]


def report(raw: bytes, made: Made) -> Report:
    return check(raw, key=made.key, heads=made.heads)


def signed_again(made: Made, changes: Mapping[str, bytes]) -> bytes:
    """Return the package as the store itself would make it, with other files."""
    files = {**made.files, **changes}
    fields = json.loads(files.pop("manifest.json"))
    files.pop("signature.txt")
    return package.signed_package(files, fields, Attestor(made.story.store._ledger))
