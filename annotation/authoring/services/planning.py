"""Planning dialogues to be written."""

from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.tasks.models.work import Task
from annotation.tasks.services.assignment import reset_claim_cursors
from annotation.tasks.services.plans import BATCH, PLAN, is_planned
from common.database import refresh_statistics
from common.refusals import Invalid, Refusal
from projects.locking import lock_project
from projects.models import Project, Protocol
from projects.transitions import record_request

MAX_PLANNED = 100_000


@transaction.atomic
def plan_dialogues(
    *, project: Project, actor: User | None, count: int, plan_id: UUID, priority: int = 0
) -> int:
    """Add `count` dialogues to be written. The same plan_id again adds nothing. Returns how many were added.

    Raises Invalid (count), or Refusal: wrong_protocol, id_in_use (the plan_id was sent with another plan).
    """
    if not 1 <= count <= MAX_PLANNED:
        raise Invalid(
            _("Between 1 and %(limit)s dialogues can be planned at once.") % {"limit": intcomma(MAX_PLANNED)},
            field="count",
        )
    if project.protocol != Protocol.AUTHORING:
        raise Refusal(
            "wrong_protocol",
            _("Only authoring projects plan dialogues that are not written yet."),
            _("Import dialogues, then plan them to be labelled."),
        )
    lock_project(project.pk)
    plan = {"count": count, "priority": priority}
    if is_planned(plan_id, project, **plan):
        return 0
    Task.objects.bulk_create(
        [Task(project=project, priority=priority) for _n in range(count)], batch_size=BATCH
    )
    reset_claim_cursors(project)
    refresh_statistics(count, Task)
    record_request(PLAN, plan_id, kind="planned", project=project, actor=actor, data=plan)
    return count
