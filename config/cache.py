"""The cache's connections to Redis."""

from functools import lru_cache
from typing import Any, Self

import redis


class ProcessPool(redis.ConnectionPool):
    """One pool for all of a process. Django makes a cache for each thread, under ASGI for each request, and with it a
    pool of its own, whose connection stays open until it is collected."""

    @classmethod
    @lru_cache
    def from_url(cls, url: str, **options: Any) -> Self:
        return super().from_url(url, **options)
