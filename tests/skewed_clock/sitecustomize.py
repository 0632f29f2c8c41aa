"""First on a process's PYTHONPATH, this sets its clock CLOCK_AHEAD seconds ahead: `time.time` and `timezone.now`."""

import os
import time
from datetime import datetime, timedelta, tzinfo

from celery.worker import request
from django.utils import timezone

AHEAD = float(os.environ["CLOCK_AHEAD"])
real_time = time.time


class Ahead(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(seconds=AHEAD)


time.time = lambda: real_time() + AHEAD
vars(timezone)["datetime"] = Ahead
vars(request)["datetime"] = Ahead  # by which Celery drops what has expired
