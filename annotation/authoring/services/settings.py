"""Changing the settings of an authoring project."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from annotation.tasks.services.settings import change_settings
from generation.generators import check_usable
from projects.models import Project

EDITABLE = (
    "generator", "second_generator", "candidates", "candidate_order", "show_scores", "min_rounds", "top_k",
    "temperature", "one_script", "no_repeat_ngram_size", "max_new_tokens",
    "new_sets_per_turn", "generate_ahead", "max_utterance_length", "lease_minutes", "saved_days",
    "open_tasks_per_person", "daily_goal", "experts_required", "review_imported",
)  # fmt: skip


@transaction.atomic
def update_authoring(
    *, project: Project, actor: User | None, changes: Mapping[str, Any]
) -> AuthoringSettings:
    """Change settings of the protocol `authoring`. They apply from the next turn. Safe to repeat.

    If the second model becomes the first, as in a promotion, the comparison of the two ends.
    Raises Invalid for a value, TypeError for an unknown setting.
    """
    if unknown := set(changes) - set(EDITABLE):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    settings = (
        AuthoringSettings.objects.select_for_update(of=("self",))
        .select_related("generator", "second_generator")
        .get(project=project)
    )
    for name in ("generator", "second_generator"):
        if name in changes and changes[name] != getattr(settings, name):
            check_usable(changes[name], project, field=name)
    if changes.get("generator") and changes["generator"] == settings.second_generator:
        changes = {"second_generator": None, **changes}
    change_settings(settings, changes, "authoring_changed", project, actor)
    return settings
