"""How pages refer to a dialogue: by its opening, in its language."""

from collections.abc import Sequence
from typing import Final

from django.utils.translation import pgettext_lazy

from dialogues.models import Dialogue
from dialogues.selectors import annotate_opening
from projects.models import DialogueLanguage, Project

# Roles that many data sets have; scripts have them in static/js/labelling/questions/questions_view.js.
SPEAKER_NAMES: Final = {
    "user": pgettext_lazy("speaker", "user"),
    "assistant": pgettext_lazy("speaker", "assistant"),
    "customer": pgettext_lazy("speaker", "customer"),
    "helpdesk": pgettext_lazy("speaker", "helpdesk"),
    "bot": pgettext_lazy("speaker", "bot"),
    "bot (context)": pgettext_lazy("speaker", "bot (context)"),
}


def speaker_name(speaker: str) -> str:
    """A well-known role in the reader's language; any other name as it is."""
    return str(SPEAKER_NAMES.get(speaker, speaker))


def openings_by_dialogue(dialogues: Sequence[Dialogue]) -> dict[int, str]:
    """The first words of each dialogue, by dialogue id."""
    rows = annotate_opening(Dialogue.objects.filter(pk__in=[dialogue.pk for dialogue in dialogues]))
    return {row.pk: row.opening or "" for row in rows}  # type: ignore[attr-defined]  # annotated


def content_language(project: Project) -> str:
    """The `lang` attribute for texts of a project; empty if the project has several languages."""
    return "" if project.language == DialogueLanguage.MIXED else project.language
