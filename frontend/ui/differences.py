"""What was changed between a candidate and the utterance that came of it, for people to see."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

# Words of scripts that have words, single characters of those that have not.
TOKEN = re.compile(r"[^\W\d_\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]+|\d+|\s+|.", re.DOTALL)
MOST = 4_000_000  # tokens × tokens; above, the comparison would keep the page waiting


@dataclass(frozen=True, slots=True)
class Piece:
    """kind: same, added or removed."""

    kind: str
    text: str


def differences(before: str, after: str) -> list[Piece]:
    """The pieces of both, in order: without the added ones they are `before`, without the removed ones `after`."""
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    if len(old) * len(new) > MOST:
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
