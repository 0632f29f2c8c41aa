"""Texts for participants in the language that they chat in: statements and ice-breakers."""

from collections.abc import Iterable

from assessment.setup.models import AssessmentSettings, Statement
from assessment.setup.preset import LANGUAGE, LANGUAGE_NAMES
from measures.degradation import is_cjk
from projects.models import DialogueLanguage


def statement_text(
    statement: Statement, settings: AssessmentSettings, language: str, unnamed: str = ""
) -> str:
    """The statement as a participant reads it. language: that of their pages.

    unnamed: for pages that are not a participant's, instead of the language that each of them chats in.
    """
    is_chinese = language.startswith("zh")
    name = settings.language_name_zh if is_chinese else settings.language_name_en
    own = LANGUAGE_NAMES[DialogueLanguage.CHINESE if is_chinese else DialogueLanguage.ENGLISH]
    return statement.text(language).replace(LANGUAGE, name or unnamed or own[is_chinese])


def chat_language(project_language: str, participant_language: str) -> str:
    """The language that a participant chats in: that of the project, else that of their pages; "" if unknown."""
    if project_language != DialogueLanguage.MIXED:
        return project_language
    return participant_language


def sentences_in(language: str, sentences: Iterable[str]) -> list[str]:
    """The sentences in the script of the language; all of them if it is unknown."""
    is_chinese = language.startswith("zh")
    return [one for one in sentences if not language or is_cjk(one) == is_chinese]
