"""Presets without content: questions, topics and guidelines are written in the project."""

from django.utils.translation import gettext_lazy

from annotation.project_setup.presets.preset import Preset
from projects.models import Protocol

LABELLING = Preset(
    protocol=Protocol.LABELLING,
    guidelines_en="",
    guidelines_zh="",
    title=gettext_lazy("Blank: label dialogues"),
    explanation=gettext_lazy(
        "No questions and no guidelines: you write both, then import dialogues to label."
    ),
)
AUTHORING = Preset(
    protocol=Protocol.AUTHORING,
    guidelines_en="",
    guidelines_zh="",
    title=gettext_lazy("Blank: write dialogues"),
    explanation=gettext_lazy(
        "No topics and no guidelines: people write dialogues with candidates, by your rules."
    ),
)
