"""Whom the questions about utterances are asked about, beside who speaks in the dialogues."""

from dataclasses import dataclass
from typing import Final

from annotation.labelling.schema.questions import Question, Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from dialogues.models import Dialogue, Utterance
from projects.models import Project

LOOKED_AT: Final = 50  # dialogues, the oldest


@dataclass(frozen=True, slots=True)
class UnaskedSpeakers:
    """wanted: the speakers whom the questions name. found: those of the dialogues."""

    wanted: list[str]
    found: list[str]


def unasked_speakers(project: Project) -> UnaskedSpeakers | None:
    """Set if the schema has questions about utterances, and none of them is asked in the first dialogues."""
    row = current_schema(project)
    questions = (
        [] if row is None else [one for one in load_schema(row).questions if one.scope is Scope.UTTERANCE]
    )
    if not questions:
        return None
    first = Dialogue.objects.filter(project=project).order_by("id").values("pk")[:LOOKED_AT]
    rows = Utterance.objects.filter(dialogue__in=first).order_by("speaker")
    found = list(rows.values_list("speaker", flat=True).distinct())
    if not found or any(question.is_for(speaker) for question in questions for speaker in found):
        return None
    return UnaskedSpeakers(_named_speakers(questions), found)


def _named_speakers(questions: list[Question]) -> list[str]:
    named = [
        speaker
        for question in questions
        for speakers in (question.speakers, *(option.speakers for option in question.options))
        for speaker in speakers
    ]
    return list(dict.fromkeys(named))
