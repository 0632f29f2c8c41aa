"""Long work: a row with state, progress and heartbeat, which a page can show after any refresh."""

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.models import Project
from projects.transitions import Moves


class JobState(models.TextChoices):
    QUEUED = "queued", _("Waiting")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


DEFAULT_QUEUE = "default"
LIVE_STATES = (JobState.QUEUED, JobState.RUNNING)
MOVES: Moves = {
    JobState.QUEUED: {JobState.RUNNING, JobState.CANCELLED, JobState.FAILED},
    # The job of a lost worker returns to the queue.
    JobState.RUNNING: {JobState.DONE, JobState.FAILED, JobState.CANCELLED, JobState.QUEUED},
    JobState.FAILED: {JobState.QUEUED},
    JobState.CANCELLED: {JobState.QUEUED},
    JobState.DONE: frozenset[str](),
}


class Job(models.Model):
    """One long job. `kind` is the function that runs it (jobs.registry), `queue` the workers that take it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=40)
    queue = models.CharField(max_length=20, default=DEFAULT_QUEUE)
    parameters = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    unit = models.CharField(max_length=20, default="rows")
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    remedy = models.TextField(blank=True)
    language = models.CharField(
        max_length=10, blank=True, help_text=_("Of error and remedy: that of the person who started it")
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(
        default=0, help_text=_("How often the worker was lost since it was last started")
    )
    folders = models.JSONField(
        default=dict, help_text=_("The ids of the folders of the process that started it")
    )
    cancel_requested_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["project", "-created_at"], name="job_project"),
            models.Index(fields=["heartbeat_at"], name="job_live", condition=models.Q(state="running")),
            models.Index(fields=["created_at"], name="job_waiting", condition=models.Q(state="queued")),
            models.Index(fields=["ended_at"], name="job_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def begun_at(self) -> datetime:
        """When its last attempt began; for a job that never ran, when it was requested."""
        return self.started_at or self.created_at

    @property
    def seconds_taken(self) -> float | None:
        """None before the end."""
        return (self.ended_at - self.begun_at).total_seconds() if self.ended_at else None


class Worker(models.Model):
    """A worker process that has sent a heartbeat. jobs.services.take_over_lost_jobs deletes old rows."""

    name = models.CharField(max_length=120, primary_key=True)
    queues = models.JSONField(default=list)
    details = models.JSONField(default=dict, help_text=_("For example the model that it holds"))
    version = models.CharField(max_length=80, blank=True, help_text=_("The release that it runs"))
    folders = models.JSONField(default=dict, help_text=_("The ids of the folders that it writes to"))
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return self.name
