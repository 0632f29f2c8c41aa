"""Changes how the dialogues of a project are labelled."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.services.planning import reorder_open_tasks
from annotation.tasks.services.settings import change_settings
from projects.models import Project

LABELLING_SETTINGS = (
    "overlap", "resolution", "ties", "order", "min_seconds", "balance", "max_per_person", "plan_imported",
    "lease_minutes", "saved_days", "open_tasks_per_person", "daily_goal",
)  # fmt: skip


@transaction.atomic
def update_labelling(
    *, project: Project, actor: User | None, changes: Mapping[str, Any]
) -> LabellingSettings:
    """Change settings of a labelling project. Safe to repeat.

    The overlap applies to tasks created afterwards, the order to open tasks as well.
    """
    if unknown := set(changes) - set(LABELLING_SETTINGS):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    settings = LabellingSettings.objects.select_for_update().get(project=project)
    former_order = settings.order
    change_settings(settings, changes, "labelling_changed", project, actor)
    if settings.order != former_order:
        reorder_open_tasks(settings)
    return settings
