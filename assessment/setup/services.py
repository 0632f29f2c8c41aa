"""Creates and changes the settings of assessment projects."""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction

from accounts.models import User
from annotation.tasks.services.settings import change_settings
from assessment.setup.checks import OUTCOMES, check_changes
from assessment.setup.models import AssessmentSettings
from assessment.setup.preset import (
    CONSENT_EN,
    CONSENT_ZH,
    LANGUAGE_NAMES,
    PARAMETER_NAMES,
    STATEMENTS_JSON,
)
from projects.models import DialogueLanguage, Project

CHANGEABLE: Final = frozenset(
    {
        "statements", "language_name_en", "language_name_zh", "consent_en", "consent_zh", "ordinary_systems", "inputs",
        "min_words", "ice_breakers", "delay_ms", "delay_per_character_ms", "reply_timeout_seconds", "reply_retries",
        "expires_after_minutes", "runs_per_participant", "significance", "signed_links", "parameter_names",
        "completion_codes", "return_url",
    }
)  # fmt: skip


def create_settings(project: Project) -> AssessmentSettings:
    """The settings that a new assessment project starts with. Completion codes are drawn at random."""
    english, chinese = LANGUAGE_NAMES.get(DialogueLanguage(project.language), ("", ""))
    return AssessmentSettings.objects.create(
        project=project,
        statements=STATEMENTS_JSON,
        language_name_en=english,
        language_name_zh=chinese,
        consent_en=CONSENT_EN,
        consent_zh=CONSENT_ZH,
        parameter_names=PARAMETER_NAMES,
        completion_codes={outcome: secrets.token_hex(4).upper() for outcome in OUTCOMES},
    )


@transaction.atomic
def update_assessment(
    *, project: Project, actor: User | None, changes: Mapping[str, Any]
) -> AssessmentSettings:
    """Change settings of an assessment project. Safe to repeat. Raises Invalid with the field that is wrong."""
    if unknown := set(changes) - CHANGEABLE:
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    check_changes(changes)
    settings = AssessmentSettings.objects.select_for_update().get(project=project)
    change_settings(settings, changes, "assessment_changed", project, actor)
    return settings
