"""What a run says to a person: in the language that LAPIDARY_LANGUAGE names, in English without it.

The translations are those of the pages, read by the standard library, as a run knows no Django. In processes of Django
its own functions take their place (`speak`), which follow the language of the person who asks.
"""

from __future__ import annotations

import gettext as library
import os
from functools import lru_cache
from pathlib import Path
from typing import Protocol

LANGUAGE = "LAPIDARY_LANGUAGE"  # for example zh-hans
CATALOGUES = Path(__file__).resolve().parents[3] / "frontend" / "locale"


class Speaker(Protocol):
    def gettext(self, message: str, /) -> str: ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


class _Spoken:
    """by: who translates in this process; None is the catalogue of LANGUAGE."""

    by: Speaker | None = None


def speak(by: Speaker) -> None:
    _Spoken.by = by


@lru_cache
def catalogue(language: str) -> Speaker:
    """English where there is none. The folder of zh-hans is zh_Hans."""
    main, _hyphen, script = language.replace("_", "-").partition("-")
    name = f"{main.lower()}_{script.title()}".rstrip("_")
    return library.translation("django", CATALOGUES, [name], fallback=True)


def _speaker() -> Speaker:
    return _Spoken.by or catalogue(os.environ.get(LANGUAGE, ""))


def gettext(message: str) -> str:
    return _speaker().gettext(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    return _speaker().ngettext(singular, plural, number)


def together(first: str, second: str) -> str:
    """Two sentences, of which one may be empty. Chinese has no space between them."""
    if not (first and second):
        return first or second
    return gettext("%(first)s %(second)s") % {"first": first, "second": second}
