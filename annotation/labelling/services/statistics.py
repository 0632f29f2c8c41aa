"""Computing a labelling project's numbers: at once while it is small, by a job when it is large."""

import time
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.statistics import LabelStatistics
from annotation.labelling.selectors.statistics import (
    JOB_KIND,
    LatestStatistics,
    compute_numbers,
    current_extent,
    latest_statistics,
)
from common.refusals import Refusal
from jobs.models import LIVE_STATES, Job
from jobs.progress import Progress
from jobs.services import start_job
from projects.models import Project


def current_statistics(*, project: Project) -> LatestStatistics:
    """The stored numbers; of a small project they are computed first when something changed since."""
    latest = latest_statistics(project)
    if latest.is_current or not latest.is_small or not latest.now.submissions:
        return latest
    return LatestStatistics(store_statistics(project=project), latest.now, latest.job)


def store_statistics(*, project: Project, progress: Progress | None = None) -> LabelStatistics:
    """Compute and store. No transaction is open meanwhile; what is sent meanwhile counts as come since.

    Raises what `progress` raises when the job is to stop.
    """
    extent, started = current_extent(project), time.monotonic()

    def told(done: int, total: int) -> None:
        if progress and not done:
            progress.start(total=total, unit="steps")
        elif progress:
            progress.report(done)

    numbers = compute_numbers(project, told)
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
    """Compute in the background. While a job of the project does, that one is returned; the same job_id again too.

    Raises Refusal id_in_use when the id is that of something else.
    """
    # The row is the lock: two people who ask at one instant get one job.
    LabelStatistics.objects.get_or_create(project=project)
    LabelStatistics.objects.select_for_update().get(project=project)
    live = Job.objects.filter(project=project, kind=JOB_KIND, state__in=LIVE_STATES).first()
    if live:
        return live
    job = start_job(id=job_id, kind=JOB_KIND, project=project, actor=actor, parameters={})
    if job.kind != JOB_KIND or job.project_id != project.pk:
        raise Refusal(
            "id_in_use", _("This submission was used for something else."), _("Reload and try again.")
        )
    return job


def run_statistics_job(job: Job, progress: Progress) -> dict[str, Any]:
    """What a worker does. Killed and run again it begins anew and stores once."""
    project = Project.objects.select_related("labelling").get(jobs=job)
    row = store_statistics(project=project, progress=progress)
    return {"submissions": row.submissions, "seconds": round(row.seconds, 1)}
