"""What every version wrote is read by this one."""

from pathlib import Path

import pyarrow as pa
import pytest

from muniment.archive import schema, segment
from muniment.archive.verifier import main
from muniment.ledger.leaves import LeafHasher, digest_of
from muniment.ledger.merkle import root_of
from tests.archive.golden import FOLDER


ARCHIVES = sorted(FOLDER.glob("archive.v*/manifests/*/*.json"))
EVIDENCE = sorted(FOLDER.glob("evidence.v*"))


def table(root: Path, file: segment.File, expected: pa.Schema) -> pa.Table:
    content = (root / file.name).read_bytes()
    assert segment.sha256(content) == file.sha256
    return segment.decoded(file.name, content, expected)


def test_archives_of_every_version_are_read_and_are_what_was_signed() -> None:
    assert ARCHIVES
    leaves: dict[Path, list[bytes]] = {}

    for manifest in ARCHIVES:
        root = manifest.parents[2]
        found = segment.read_manifest(manifest.name, manifest.read_bytes())
        events = segment.events_of(table(root, found.events, schema.EVENTS))
        rows = segment.transactions_of(table(root, found.transactions, schema.TRANSACTIONS))
        digests = {each.tx_id: digest_of(each) for each in rows}
        hasher = LeafHasher(found.ledger)
        known = leaves.setdefault(root, [])
        known.extend(hasher.leaf(each, digests[each.tx_id]) for each in events)

        assert len(known) == found.leaf_to
        assert root_of(known).hex() == found.root


@pytest.mark.parametrize("folder", EVIDENCE, ids=lambda each: each.name)
def test_packages_of_every_version_are_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = (folder / "key.txt").read_text(encoding="utf-8").strip()
    package, heads = folder / "evidence.zip", folder / "tree_heads.txt"

    code = main([str(package), "--key", key, "--tree-head", str(heads)])

    assert code == 0
    assert "continues 1 tree heads" in capsys.readouterr().out
