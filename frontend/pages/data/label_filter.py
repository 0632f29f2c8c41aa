"""Dialogues by the value of their final label: the select box, and what its choice means."""

from typing import Final

from django.utils.translation import gettext_lazy, pgettext

from annotation.labelling.schema.questions import WITH_OPTIONS, Kind, Option, Question, Scope
from annotation.labelling.selectors.dialogue_labels import FinalAnswer
from annotation.labelling.selectors.schemas import load_schema
from frontend.ui.filters import Filter
from frontend.ui.labels import in_language
from projects.models import Project

FINAL_LABEL: Final = "final"


def final_label_filters(project: Project) -> list[Filter]:
    """One select box with every option of the questions about a dialogue; none without such questions."""
    choices = [(_key(question, option), _words(question, option)) for question, option in _options(project)]
    label = Filter(FINAL_LABEL, gettext_lazy("Final label"), gettext_lazy("Every final label"), choices)
    return [label] if choices else []


def chosen_answer(project: Project, choice: str) -> FinalAnswer | None:
    """The answer that a choice of final_label_filters stands for."""
    for question, option in _options(project):
        if _key(question, option) == choice:
            return FinalAnswer(question.key, option.value, is_list=question.kind is Kind.CHOICES)
    return None


def _options(project: Project) -> list[tuple[Question, Option]]:
    if project.labelling.schema is None:
        return []
    questions = load_schema(project.labelling.schema).of_scope(Scope.DIALOGUE)
    return [(one, option) for one in questions if one.kind in WITH_OPTIONS for option in one.options]


def _key(question: Question, option: Option) -> str:
    return f"{question.key}={option.value}"


def _words(question: Question, option: Option) -> str:
    colon = pgettext("between a question and its answer", ": ")
    return f"{in_language(question.text)}{colon}{in_language(option.text)}"
