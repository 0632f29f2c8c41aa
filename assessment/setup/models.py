"""The settings of an assessment project."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.models import Project


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement that participants rate from 0 (strongly disagree) to 100 (strongly agree).

    is_reversed: agreeing is bad, so scores count 100 - x. in_reliability_test: whether the statement is used to tell
    ordinary systems from the degraded one.
    """

    name: str
    text_en: str
    text_zh: str
    is_reversed: bool = False
    in_reliability_test: bool = True

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Statement":
        return cls(**content)

    def text(self, language: str) -> str:
        """In the participant's language: "zh…" or anything else for English."""
        return self.text_zh if language.startswith("zh") else self.text_en


class TopicMode(models.TextChoices):
    FREE = "free", _("The participant chooses a topic")
    ICE_BREAKER = "ice_breaker", _("An ice-breaker is given")


class AssessmentSettings(models.Model):
    """Settings of an assessment project.

    statements: list of Statement as JSON. ice_breakers: list of sentences; empty: sentences of the system's persona.
    inputs: of the participant, before the statements open. The reply appears no sooner than delay_ms plus
    delay_per_character_ms for each of its characters, so that speed does not identify a system.
    language_name_…: of the language that participants chat in, for statements; empty: the language that each of them
    reads in. parameter_names: what the panel calls participant, study and session in the link. completion_codes: by
    outcome (AssignmentState). return_url: where the last page leads; "{code}" is replaced.
    """

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="assessment", primary_key=True
    )
    statements = models.JSONField(_("statements"))
    language_name_en = models.CharField(_("language name, English"), max_length=40, blank=True)
    language_name_zh = models.CharField(_("language name, Chinese"), max_length=40, blank=True)
    consent_en = models.TextField(_("consent (English)"), blank=True)
    consent_zh = models.TextField(_("consent (Chinese)"), blank=True)
    ordinary_systems = models.PositiveSmallIntegerField(
        _("ordinary systems per participant"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
    )
    inputs = models.PositiveSmallIntegerField(
        _("inputs per conversation"), default=10, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    min_words = models.PositiveSmallIntegerField(
        _("fewest words of an input before a hint appears"), default=0, validators=[MaxValueValidator(50)]
    )
    ice_breakers = models.JSONField(_("ice-breakers"), default=list, blank=True)
    delay_ms = models.PositiveIntegerField(
        _("shortest time to a reply, in ms"), default=1500, validators=[MaxValueValidator(60_000)]
    )
    delay_per_character_ms = models.PositiveIntegerField(
        _("extra time per character, in ms"), default=20, validators=[MaxValueValidator(1_000)]
    )
    reply_timeout_seconds = models.PositiveIntegerField(
        _("time limit of a reply, in seconds"),
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
    )
    reply_retries = models.PositiveSmallIntegerField(
        _("retries of a reply"), default=2, validators=[MaxValueValidator(10)]
    )
    expires_after_minutes = models.PositiveIntegerField(
        _("an assignment expires after, in minutes"),
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(10_080)],
    )
    runs_per_participant = models.PositiveSmallIntegerField(
        _("runs per participant"), default=1, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    significance = models.FloatField(
        _("p below which a participant passes the reliability test"),
        default=0.05,
        validators=[MinValueValidator(0.0001), MaxValueValidator(0.9999)],
    )
    signed_links = models.BooleanField(_("join links must be signed"), default=True)
    parameter_names = models.JSONField(_("parameter names"), default=dict, blank=True)
    completion_codes = models.JSONField(_("completion codes"), default=dict, blank=True)
    return_url = models.CharField(_("return address"), max_length=500, blank=True)

    def __str__(self) -> str:
        return f"assessment settings of {self.project_id}"

    @property
    def statement_list(self) -> list[Statement]:
        return [Statement.from_json(content) for content in self.statements]
