"""Computes the statistics of a labelling project: at once while it is small, in a job when it is large."""

import time
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from annotation.labelling.models.statistics import LabelStatistics
from annotation.labelling.selectors.statistics import (
    JOB_KIND,
    LatestStatistics,
    compute_numbers,
    current_extent,
    latest_statistics,
)
from common.idempotency import check_repeat
from jobs.models import LIVE_STATES, Job
from jobs.progress import Progress
from jobs.services import start_job
from projects.models import Project


def current_statistics(*, project: Project) -> LatestStatistics:
    """The stored statistics. For a small project, computes them first if something has changed."""
    latest = latest_statistics(project)
    if latest.is_current or not latest.is_small or not latest.now.submissions:
        return latest
    return LatestStatistics(store_statistics(project=project), latest.now, latest.job)


def store_statistics(*, project: Project, progress: Progress | None = None) -> LabelStatistics:
    """Compute and store. No transaction is open while computing; submissions sent then count as new.

    Raises what `progress` raises if the job has to stop.
    """
    extent, started = current_extent(project), time.monotonic()

    def report(done: int, total: int) -> None:
        if progress and not done:
            progress.start(total=total, unit="steps")
        elif progress:
            progress.report(done)

    numbers = compute_numbers(project, report)
    return LabelStatistics.objects.update_or_create(
        project=project,
        defaults={
            "schema_id": extent.schema,
            "submissions": extent.submissions,
            "final_labels": extent.final_labels,
            "numbers": numbers,
            "computed_at": timezone.now(),
            "seconds": time.monotonic() - started,
        },
    )[0]


@transaction.atomic
def start_statistics(*, job_id: UUID, project: Project, actor: User) -> Job:
    """Compute in the background. Returns the project's running job if there is one, else the job with this id.

    Raises Refusal `id_in_use` if the id belongs to another job.
    """
    # The row is the lock: two concurrent requests get one job.
    LabelStatistics.objects.get_or_create(project=project)
    LabelStatistics.objects.select_for_update().get(project=project)
    live = Job.objects.filter(project=project, kind=JOB_KIND, state__in=LIVE_STATES).first()
    if live:
        return live
    job = start_job(id=job_id, kind=JOB_KIND, project=project, actor=actor, parameters={})
    check_repeat(job, kind=JOB_KIND, project_id=project.pk)
    return job


def run_statistics_job(job: Job, progress: Progress) -> dict[str, Any]:
    """The job's work. If killed and run again, it starts over and stores once."""
    project = Project.objects.select_related("labelling").get(jobs=job)
    row = store_statistics(project=project, progress=progress)
    return {"submissions": row.submissions, "seconds": round(row.seconds, 1)}
