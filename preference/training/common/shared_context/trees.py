"""Trees of texts: what several texts begin with is one path, and each text ends at a node of its own.

    texts            tree

    a b c d          a b ─┬─ c d      read after b, d and e;
    a b e                 └─ e        5 tokens are fed instead of 9
    a b

Texts are compared as token sequences, so that a tree is right by construction: nothing is assumed about where a
tokenizer puts its boundaries. In lexicographic order the texts that share most stand beside each other, and the common
beginning of a run of texts is that of its first and its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from preference.training.common.shared_context.rows import ROOT, Row, Tokens
from preference.training.common.shared_context.stem import Stem


@dataclass(frozen=True, slots=True, order=True)
class Branch:
    """What a text has beyond the stem.

    parent: the piece of the stem where it leaves, ROOT without a stem. tokens: not empty. text: the whole text, by
    which its end is named.
    """

    parent: int
    tokens: Tokens
    text: Tokens


def branches(texts: Iterable[Tokens], stem: Stem | None = None) -> list[Branch]:
    """A branch for every different text, in the order in which neighbours share most. Texts are not empty."""
    found = []
    for text in set(texts):
        parent, depth = stem.leave(text) if stem else (ROOT, 0)
        found.append(Branch(parent, text[depth:], text))
    return sorted(found)


def cut(ordered: Sequence[Branch], limit: int) -> list[list[Branch]]:
    """Runs of branches whose trees have at most `limit` tokens each; a branch that exceeds it is a run of its own.

    What two runs share is fed in both.
    """
    runs: list[list[Branch]] = []
    tokens = 0
    for branch in ordered:
        added = len(branch.tokens) - (_shared(runs[-1][-1], branch) if runs else 0)
        if not runs or tokens + added > limit:
            runs.append([])
            tokens, added = 0, len(branch.tokens)
        runs[-1].append(branch)
        tokens += added
    return runs


def tree(run: Sequence[Branch], stem: Stem | None = None) -> Row:
    """The row of a run of `branches`, on the stem that they leave; every text names the piece at whose end it ends."""
    row = Row(stem=stem.row if stem else None)
    for parent, group in groupby(run, key=lambda branch: branch.parent):
        _grow(row, parent, list(group), 0)
    return row


def plain_row(branch: Branch) -> Row:
    """The whole text as a row of its own, for models that cannot share."""
    row = Row()
    row.add(branch.text, name=branch.text)
    return row


def _grow(row: Row, parent: int, group: Sequence[Branch], start: int) -> None:
    """Add what the branches have after their first `start` tokens, which they share. group: sorted."""
    for _, same_token in groupby(group, key=lambda branch: branch.tokens[start]):
        limb = list(same_token)
        end = common_length(limb[0].tokens, limb[-1].tokens)
        # The shortest comes first, and there is only one of each.
        ends_here = len(limb[0].tokens) == end
        piece = row.add(limb[0].tokens[start:end], parent, name=limb[0].text if ends_here else None)
        _grow(row, piece, limb[ends_here:], end)


def _shared(one: Branch, other: Branch) -> int:
    """Tokens that two neighbours in a tree share."""
    return common_length(one.tokens, other.tokens) if one.parent == other.parent else 0


def common_length(one: Tokens, other: Tokens) -> int:
    """How many tokens two texts have in common at their beginning; by bisection, whose comparisons run in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
