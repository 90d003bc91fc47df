"""The archive in an object store: a server that speaks S3, asked over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from moto.server import ThreadedMotoServer

from muniment import MemoryStore
from muniment.archive.shelf import shelf_at
from muniment.errors import ArchiveUnavailableError
from tests.archive.told import lose_ledger, told
from tests.stores import SQLITE, backend_at


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Give the address of an object store with a bucket named ``cold``."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    httpx.put(f"http://{host}:{port}/cold").raise_for_status()
    yield f"http://{host}:{port}"
    server.stop()


def url_of(bucket: str, endpoint: str) -> str:
    return f"s3://any:any@{bucket}/archive?endpoint_override={endpoint}&region=us-east-1"


def test_an_object_store_holds_what_a_directory_does(endpoint: str, tmp_path: Path) -> None:
    url = url_of("cold", endpoint)
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    story = told(backend)
    story.store.close()
    with backend.open(clock=story.clock, archive_url=url) as story.store:
        before = story.answers()
        written = story.store.archive()
        gone = story.store.prune()

        assert (written.events, gone > 5) == (21, True)
        assert story.answers() == before
        assert story.store.verify()
        counted = story.store.query_archive("SELECT count(*) FROM events")
        assert counted.rows == ((21,),)
        assert story.store.archive().events == 0
    names = shelf_at(url).names("")
    assert len(names) == 3 * written.segments
    lose_ledger(story)

    restored = MemoryStore.rebuild_from_archive(backend.settings(archive_url=url))

    assert restored.events == 21
    with backend.open(clock=story.clock, archive_url=url) as story.store:
        assert story.answers() == before


def test_a_bucket_that_is_not_there_is_named_and_nothing_is_lost(
    endpoint: str, tmp_path: Path
) -> None:
    url = url_of("nowhere", endpoint)
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    with backend.open(archive_url=url) as store:
        store.remember("a fact", user_id="ann")

        with pytest.raises(ArchiveUnavailableError, match="nowhere"):
            store.archive()

        assert store.plan_archive().events == 1
        assert len(store.get_all(user_id="ann").items) == 1
