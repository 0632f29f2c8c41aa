"""Distorting the meaning of a reply, as the degraded system of live assessment does (Ji et al., 2022, §4.1).

A run of words is replaced by as many words of another dialogue. Words are what spaces separate; every Chinese, Japanese
or Korean character and its punctuation counts as a word of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

CJK: Final = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
WORD: Final = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
CJK_CHARACTER: Final = re.compile(f"[{CJK}]")
# Longest length of each class, and how many words are replaced in it.
REPLACED: Final = ((3, 1), (5, 2), (8, 3), (15, 4), (29, 5))


@dataclass(frozen=True, slots=True)
class Distortion:
    """text: the distorted reply. start: of the replaced span, in words. removed, inserted: the words before and after,
    with the spaces between them; both spans have `count` words."""

    text: str
    start: int
    count: int
    removed: str
    inserted: str


def replaced_words(length: int) -> int:
    """How many consecutive words of a reply of `length` >= 1 words are replaced."""
    if length < 1:
        raise ValueError("a reply has at least one word")
    return next((count for longest, count in REPLACED if length <= longest), length // 5)


def count_words(text: str) -> int:
    return sum(1 for _ in WORD.finditer(text))


def is_cjk(text: str) -> bool:
    """Whether most words of the text are Chinese, Japanese or Korean characters."""
    words = WORD.findall(text)
    return 2 * sum(CJK_CHARACTER.match(word) is not None for word in words) > len(words)


def distort(text: str, donor: str, rng: Random) -> Distortion:
    """Replace a random run of words of `text` by a random run of words of `donor`.

    From three words on, the first and the last word stay. `text` has at least one word, and `donor` at least
    `replaced_words(n)` of them; raises ValueError otherwise.
    """
    words, others = _spans(text), _spans(donor)
    count = replaced_words(len(words))
    if len(others) < count:
        raise ValueError(f"the other dialogue has {len(others)} words, and {count} are needed")
    edge = 1 if len(words) >= 3 else 0
    start = rng.randint(edge, len(words) - edge - count)
    first, last = words[start][0], words[start + count - 1][1]
    inserted = _slice(donor, others, rng.randint(0, len(others) - count), count)
    distorted = _join(_join(text[:first], inserted), text[last:])
    return Distortion(distorted, start, count, text[first:last], inserted)


def span_of_words(text: str, start: int, count: int) -> tuple[int, int]:
    """Where `count` words from the word `start` on begin and end, in characters. Raises IndexError beyond the text."""
    spans = _spans(text)
    return spans[start][0], spans[start + count - 1][1]


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in WORD.finditer(text)]


def _join(before: str, after: str) -> str:
    """With a space where two words would become one: Chinese characters and Latin words may touch in a text."""
    touching = WORD.fullmatch(before[-1:] + after[:1]) if before and after else None
    return f"{before} {after}" if touching else before + after


def _slice(text: str, spans: Sequence[tuple[int, int]], start: int, count: int) -> str:
    return " ".join(text[spans[start][0] : spans[start + count - 1][1]].split("\n"))
