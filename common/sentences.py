"""Sentences that follow each other."""

import re
from collections.abc import Iterable
from typing import Final

# Full-width marks bring their own space: Chinese puts none between sentences.
FULL_WIDTH_ENDS: Final = ("。", "！", "？", "；", "：", "）")

# White space after such a mark, and the tags that may end or begin in between.
SPACE_AFTER: Final = re.compile(rf"([{''.join(FULL_WIDTH_ENDS)}]”?)((?:</?[a-z][^>]*>)*)\s+(?=\S)")


def close_gaps(html: str) -> str:
    """The HTML of a paragraph, without the white space that follows a full-width mark."""
    return SPACE_AFTER.sub(r"\1\2", html)


def join_sentences(sentences: Iterable[object]) -> str:
    """The sentences one after the other, with a space where the mark before it is not a full-width one."""
    joined = ""
    for text in map(str, filter(None, sentences)):
        needs_space = joined and not joined.rstrip("”").endswith(FULL_WIDTH_ENDS)
        joined += f" {text}" if needs_space else text
    return joined
