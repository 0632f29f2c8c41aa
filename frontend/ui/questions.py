"""What questions and statements are called on pages: words in the reader's language; files keep the keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.text import Truncator
from django.utils.translation import get_language, pgettext, pgettext_lazy
from django.utils.translation import gettext as _

from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors.ratings import RatedQuestion, rated_questions
from annotation.labelling.selectors.schemas import load_schema
from assessment.setup.models import AssessmentSettings
from assessment.setup.preset import STATEMENTS
from assessment.setup.wording import statement_text
from frontend.ui.dialogues import speaker_name
from frontend.ui.labels import in_language
from measures.system_scores import OVERALL
from projects.models import Project, Protocol

MAX_TOPIC: Final = 40  # characters
MAX_TITLE: Final = 60
# The preset's statements in a word, for the heads of columns.
SHORT_NAMES: Final = {
    "robotic": pgettext_lazy("statement", "robotic"),
    "interesting": pgettext_lazy("statement", "interesting"),
    "fun": pgettext_lazy("statement", "fun"),
    "consistent": pgettext_lazy("statement", "consistent"),
    "fluent": pgettext_lazy("statement", "fluent"),
    "repetitive": pgettext_lazy("statement", "repetitive"),
    "topic": pgettext_lazy("statement", "on topic"),
}
PRESET: Final = frozenset(STATEMENTS)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """options: their texts, by value as JSON has it for a key."""

    title: str
    options: Mapping[str, str]


def question_words(project: Project) -> dict[str, QuestionWords]:
    """The questions of a labelling project by key; empty for other projects."""
    schema = project.labelling.schema if project.protocol == Protocol.LABELLING else None
    return {
        key: QuestionWords(
            question_title(question),
            {str(option.value): in_language(option.text) for option in question.options},
        )
        for key, question in (load_schema(schema).by_key if schema else {}).items()
    }


def rated_titles(project: Project) -> dict[str, str]:
    """By the name of each rated question."""
    return {one.name: _title_of_rated(one) for one in rated_questions(project)}


def judged_titles(project: Project) -> dict[str, str]:
    """By the name of everything that people judge: the questions of a schema, or the statements of a study."""
    if project.protocol == Protocol.ASSESSMENT:
        overall = {OVERALL: _("overall, all statements")}
        return overall | statement_texts(AssessmentSettings.objects.get(project=project))
    if project.protocol == Protocol.LABELLING:
        return {key: words.title for key, words in question_words(project).items()} | rated_titles(project)
    return {}


def question_title(question: Question) -> str:
    """The topic of a question, "Customer satisfaction", or else its text."""
    text = in_language(question.text).rstrip(".。")
    topic = re.split("[:：]", text)[0]
    return topic if topic and len(topic) <= MAX_TOPIC else Truncator(text).chars(MAX_TITLE)


def _title_of_rated(rated: RatedQuestion) -> str:
    """The title of the question, with what is rated of it."""
    option = in_language(rated.option.text) if rated.option else ""
    return " · ".join(
        filter(None, [question_title(rated.question), speaker_name(rated.speaker or ""), option])
    )


def statement_texts(settings: AssessmentSettings) -> dict[str, str]:
    """The sentences that participants rate, by name; a study in several languages names none."""
    language, unnamed = get_language() or "", pgettext("statement", "language")
    return {each.name: statement_text(each, settings, language, unnamed) for each in settings.statement_list}


def statement_words(settings: AssessmentSettings) -> dict[str, str]:
    """By name, as short as it gets: a word for the preset's statements, the sentence for those of the project."""
    words = {each.name: str(SHORT_NAMES[each.name]) for each in settings.statement_list if each in PRESET}
    sentences = {name: text.rstrip(".。") for name, text in statement_texts(settings).items()}
    return sentences | words
