import logging
from typing import Any

from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle

logger = logging.getLogger(__name__)


class PersonRateThrottle(UserRateThrottle):
    """Requests per person (API_RATE_LIMIT). Without Redis nobody is counted: work goes on."""

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except (RedisError, OSError):
            logger.warning("requests are not counted: Redis does not answer")
            return True
