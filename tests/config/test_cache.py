"""The cache's connections to Redis: one pool and one client for all threads."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.cache import caches

from config.cache import OUTAGE, Cache, ProcessClient


def test_threads_share_one_client() -> None:
    def client() -> object:
        own = caches["default"]._cache  # type: ignore[attr-defined]
        assert isinstance(own, ProcessClient)
        return own.get_client("name", write=True)

    first = client()
    with ThreadPoolExecutor(4) as threads:
        clients = {id(future.result()) for future in [threads.submit(client) for _n in range(8)]}
    assert clients == {id(first)}


def test_the_memory_of_the_process_is_used_while_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OUTAGE, "until", 0.0)
    away = Cache("redis://127.0.0.1:1/0", {"OPTIONS": {"socket_connect_timeout": 1}})
    away.set("name", 1, 60)
    assert away.add("name", 2, 60) is False
    assert away.incr("name") == 2
    assert away.get_many(["name", "other"]) == {"name": 2}
    assert away.has_key("name")
    away.delete("name")
    assert away.get("name", "nothing") == "nothing"
    assert OUTAGE.lasts


def test_redis_is_asked_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OUTAGE, "until", time.monotonic() + 60)
    caches["default"].set("asked-again", "in memory", 60)
    monkeypatch.setattr(OUTAGE, "until", 0.0)
    assert caches["default"].get("asked-again") is None
