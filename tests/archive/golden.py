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
from tests.archive.told import told
from tests.stores import SQLITE, backend_at


FOLDER = Path(__file__).parents[1] / "golden"
ARCHIVE = FOLDER / f"archive.v{schema.VERSION}"
EVIDENCE = FOLDER / "evidence.v1"
EXPORT = FOLDER / "export.v1"


def main(folder: Path) -> None:
    story = told(backend_at(SQLITE, directory=folder / "store", postgres_url=None))
    store = story.store
    head = store.tree_head()
    store.archive()
    if not ARCHIVE.exists():
        shelf = Directory(ARCHIVE)
        for name in Directory(story.place).names(""):
            shelf.put(name, (story.place / name).read_bytes())
    if not EVIDENCE.exists():
        EVIDENCE.mkdir()
        store.export_evidence(
            EVIDENCE / "evidence.zip",
            user_id="ann",
            matter="case 4711",
            reason="ordered by the court",
        )
        key = verifier_key(store.origin, store.public_key)
        (EVIDENCE / "key.txt").write_text(f"{key}\n", encoding="utf-8")
        (EVIDENCE / "tree_heads.txt").write_text(f"{head}\n", encoding="utf-8")
    if not EXPORT.exists():
        EXPORT.mkdir()
        text = store.export(user_id="ann").json()
        (EXPORT / "ann.json").write_text(text, encoding="utf-8")
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
