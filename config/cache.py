"""The cache's connections to Redis."""

from functools import lru_cache
from typing import Any, Self

import redis
from django.core.cache.backends.redis import RedisCache, RedisCacheClient


class ProcessPool(redis.ConnectionPool):
    """One pool for all of a process. Django makes a cache for each thread, and with it a pool of its own."""

    @classmethod
    @lru_cache
    def from_url(cls, url: str, **options: Any) -> Self:
        return super().from_url(url, **options)


@lru_cache
def client_of(pool: redis.ConnectionPool) -> redis.Redis:
    return redis.Redis(connection_pool=pool)


class ProcessClient(RedisCacheClient):
    """One client for all of a process, which may be used by many threads at once. Django makes one for each command,
    which takes longer than the command."""

    def get_client(self, key: Any = None, *, write: bool = False) -> redis.Redis:
        return client_of(self._get_connection_pool(write))  # type: ignore[attr-defined]  # not in its types


class Cache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = ProcessClient
