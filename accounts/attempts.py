"""Limits how often one address may fail to open a link."""

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
MAX_FAILURES = 60  # a class of people may share one address


def check_failures(request: HttpRequest, action: str) -> None:
    """Raises Refusal "too_many_requests" for an address that failed too often. Without Redis nothing is counted."""
    try:
        failures = cache.get(_key(request, action), 0)
    except (RedisError, OSError):
        return
    if failures >= MAX_FAILURES:
        raise Refusal(
            "too_many_requests",
            _("There were too many attempts from your network address."),
            _("Wait a minute, then try again."),
            status=429,
        )


def count_failure(request: HttpRequest, action: str) -> None:
    key = _key(request, action)
    try:
        cache.add(key, 0, PERIOD)
        cache.incr(key)
    except (RedisError, OSError, ValueError):  # ValueError: the period ended between the two
        logger.warning("failures are not counted: Redis does not respond")


def _key(request: HttpRequest, action: str) -> str:
    address = get_adapter().get_client_ip(request)
    return f"failures:{action}:{address}:{int(time.time() // PERIOD)}"
