"""The cache's connections to Redis: one pool and one client for all threads."""

from concurrent.futures import ThreadPoolExecutor

from django.core.cache import cache, caches

from config.cache import ProcessClient


def test_threads_share_one_client() -> None:
    def client() -> object:
        own = caches["default"]._cache  # type: ignore[attr-defined]
        assert isinstance(own, ProcessClient)
        return own.get_client("name", write=True)

    with ThreadPoolExecutor(4) as threads:
        made = {id(one.result()) for one in [threads.submit(client) for _n in range(8)]}
    assert made == {id(client())}


def test_what_one_thread_keeps_another_finds() -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: cache.set(f"shared:{n}", n, 60), range(50)))
        assert list(threads.map(lambda n: cache.get(f"shared:{n}"), range(50))) == list(range(50))
