"""How pages refer to a dialogue: by its opening, in its language."""

from collections.abc import Sequence

from dialogues.models import Dialogue
from dialogues.selectors import annotate_opening
from projects.models import DialogueLanguage, Project


def openings_by_dialogue(dialogues: Sequence[Dialogue]) -> dict[int, str]:
    """The first words of each dialogue, by dialogue id."""
    rows = annotate_opening(Dialogue.objects.filter(pk__in=[dialogue.pk for dialogue in dialogues]))
    return {row.pk: row.opening or "" for row in rows}  # type: ignore[attr-defined]  # annotated


def content_language(project: Project) -> str:
    """The `lang` attribute for texts of a project; empty if the project has several languages."""
    return "" if project.language == DialogueLanguage.MIXED else project.language
