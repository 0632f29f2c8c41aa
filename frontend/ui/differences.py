"""The changes between two texts, for example a candidate and the utterance written from it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

# Words; single characters in scripts without spaces between words.
TOKEN = re.compile(r"[^\W\d_\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]+|\d+|\s+|.", re.DOTALL)
MAX_COMPARISONS = 4_000_000  # tokens × tokens; a longer comparison would delay the page


@dataclass(frozen=True, slots=True)
class Piece:
    """kind: same, added or removed."""

    kind: str
    text: str


def diff_texts(before: str, after: str) -> list[Piece]:
    """Pieces in order. Without the added ones they are `before`, without the removed ones `after`."""
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    if len(old) * len(new) > MAX_COMPARISONS:
        return [piece for piece in (Piece("removed", before), Piece("added", after)) if piece.text]
    return list(_pieces(old, new))


def _pieces(old: list[str], new: list[str]) -> Iterator[Piece]:
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Piece("same", "".join(old[i:j]))
            continue
        if i < j:
            yield Piece("removed", "".join(old[i:j]))
        if k < m:
            yield Piece("added", "".join(new[k:m]))
