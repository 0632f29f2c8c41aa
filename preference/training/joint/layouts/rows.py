"""Rows of tokens in which several replies share one context.

A row is a forest of pieces. A piece sees all of its parent, its parent's parent and so on, and itself up to the token
at hand; its positions go on where its parent's end. A chain of pieces is plain text, two children of one piece are two
replies to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ROOT = -1
MicroBatch = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Piece:
    """parent: index in the row, ROOT for none; reply: its name if it is a scored reply; learned: its tokens are."""

    tokens: Sequence[int]
    parent: int = ROOT
    reply: Hashable = None
    learned: bool = False


@dataclass(slots=True)
class Row:
    pieces: list[Piece] = field(default_factory=list)
    tokens: int = 0

    def add(
        self, tokens: Sequence[int], parent: int = ROOT, *, reply: Hashable = None, learned: bool = False
    ) -> int:
        """The index of the new piece. tokens: not empty; learned needs a parent, from whose last token the first is
        predicted."""
        if not tokens or (learned and parent == ROOT):
            raise ValueError("A piece needs tokens, and a learned one a parent.")
        self.pieces.append(Piece(tokens, parent, reply, learned))
        self.tokens += len(tokens)
        return len(self.pieces) - 1

    def join(self, other: Row) -> None:
        """Append the other row's pieces; neither sees the other."""
        shift = len(self.pieces)
        for piece in other.pieces:
            parent = piece.parent if piece.parent == ROOT else piece.parent + shift
            self.pieces.append(Piece(piece.tokens, parent, piece.reply, piece.learned))
        self.tokens += other.tokens

    @property
    def is_chain(self) -> bool:
        return all(piece.parent == index - 1 for index, piece in enumerate(self.pieces))


@dataclass(frozen=True, slots=True)
class Collated:
    """tensors: for JointModel.forward, but for the totals of the step; replies: the name of each score; learned: the
    name of the reply that each target belongs to."""

    tensors: MicroBatch
    replies: list[Hashable]
    learned: list[Hashable]


@dataclass(slots=True)
class _Lists:
    """What is gathered over the rows of a micro-batch."""

    predict_at: list[tuple[int, int]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    score_at: list[tuple[int, int]] = field(default_factory=list)
    replies: list[Hashable] = field(default_factory=list)
    learned: list[Hashable] = field(default_factory=list)


def collate(rows: Sequence[Row], pad: int, pairs: Iterable[tuple[Hashable, Hashable]] = ()) -> Collated:
    """Right-padded tensors of rows; pairs: names of the better and the worse reply, all of them in these rows."""
    width = max(row.tokens for row in rows)
    tokens = np.full((len(rows), width), pad, dtype=np.int64)
    positions = np.zeros_like(tokens)
    lists = _Lists()
    for number, row in enumerate(rows):
        _lay_out(row, number, tokens[number], positions[number], lists)
    index = {name: place for place, name in enumerate(lists.replies)}
    tensors = {
        "input_ids": torch.from_numpy(tokens),
        "predict_at": _table(lists.predict_at),
        "targets": torch.tensor(lists.targets, dtype=torch.long),
        "score_at": _table(lists.score_at),
        "pairs": _table([(index[better], index[worse]) for better, worse in pairs]),
    }
    # Plain text needs no mask: right padding is out of sight of what stands before it.
    if not all(row.is_chain for row in rows):
        tensors["position_ids"] = torch.from_numpy(positions)
        tensors["attention"] = torch.from_numpy(np.stack([_visible(row, width) for row in rows]))
    return Collated(tensors, lists.replies, lists.learned)


def _table(pairs: Sequence[tuple[int, int]]) -> Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def _lay_out(
    row: Row, number: int, tokens: NDArray[np.int64], positions: NDArray[np.int64], lists: _Lists
) -> None:
    """Fill one row of the tensors; number: which."""
    ends: list[tuple[int, int]] = []  # column and position of the last token of each piece
    start = 0
    for piece in row.pieces:
        column, position = ends[piece.parent] if piece.parent != ROOT else (-1, -1)
        stop = start + len(piece.tokens)
        tokens[start:stop] = piece.tokens
        positions[start:stop] = np.arange(position + 1, position + 1 + len(piece.tokens))
        if piece.learned:
            lists.predict_at += [(number, at) for at in (column, *range(start, stop - 1))]
            lists.targets += piece.tokens
            lists.learned += [piece.reply] * len(piece.tokens)
        if piece.reply is not None:
            lists.score_at.append((number, stop - 1))
            lists.replies.append(piece.reply)
        ends.append((stop - 1, position + len(piece.tokens)))
        start = stop


def _visible(row: Row, width: int) -> NDArray[np.bool_]:
    """(width, width): which column (second axis) each token sees. Padding sees padding, so that no token sees none."""
    count = len(row.pieces)
    above = np.eye(count + 1, dtype=bool)
    for index, piece in enumerate(row.pieces):
        if piece.parent != ROOT:
            above[index] |= above[piece.parent]
    sizes = [*(len(piece.tokens) for piece in row.pieces), width - row.tokens]
    # Parents come before their children, so that "no later column" is right within and between pieces.
    seen = above.repeat(sizes, axis=1).repeat(sizes, axis=0)
    return np.tril(seen)
