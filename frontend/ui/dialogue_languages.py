"""Languages of dialogues in words, and those to choose from."""

from common.languages import LANGUAGES, language_name, primary_language
from projects.models import DialogueLanguage, Project


def named_with_code(code: str) -> str:
    """The language's own name beside the code, which may name a script too: "中文 (zh-Hans)"."""
    name = language_name(primary_language(code) or code)
    return name if code in (name, primary_language(code), "mul") else f"{name} ({code})"


def languages_from(project: Project) -> list[tuple[str, str]]:
    """The languages that dialogues can get; the project's own one comes first."""
    return sorted(LANGUAGES, key=lambda choice: choice[0] != project.language)


def default_language(project: Project) -> str:
    """The language that dialogues of the project get unless people choose another; "" if it has several."""
    return "" if project.language == DialogueLanguage.MIXED else project.language
