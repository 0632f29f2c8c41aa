"""Changing how a project's dialogues are written or labelled."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.errors import Invalid
from accounts.models import User
from annotation.models import AuthoringSettings, BatchPlan, LabellingSettings
from annotation.selectors.batches import checkable, plan_of
from generation.models import Generator
from projects.models import Project
from projects.transitions import record

EDITABLE = (
    "generator", "second_generator", "candidates", "candidate_order", "show_scores", "min_rounds", "top_k",
    "temperature", "no_repeat_ngram_size", "max_new_tokens",
    "new_sets_per_turn", "generate_ahead", "max_utterance_length", "lease_minutes", "saved_days",
    "open_tasks_per_person", "daily_goal", "experts_required", "review_imported",
)  # fmt: skip


LABELLING = (
    "overlap", "resolution", "ties", "order", "min_seconds", "balance", "max_per_person", "plan_imported",
    "lease_minutes", "saved_days", "open_tasks_per_person", "daily_goal",
)  # fmt: skip


@transaction.atomic
def update_labelling(
    *, project: Project, actor: User | None, changes: Mapping[str, Any]
) -> LabellingSettings:
    """Change settings of the protocol `labelling`; overlap and order hold for tasks made from then on. Repeatable."""
    if unknown := set(changes) - set(LABELLING):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    settings = LabellingSettings.objects.select_for_update().get(project=project)
    _change(settings, changes, "labelling_changed", project, actor)
    return settings


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
    _change(plan, changes, "batch_plan_changed", project, actor)
    return plan


@transaction.atomic
def update_authoring(
    *, project: Project, actor: User | None, changes: Mapping[str, Any]
) -> AuthoringSettings:
    """Change settings of the protocol `authoring`; they hold from the next turn on. Safe to repeat.

    Making the second model the first one, as a promotion does, ends the comparison of the two.
    """
    if unknown := set(changes) - set(EDITABLE):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    settings = (
        AuthoringSettings.objects.select_for_update(of=("self",))
        .select_related("generator", "second_generator")
        .get(project=project)
    )
    if changes.get("generator") and changes["generator"] == settings.second_generator:
        changes = {"second_generator": None, **changes}
    _change(settings, changes, "authoring_changed", project, actor)
    return settings


def _change(
    settings: AuthoringSettings | LabellingSettings | BatchPlan,
    changes: Mapping[str, Any],
    kind: str,
    project: Project,
    actor: User | None,
) -> None:
    """Check and store what differs, with an event; nothing where nothing does."""
    before = {name: _plain(getattr(settings, name)) for name in changes}
    changed = [name for name in changes if _plain(changes[name]) != before[name]]
    if not changed:
        return
    for name in changed:
        setattr(settings, name, changes[name])
    _check(settings)
    settings.save(update_fields=changed)
    after = {name: _plain(getattr(settings, name)) for name in changed}
    data = {"before": {name: before[name] for name in changed}, "after": after}
    record(settings, kind=kind, project=project, actor=actor, data=data)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value.normalize())
    return value.slug if isinstance(value, Generator) else value


def _check(settings: AuthoringSettings | LabellingSettings | BatchPlan) -> None:
    try:
        settings.full_clean(exclude=["project"])
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(" ".join(texts), field=field) from error
