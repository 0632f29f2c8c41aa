"""The time as PostgreSQL has it, which every host shares: the clocks of hosts may be a minute apart.

What one host writes and another compares with the present (leases, heartbeats, pauses, minimum times) uses `now()`.
Dates that people read, and limits of many minutes or days, may come from `timezone.now()`.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

MEASURE_EVERY: Final = 30.0  # seconds; a quartz gains or loses 2 ms in that time
BOOT: Final = getattr(time, "CLOCK_BOOTTIME", None)  # Linux only
TOLERATED_DELAY: Final = 1.0  # seconds; an answer that took longer says little


@dataclass(frozen=True, slots=True)
class Measurement:
    """The database's time at a moment of this host's clock since it was started, which nobody sets."""

    time: datetime
    moment: float


_measured: Measurement | None = None


def now() -> datetime:
    """The database's time; only the first call of a process asks it."""
    measured = _measured or measure(connection)
    return measured.time + timedelta(seconds=_seconds_since_boot() - measured.moment)


def _seconds_since_boot() -> float:
    """With the time that the host slept, which Linux leaves out of time.monotonic()."""
    return time.clock_gettime(BOOT) if BOOT is not None else time.monotonic()


def measure_on_connection(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Receiver of `connection_created`: connections live for a minute, so this keeps the measurement fresh."""
    if _measured is None or _seconds_since_boot() - _measured.moment > MEASURE_EVERY:
        measure(connection)


def measure(connection: BaseDatabaseWrapper) -> Measurement:
    global _measured
    before = _seconds_since_boot()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (answer,) = cursor.fetchone()
    after = _seconds_since_boot()
    if _measured is None or after - before < TOLERATED_DELAY:
        _measured = Measurement(answer, (before + after) / 2)
    return _measured
