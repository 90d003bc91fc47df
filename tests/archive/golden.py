"""
Archives, exports and packages of evidence as each version wrote them; never changed.

``python -m tests.archive.golden FOLDER`` writes those of this version, where there are
none yet, from a store that it makes in an empty folder.
"""

import sys
from pathlib import Path

from muniment.api.publishing import verifier_key
from muniment.archive import schema
from muniment.archive.shelf import Directory
from tests.archive.authority import authority
from tests.archive.told import DAY, Told, told
from tests.stores import SQLITE, backend_at


FOLDER = Path(__file__).parents[1] / "golden"
ARCHIVE = f"archive.v{schema.VERSION}"
EVIDENCE, EXPORT = "evidence.v1", "export.v1"
_DAYS = 36_500


def main(folder: Path) -> None:
    with authority(folder / "authority", days=_DAYS) as found:
        backend = backend_at(SQLITE, directory=folder / "store", postgres_url=None)
        story = told(backend)
        _write_archive(story, ARCHIVE)
        _write_evidence(story, EVIDENCE)
        _write_export(story, "ann.json")
        # Into the next year, of which there is a snapshot; stamped; with a conversation.
        story.pass_time(340 * DAY)
        session = story.store.start_session(user_id="ann")
        story.store.add_turn(session_id=session.session_id, role="user", content="我喜欢茶")
        _write_archive(story, f"{ARCHIVE}-years")
        story.store.close()
        with backend.open(clock=story.clock, timestamp_url=found.url) as story.store:
            _write_evidence(story, f"{EVIDENCE}-stamped", root=found.root)
            _write_export(story, "ann-talking.json")


def _write_archive(story: Told, name: str) -> None:
    story.store.archive()
    if not (FOLDER / name).exists():
        shelf = Directory(FOLDER / name)
        for each in Directory(story.place).names(""):
            shelf.put(each, (story.place / each).read_bytes())


def _write_evidence(story: Told, name: str, *, root: Path | None = None) -> None:
    if (FOLDER / name).exists():
        return
    (FOLDER / name).mkdir()
    store, head = story.store, story.store.tree_head()
    store.export_evidence(
        FOLDER / name / "evidence.zip",
        user_id="ann",
        matter="case 4711",
        reason="ordered by the court",
    )
    key = verifier_key(store.origin, store.public_key)
    (FOLDER / name / "key.txt").write_text(f"{key}\n", encoding="utf-8")
    (FOLDER / name / "tree_heads.txt").write_text(f"{head}\n", encoding="utf-8")
    if root is not None:
        (FOLDER / name / "root.pem").write_bytes(root.read_bytes())


def _write_export(story: Told, name: str) -> None:
    if not (FOLDER / EXPORT / name).exists():
        (FOLDER / EXPORT).mkdir(exist_ok=True)
        text = story.store.export(user_id="ann").json()
        (FOLDER / EXPORT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
