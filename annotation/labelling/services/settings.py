"""Changes how the dialogues of a project are labelled."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
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
    """Change settings of a labelling project. Overlap and order apply to tasks created afterwards. Safe to repeat."""
    if unknown := set(changes) - set(LABELLING_SETTINGS):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    settings = LabellingSettings.objects.select_for_update().get(project=project)
    change_settings(settings, changes, "labelling_changed", project, actor)
    return settings
