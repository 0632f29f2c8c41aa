"""Changing how a project's dialogues are written."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.errors import Invalid
from accounts.models import User
from annotation.models import AuthoringSettings
from generation.models import Generator
from projects.models import Project
from projects.transitions import record

EDITABLE = (
    "generator", "candidates", "min_rounds", "top_k", "temperature", "no_repeat_ngram_size", "max_new_tokens",
    "new_sets_per_turn", "generate_ahead", "max_utterance_length", "lease_minutes", "saved_days",
    "open_tasks_per_person", "daily_goal", "experts_required", "review_imported",
)  # fmt: skip


@transaction.atomic
def update_authoring(
    *, project: Project, actor: User | None, changes: Mapping[str, Any]
) -> AuthoringSettings:
    """Change settings of the protocol `authoring`; they hold from the next turn on. Safe to repeat."""
    if unknown := set(changes) - set(EDITABLE):
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    settings = (
        AuthoringSettings.objects.select_for_update(of=("self",))
        .select_related("generator")
        .get(project=project)
    )
    before = {name: _plain(getattr(settings, name)) for name in changes}
    changed = [name for name in changes if _plain(changes[name]) != before[name]]
    if not changed:
        return settings
    for name in changed:
        setattr(settings, name, changes[name])
    _check(settings)
    settings.save(update_fields=changed)
    after = {name: _plain(getattr(settings, name)) for name in changed}
    data = {"before": {name: before[name] for name in changed}, "after": after}
    record(settings, kind="authoring_changed", project=project, actor=actor, data=data)
    return settings


def _plain(value: Any) -> Any:
    return value.slug if isinstance(value, Generator) else value


def _check(settings: AuthoringSettings) -> None:
    try:
        settings.full_clean(exclude=["project"])
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(" ".join(texts), field=field) from error
