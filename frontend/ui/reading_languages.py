"""Choosing the languages that a person reads: English, Chinese and those chosen first, the rest behind a click."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django import forms
from django.utils.translation import gettext_lazy

from common.languages import LANGUAGES, language_name

ALWAYS_SHOWN: Final = ("en", "zh")


class LanguageChecks(forms.CheckboxSelectMultiple):
    """Arranged by components/language_checks.html."""


class ReadingLanguagesField(forms.MultipleChoiceField):
    def __init__(self) -> None:
        super().__init__(
            label=gettext_lazy("Languages that you read"),
            choices=LANGUAGES,
            widget=LanguageChecks,
            required=False,
            help_text=gettext_lazy(
                "You only get dialogues in these languages or with no stated language. If you tick none, you get all."
            ),
        )


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """name: in the language itself."""

    code: str
    name: str
    is_chosen: bool


def language_choices(chosen: Collection[str]) -> tuple[list[LanguageChoice], list[LanguageChoice]]:
    """The languages that are shown at once, and the others."""
    choices = [LanguageChoice(code, name, code in chosen) for code, name in LANGUAGES]
    first = [one for one in choices if one.is_chosen or one.code in ALWAYS_SHOWN]
    return first, [one for one in choices if one not in first]


def language_names(codes: Collection[str]) -> list[str]:
    return [language_name(code) for code in codes]
