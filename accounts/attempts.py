"""Limits how often one address may try a link."""

import logging
import time

from allauth.account.adapter import get_adapter
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from common.refusals import Refusal

logger = logging.getLogger(__name__)
PERIOD = 60  # seconds
MAX_ATTEMPTS = 30


def count_attempt(request: HttpRequest, action: str) -> None:
    """Raises Refusal "too_many_requests" for an address that came too often. Without Redis nothing is counted."""
    key = f"attempts:{action}:{get_adapter().get_client_ip(request)}:{int(time.time() // PERIOD)}"
    try:
        cache.add(key, 0, PERIOD)
        attempts = cache.incr(key)
    except (RedisError, OSError, ValueError):  # ValueError: the period ended between the two
        logger.warning("attempts are not counted: Redis does not respond")
        return
    if attempts > MAX_ATTEMPTS:
        raise Refusal(
            "too_many_requests",
            _("That was tried too often from here."),
            _("Wait a minute, then try again."),
            status=429,
        )
