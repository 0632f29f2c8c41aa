"""The cache: Redis, or the memory of the process while Redis is away."""

import logging
import time
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, Self

import redis
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient

logger = logging.getLogger(__name__)

RETRY_AFTER: Final = 2.0  # seconds; otherwise every command of a request waits for a Redis that hangs
# LocMemCache drops entries at random when it is full. Failed logins must stay counted while somebody tries many names.
MEMORY_ENTRIES: Final = 20_000


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


class Outage:
    """When Redis may be asked again, for all threads of the process."""

    def __init__(self) -> None:
        self.until = 0.0

    @property
    def lasts(self) -> bool:
        return time.monotonic() < self.until

    def begin(self, error: Exception) -> None:
        self.until = time.monotonic() + RETRY_AFTER
        logger.warning("the cache uses the memory of this process: %s", error)


OUTAGE: Final = Outage()


class Memory(LocMemCache):
    def validate_key(self, key: str) -> None:
        """Take any key, as Redis does."""


def _or_in_memory(name: str) -> Callable[..., Any]:
    in_redis, in_memory = getattr(RedisCache, name), getattr(LocMemCache, name)

    @wraps(in_redis)
    def run(self: "Cache", *args: Any, **options: Any) -> Any:
        if not OUTAGE.lasts:
            try:
                return in_redis(self, *args, **options)
            except (redis.RedisError, OSError) as error:
                OUTAGE.begin(error)
        return in_memory(self.memory, *args, **options)

    return run


class Cache(RedisCache):
    """Without Redis nothing fails: what the cache holds can be missed, and limits are counted by each process.

    So failed logins, requests of the API and used one-time passwords stay limited, at worst once for each web process,
    and work goes on. Nothing else may rely on the cache: sessions are in the database, because one that ends during an
    outage would come back to life with Redis.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = ProcessClient
        self.memory = Memory("while-redis-is-away", {**params, "OPTIONS": {"MAX_ENTRIES": MEMORY_ENTRIES}})

    add = _or_in_memory("add")
    get = _or_in_memory("get")
    set = _or_in_memory("set")
    touch = _or_in_memory("touch")
    delete = _or_in_memory("delete")
    incr = _or_in_memory("incr")
    has_key = _or_in_memory("has_key")
    get_many = _or_in_memory("get_many")
    set_many = _or_in_memory("set_many")
    delete_many = _or_in_memory("delete_many")
    clear = _or_in_memory("clear")
