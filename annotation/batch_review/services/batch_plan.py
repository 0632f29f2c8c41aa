"""Changing how the batches of a project are cut and judged."""

from collections.abc import Mapping
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.batch_plan import batch_plan_for, checkable_questions
from annotation.tasks.services.settings import change_settings
from common.refusals import Invalid
from projects.locking import lock_project
from projects.models import Project

PLAN_FIELDS = (
    "batch_size", "sample_size", "overall_percent", "class_percent", "question", "is_blind", "is_stratified",
    "double_every", "relabel",
)  # fmt: skip


@transaction.atomic
def update_batch_plan(*, project: Project, actor: User | None, changes: Mapping[str, Any]) -> BatchPlan:
    """Change the plan; samples that are already drawn keep the one they were drawn with. Safe to repeat."""
    if unknown := set(changes) - set(PLAN_FIELDS):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    lock_project(project.pk)
    plan = batch_plan_for(project)
    _check_question(project, changes.get("question", ""))
    _check_sizes(plan, changes)
    if plan._state.adding:
        plan.save(force_insert=True)
    change_settings(plan, changes, "batch_plan_changed", project, actor)
    return plan


def _check_sizes(plan: BatchPlan, changes: Mapping[str, Any]) -> None:
    """A plan from before this rule may still be changed in everything else: the page always sends both sizes."""
    batch = changes.get("batch_size", plan.batch_size)
    sample = changes.get("sample_size", plan.sample_size)
    if (batch, sample) != (plan.batch_size, plan.sample_size) and sample > batch:
        raise Invalid(
            _("A sample cannot be larger than its batch of %(n)s.") % {"n": intcomma(batch)},
            _("Draw fewer dialogues per sample, or cut larger batches."),
            field="sample_size",
        )


def _check_question(project: Project, key: str) -> None:
    if key and key not in {question.key for question in checkable_questions(project)}:
        raise Invalid(
            _("No compared question about the dialogue is called “%(name)s”.") % {"name": key},
            _("Choose one from the schema, or none: then every compared answer has to be right."),
            field="question",
        )
