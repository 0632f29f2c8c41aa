"""Translated messages of a run, in the language that LAPIDARY_LANGUAGE names; English by default.

Training imports no Django, so the standard library reads the catalogues that the pages use. Processes of Django
install Django's own translator instead (`use_translator`), which follows the language of the current request.
"""

from __future__ import annotations

import gettext as library
import os
from functools import lru_cache
from pathlib import Path
from typing import Protocol

LANGUAGE = "LAPIDARY_LANGUAGE"  # name of the environment variable; its value is for example zh-hans
LOCALE_FOLDER = Path(__file__).resolve().parents[3] / "frontend" / "locale"


class Translator(Protocol):
    """What `gettext.GNUTranslations` and `django.utils.translation` have in common."""

    def gettext(self, message: str, /) -> str: ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


class _Installed:
    """The translator of this process; None means the catalogue of LANGUAGE."""

    translator: Translator | None = None


def use_translator(translator: Translator) -> None:
    """Translate with `translator` from now on, in the whole process."""
    _Installed.translator = translator


@lru_cache
def catalogue(language: str) -> Translator:
    """The catalogue of a language code such as zh-hans (folder zh_Hans); English if missing."""
    main, _hyphen, script = language.replace("_", "-").partition("-")
    name = f"{main.lower()}_{script.title()}".rstrip("_")
    return library.translation("django", LOCALE_FOLDER, [name], fallback=True)


def _translator() -> Translator:
    return _Installed.translator or catalogue(os.environ.get(LANGUAGE, ""))


def gettext(message: str) -> str:
    """The translation of `message`, or `message` itself."""
    return _translator().gettext(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    """The translation of the form that `number` needs."""
    return _translator().ngettext(singular, plural, number)


def join_sentences(first: str, second: str) -> str:
    """Join two sentences, either of which may be empty. Chinese puts no space between them."""
    if not (first and second):
        return first or second
    return gettext("%(first)s %(second)s") % {"first": first, "second": second}
