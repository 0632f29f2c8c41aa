"""What Celery's beat starts, and when."""

from __future__ import annotations

from typing import Any

from celery.schedules import crontab
from environs import Env

# Seconds between two runs. A run that no worker takes in time expires, where a queue of them would do the same work
# again; a worker decides that by its own clock, which may be a minute ahead of the scheduler's.
ALWAYS: dict[str, dict[str, Any]] = {
    "reap-leases": {"task": "annotation.tasks.reap_expired_leases", "schedule": 30.0},
    "reap-requests": {
        "task": "generation.tasks.take_over_lost_requests",
        "schedule": 15.0,
        "options": {"queue": "default"},
    },
    "reap-turns": {"task": "assessment.sessions.tasks.take_over_lost_turns", "schedule": 5.0},
    "close-conversations": {
        "task": "assessment.sessions.tasks.close_ended_conversations",
        "schedule": 30.0,
        "options": {"queue": "chat", "expires": 180},
    },
    "reap-jobs": {"task": "jobs.tasks.take_over_lost_jobs", "schedule": 30.0},
    "send-invitations": {"task": "projects.tasks.send_invitations", "schedule": 60.0},
    "deliver-webhooks": {
        "task": "projects.tasks.deliver_webhooks",
        "schedule": 2.0,
        "options": {"queue": "webhooks", "expires": 120},
    },
    "reap-assessments": {"task": "assessment.sessions.reap_expired_assignments", "schedule": 30.0},
}
# The panel tells who left, so that their places reopen before their assignments expire.
WITH_PROLIFIC: dict[str, dict[str, Any]] = {
    "sync-panel": {"task": "assessment.sessions.sync_panel", "schedule": 60.0}
}
# Old leftovers are deleted every night (RETENTION_DAILY).
NIGHTLY: dict[str, dict[str, Any]] = {
    "clean": {
        "task": "operations.tasks.clean_daily",
        "schedule": crontab(hour="3", minute="30"),  # UTC
        "options": {"expires": 3600},
    }
}


def beat_schedule(env: Env) -> dict[str, dict[str, Any]]:
    """The entries of this installation."""
    panel = WITH_PROLIFIC if env.str("PROLIFIC_TOKEN", default="") else {}
    nightly = NIGHTLY if env.bool("RETENTION_DAILY", default=False) else {}
    return ALWAYS | panel | nightly
