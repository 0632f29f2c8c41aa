"""Words of a text in any language: Chinese, Japanese and Thai have no spaces, so each of their characters is one."""

from __future__ import annotations

import re

# CJK ideographs and their punctuation, kana, Thai; Hangul has spaces.
UNSPACED = (
    "\u0e00-\u0e7f\u2e80-\u30ff\u31c0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
WORD = re.compile(f"[{UNSPACED}]|(?:(?![{UNSPACED}])\\w)+(?:['’](?:(?![{UNSPACED}])\\w)+)*|[^\\w\\s]")


def split_words(text: str) -> list[str]:
    """Words in lower case, punctuation marks, and single characters of languages without spaces."""
    return WORD.findall(text.lower())


def is_chinese(text: str) -> bool:
    """Whether a text holds Chinese characters."""
    return bool(CHINESE.search(text))
