"""Jobs that a person may see, and live workers."""

import re
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.refusals import NotAllowed, NotFound
from jobs.models import Job, Worker
from jobs.registry import capability_for
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ALIVE_FOR = timedelta(seconds=15)
MAY_SEE_JOBS = frozenset({Capability.IMPORT, Capability.EXPORT, Capability.CONFIGURE})


def job_for(user: User, job_id: UUID) -> Job:
    """The job, for members of its project who may import, export or configure."""
    job = Job.objects.select_related("project", "created_by").filter(pk=job_id).first()
    if job is None or job.project is None or not MAY_SEE_JOBS & capabilities_of(user, job.project):
        raise NotFound(_("There is no such job."), _("It may belong to a project that you have left."))
    return job


def job_to_manage(user: User, job_id: UUID) -> Job:
    """The job, for members who may start one of its kind. Raises NotFound, NotAllowed."""
    job = job_for(user, job_id)
    if job.project is not None:
        project_for(user, job.project.slug, capability_for(job.kind))
    return job


def jobs_of(user: User, project: Project, **filters: str) -> QuerySet[Job]:
    """The project's jobs, newest first, for members who may import, export or configure. filters: state, kind."""
    if not MAY_SEE_JOBS & capabilities_of(user, project):
        raise NotAllowed(
            _("Your roles in this project do not include imports and exports."),
            _("Ask the project's manager for the role of an engineer."),
        )
    rows = Job.objects.filter(project=project, **filters)
    return rows.select_related("project", "created_by").order_by("-created_at", "-pk")


def jobs_by_id(project: Project, ids: Iterable[str]) -> dict[str, Job]:
    """Those jobs of the project that still exist, by their ids as text."""
    known = [one for one in ids if UUID_TEXT.fullmatch(one)]
    return {str(job.pk): job for job in Job.objects.filter(project=project, pk__in=known)}


def live_workers(queue: str | None = None) -> QuerySet[Worker]:
    """Workers with a heartbeat in the last ALIVE_FOR, of one queue or of all."""
    alive = Worker.objects.filter(seen_at__gte=clock.now() - ALIVE_FOR)
    return alive.filter(queues__contains=[queue]) if queue else alive


def served_queues() -> set[str]:
    """The queues that have a live worker."""
    return {queue for queues in live_workers().values_list("queues", flat=True) for queue in queues}
