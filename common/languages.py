"""Languages of dialogues: codes as files write them, and the languages that people can say they read."""

import re
from typing import Final

from django.conf.locale import LANG_INFO
from django.utils.translation import gettext as _

# Codes of LANG_INFO, so that every language has its own name; Chinese has a code for each script there.
CODES: Final = (
    "en", "zh", "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id",
    "it", "ja", "ko", "ms", "nb", "nl", "pl", "pt", "ro", "ru", "sk", "sr", "sv", "sw", "ta", "te", "th", "tr", "uk",
    "ur", "vi",
)  # fmt: skip
ALIASES: Final = {
    **dict.fromkeys(("eng", "english"), "en"),
    **dict.fromkeys(("zho", "chi", "cmn", "chinese"), "zh"),
    "no": "nb",
}


def _own_name(code: str) -> str:
    if code == "zh":
        return "中文"
    name = str(LANG_INFO[code]["name_local"])
    return name[:1].upper() + name[1:]


CODE: Final = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")
LANGUAGES: Final = [(code, _own_name(code)) for code in CODES]
LANGUAGE_NAMES: Final = dict(LANGUAGES)


def language_name(code: str) -> str:
    """The language's own name, "Several languages" in the active language for "mul", or the code itself."""
    return _("Several languages") if code == "mul" else LANGUAGE_NAMES.get(code, code)


def is_language_code(code: str) -> bool:
    """Whether the code is written as "zh", "zh-Hans" or "en_US" and names a language that people can choose."""
    return bool(CODE.fullmatch(code) and primary_language(code))


def standard_language_code(code: str) -> str:
    """The code as BCP 47 writes it: "zh-Hans" for "ZH_hans", "en-US" for "en_us", "en" for "english".

    A code that names no language stays as it is.
    """
    if not is_language_code(code):
        return code
    _first, *rest = code.replace("_", "-").split("-")
    subtags = (
        part.title() if len(part) == 4 else part.upper() if len(part) == 2 else part.lower() for part in rest
    )
    return "-".join([primary_language(code), *subtags])


def primary_language(code: str) -> str:
    """The language of a code such as "zh-Hans" or "en_US": "zh", "en"; "" if it names none that people can choose."""
    first = code.strip().lower().replace("_", "-").split("-")[0]
    first = ALIASES.get(first, first)
    return first if first in LANGUAGE_NAMES else ""
