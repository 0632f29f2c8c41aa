"""Plans: tasks that are made once, however often the plan is sent."""

from uuid import UUID

from django.utils.translation import gettext as _

from common.refusals import Refusal
from projects.models import Event, Project

PLAN = "annotation.plan"


BATCH = 5_000


def is_planned(plan_id: UUID, project: Project) -> bool:
    """Whether this very plan was carried out before."""
    plan = Event.objects.filter(subject_type=PLAN, subject_id=str(plan_id)).first()
    if plan and plan.project_id != project.pk:
        raise Refusal("id_in_use", _("This id belongs to another plan."), _("Send it with a new one."))
    return plan is not None
