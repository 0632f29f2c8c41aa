"""The language of texts, as far as random replies need it: one in another language is too easy to tell apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

# PostgreSQL reads the same expression: preference/data/selectors/random_replies.py groups replies by it.
CHINESE_CHARACTER = "[\u4e00-\u9fff]"
_CHINESE = re.compile(CHINESE_CHARACTER)


def guess_language(texts: Sequence[str]) -> str:
    """`zh` for texts with a Chinese character, else "": a coarse guess that keeps scripts apart."""
    return "zh" if any(_CHINESE.search(text) for text in texts) else ""
