"""Which script a text is written in. Plain Python: backends use it too."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

# By the first word of a letter's name in Unicode; letters of other scripts are not told apart.
SCRIPTS = frozenset(
    {
        "LATIN",
        "CJK",
        "HIRAGANA",
        "KATAKANA",
        "HANGUL",
        "CYRILLIC",
        "GREEK",
        "ARABIC",
        "HEBREW",
        "THAI",
        "DEVANAGARI",
    }
)
BY_LANGUAGE = {
    "en": ("LATIN",), "de": ("LATIN",), "fr": ("LATIN",), "es": ("LATIN",), "zh": ("CJK",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"), "ko": ("HANGUL",), "ru": ("CYRILLIC",), "el": ("GREEK",),
    "ar": ("ARABIC",), "he": ("HEBREW",), "th": ("THAI",), "hi": ("DEVANAGARI",),
}  # fmt: skip


@cache
def script_of(character: str) -> str:
    """The script of a letter; "" for anything that belongs to none, such as a digit or a comma."""
    if not unicodedata.category(character).startswith("L"):
        return ""
    first = unicodedata.name(unicodedata.normalize("NFKC", character)[0], "").split(" ")[0]
    return first if first in SCRIPTS else ""


def scripts_in(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(script_of, text)))


def allowed_scripts(language: str, texts: Iterable[str]) -> tuple[str, ...]:
    """The scripts of the dialogue's language and of what was said so far, sorted; empty if neither tells."""
    of_language = BY_LANGUAGE.get(language.split("-")[0].lower(), ())
    return tuple(sorted({*of_language, *(script for text in texts for script in scripts_in(text))}))


def main_script(texts: Iterable[str]) -> str:
    """The script of most letters; "" without letters."""
    counted = Counter(filter(None, (script_of(character) for text in texts for character in text)))
    return counted.most_common(1)[0][0] if counted else ""


def is_mixed(text: str, main: str) -> bool:
    """Whether a text has letters that are foreign beside the dialogue's script; Latin names are common everywhere."""
    usual = {main, "LATIN"} | (
        {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"} if main not in ("", "LATIN") else set()
    )
    return bool(main) and not scripts_in(text) <= usual
