"""Plans: requests that make tasks, once however often they are sent."""

from typing import Any
from uuid import UUID

from common.idempotency import check_repeat
from projects.models import Event, Project

PLAN = "annotation.plan"
BATCH = 5_000  # tasks per INSERT


def is_planned(plan_id: UUID, project: Project, **sent: Any) -> bool:
    """Whether the plan was carried out before.

    sent: what this request asks for, by the key in the event's data. Raises Refusal `id_in_use` if the plan was made
    for another project or asked for something else.
    """
    event = Event.objects.filter(subject_type=PLAN, subject_id=str(plan_id)).first()
    if event is None:
        return False
    # Early events lack some of the keys.
    check_repeat({**sent, **event.data, "project": event.project_id}, project=project.pk, **sent)
    return True
