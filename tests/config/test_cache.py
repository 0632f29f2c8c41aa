"""The cache's connections to Redis: one pool and one client for all threads."""

from concurrent.futures import ThreadPoolExecutor

from django.core.cache import caches

from config.cache import ProcessClient


def test_threads_share_one_client() -> None:
    def client() -> object:
        own = caches["default"]._cache  # type: ignore[attr-defined]
        assert isinstance(own, ProcessClient)
        return own.get_client("name", write=True)

    first = client()
    with ThreadPoolExecutor(4) as threads:
        clients = {id(future.result()) for future in [threads.submit(client) for _n in range(8)]}
    assert clients == {id(first)}
