"""Texts that people wrote in English and Chinese, one after the other: the part that the reader reads."""

import re
from typing import Final

from django.utils.translation import get_language

from frontend.ui.markdown import is_chinese

# A language changes after the end of a sentence or a line.
PARTS: Final = re.compile(r"(?<=[.!?。！？])\s*|\n+")
BLANK_LINE: Final = re.compile(r"\n\s*\n")  # browsers send lines with \r\n
CHINESE_SHARE: Final = 0.25  # of the characters of a Chinese sentence; the rest are names and digits
LEAST_SHARE: Final = 0.2  # of a text, below which the other language is a quotation rather than a translation


def in_reader_language(text: str) -> str:
    """The sentences in the language of the interface; the whole text if it is in one language."""
    languages = [(part, _is_chinese_sentence(part)) for part in _sentences(text)]
    chinese = sum(_length(part) for part, is_zh in languages if is_zh)
    whole = sum(_length(part) for part, _is_zh in languages)
    if not LEAST_SHARE * whole <= chinese <= (1 - LEAST_SHARE) * whole:
        return text
    reads_chinese = (get_language() or "").startswith("zh")
    paragraphs = (
        "".join(part for part in _sentences(paragraph) if _is_chinese_sentence(part) is reads_chinese).strip()
        for paragraph in BLANK_LINE.split(text)
    )
    return "\n\n".join(filter(None, paragraphs))


def first_paragraph(text: str) -> str:
    return BLANK_LINE.split(text.strip(), maxsplit=1)[0].rstrip()


def _sentences(text: str) -> list[str]:
    """The sentences with the spaces and lines that follow them."""
    ends = [match.end() for match in PARTS.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if end > start]


def _is_chinese_sentence(sentence: str) -> bool:
    letters = [letter for letter in sentence if letter.isalnum()]
    return sum(map(is_chinese, letters)) > CHINESE_SHARE * len(letters) if letters else False


def _length(sentence: str) -> float:
    """A Chinese character says about as much as three letters."""
    return sum(3 if is_chinese(letter) else 1 for letter in sentence if letter.isalnum())
