import logging
from typing import Any

from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle

logger = logging.getLogger(__name__)


class PersonRateThrottle(UserRateThrottle):
    """Limits the requests of a person (API_RATE_LIMIT). Without Redis nothing is limited, so that work continues."""

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except (RedisError, OSError):
            logger.warning("requests are not counted: Redis does not respond")
            return True
