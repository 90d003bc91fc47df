from collections.abc import Iterator

import pytest

from muniment.api.publishing import verifier_key
from tests.archive.packages import Made
from tests.archive.told import instant, told
from tests.stores import SQLITE, backend_at


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A package about ann, from a store of which much is archived and pruned."""
    folder = tmp_path_factory.mktemp("evidence")
    story = told(backend_at(SQLITE, directory=folder / "store", postgres_url=None))
    store = story.store
    heads = [store.tree_head()]
    story.pass_time()
    store.forget(story.facts["ann"][3], mode="redact", reason="asked")
    store.archive()
    store.prune()
    points = [instant(story.times[at]) for at in (4, 9, 12)]
    store.export_evidence(
        folder / "evidence.zip",
        user_id="ann",
        matter="case 4711",
        reason="ordered by the court",
        actor="officer-1",
        points=[*points, (instant(story.times[12]), instant(story.times[4]))],
    )
    key = verifier_key(store.origin, store.public_key)
    yield Made(story, (folder / "evidence.zip").read_bytes(), key, heads)
    store.close()
