"""The broker (Redis): whether it answers, and how tasks are sent to workers."""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import Any, Final

import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

TIMEOUT: Final = 1.0  # seconds; a Redis that hangs holds whoever asks for as long
REMEMBERED_FOR: Final = 2.0  # seconds


class _Answer:
    """The last answer of the broker, for all threads of the process."""

    def __init__(self) -> None:
        self.good = False
        self.until = 0.0
        self.lock = Lock()


_answer = _Answer()


def broker_answers() -> bool:
    """Whether Redis answers; asked at most every REMEMBERED_FOR seconds, by one thread at a time."""
    with _answer.lock:
        if time.monotonic() >= _answer.until:
            _answer.good = _ping()
            _answer.until = time.monotonic() + REMEMBERED_FOR
        return _answer.good


def _ping() -> bool:
    limits = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    try:
        with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def send_task(
    name: str,
    *,
    args: tuple[Any, ...] = (),
    queue: str,
    countdown: float | None = None,
    expires: float | None = None,
) -> bool:
    """Send a task to a worker. False, with a warning in the log, if the broker does not take it.

    Never raises for a broker that is away: the row that waits for the task is stored, and a scheduled task sends it
    again (`take_over_lost_…`). countdown, expires: seconds.
    """
    if not broker_answers():  # kombu would hold the request for several seconds
        logger.warning("the broker is away, the scheduler will send the task later", extra={"task": name})
        return False
    try:
        current_app.send_task(name, args=args, queue=queue, countdown=countdown, expires=expires, retry=False)
    except (redis.RedisError, KombuError, OSError) as error:
        logger.warning("the broker did not take %s, the scheduler will send it later: %s", name, error)
        return False
    return True
