"""Changing how the batches of a project are cut and judged."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.batches import checkable, plan_of
from annotation.tasks.services.settings import change_settings
from common.refusals import Invalid
from projects.models import Project

BATCHES = (
    "batch_size", "sample_size", "overall_percent", "class_percent", "question", "is_blind", "is_stratified",
    "double_every", "relabel",
)  # fmt: skip


@transaction.atomic
def update_batch_plan(*, project: Project, actor: User | None, changes: Mapping[str, Any]) -> BatchPlan:
    """Change how batches are cut and judged; samples that are drawn keep what they were drawn by. Safe to repeat."""
    if unknown := set(changes) - set(BATCHES):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
    plan = plan_of(project)
    if "question" in changes and changes["question"] not in ("", *(one.key for one in checkable(project))):
        raise Invalid(
            _("No compared question about the dialogue is called “%(name)s”.")
            % {"name": changes["question"]},
            _("Choose one of the schema, or none: every compared answer has to be right then."),
            field="question",
        )
    if plan._state.adding:
        plan.save(force_insert=True)
    change_settings(plan, changes, "batch_plan_changed", project, actor)
    return plan
