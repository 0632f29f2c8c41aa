import time
from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle


class PersonRateThrottle(UserRateThrottle):
    """Limits the requests of a person in every period of API_RATE_LIMIT. Without Redis each web process counts for
    itself (config/cache.py).

    Counts with one atomic step: DRF reads a list and writes it back, and requests at the same time overwrite it.
    """

    num_requests: int
    duration: int  # seconds

    def allow_request(self, request: Request, view: Any) -> bool:
        key = self.get_cache_key(request, view)
        if self.rate is None or key is None:
            return True
        period, since = divmod(time.time(), self.duration)
        self.left: float = self.duration - since
        return self._count(f"{key}:{int(period)}") <= self.num_requests

    def _count(self, key: str) -> int:
        for _attempt in range(2):
            try:
                return int(self.cache.incr(key))
            except ValueError:  # the first request of the period, unless another one is quicker
                if self.cache.add(key, 1, self.duration):
                    return 1
        return 1  # the period ended meanwhile

    def wait(self) -> float:
        """Seconds until the next period."""
        return self.left
