"""Which function carries out which kind of job. Apps register theirs in their `tasks.py`."""

from collections.abc import Callable
from typing import Any

from jobs.models import Job
from jobs.progress import Progress

Work = Callable[[Job, Progress], dict[str, Any]]
_WORK: dict[str, Work] = {}


def carries_out(kind: str) -> Callable[[Work], Work]:
    """Register `function(job, progress) -> result` for jobs of `kind`. It must be safe to run again after a kill."""

    def register(function: Work) -> Work:
        _WORK[kind] = function
        return function

    return register


def work_for(kind: str) -> Work:
    return _WORK[kind]
