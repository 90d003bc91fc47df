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
    snapshots: list[int] = []

    for manifest in ARCHIVES:
        root = manifest.parents[2]
        found = segment.read_manifest(manifest.name, manifest.read_bytes())
        events = segment.events_of(table(root, found.events, schema.EVENTS))
        rows = segment.transactions_of(table(root, found.transactions, schema.TRANSACTIONS))
        digests = {each.tx_id: digest_of(each) for each in rows}
        hasher = LeafHasher(found.ledger)
        known = leaves.setdefault(root, [])
        known.extend(hasher.leaf(each, digests[each.tx_id]) for each in events)

        stored = {each.position: each.sealed.state for each in events}
        for each in found.snapshots:
            believed = segment.events_of(table(root, each, schema.EVENTS))
            snapshots.append(len(believed))
            assert all(e.position <= found.leaf_from for e in believed)
            assert not stored.keys() & {e.position for e in believed}

        assert len(known) == found.leaf_to
        assert root_of(known).hex() == found.root
    assert snapshots
    assert min(snapshots) > 0


@pytest.mark.parametrize("folder", EVIDENCE, ids=lambda each: each.name)
def test_packages_of_every_version_are_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = (folder / "key.txt").read_text(encoding="utf-8").strip()
    package, heads = folder / "evidence.zip", folder / "tree_heads.txt"

    roots = [f"--stamp-root={each}" for each in folder.glob("root.pem")]

    code = main([str(package), "--key", key, "--tree-head", str(heads), *roots])

    proven, _, _ = capsys.readouterr().out.partition("NOT PROVEN")
    assert code == 0
    assert "continues 1 tree heads" in proven
    assert ("The manifest existed at 20" in proven) == bool(roots)
