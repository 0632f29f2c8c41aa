"""Rows of tokens in which several replies share one context, and their tensors.

A row is a forest of pieces. A piece attends to all of its parent, its parent's parent and so on, and to itself up to
the current token; its positions continue where its parent's end. A chain of pieces is plain text; two children of one
piece are two replies to it:

    piece         0: context    1: human    2: model
    parent        none          0           0
    tokens        c c c         h h         m m
    positions     0 1 2         3 4         3 4

    attention           c c c h h m m
                    c   x
                    c   x x
                    c   x x x
                    h   x x x x
                    h   x x x x x
                    m   x x x . . x
                    m   x x x . . x x
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
    """tokens: not empty. parent: index in the row, ROOT if it has none. reply: its name if it is scored, else None.

    learned: whether its tokens are targets of the generation loss.
    """

    tokens: Sequence[int]
    parent: int = ROOT
    reply: Hashable = None
    learned: bool = False


@dataclass(slots=True)
class Row:
    """pieces: parents before their children. tokens: how many in all."""

    pieces: list[Piece] = field(default_factory=list)
    tokens: int = 0

    def add(
        self, tokens: Sequence[int], parent: int = ROOT, *, reply: Hashable = None, learned: bool = False
    ) -> int:
        """Append a piece; returns its index.

        Raises ValueError for a piece without tokens, or a learned one without a parent, from whose last token its first
        is predicted.
        """
        if not tokens or (learned and parent == ROOT):
            raise ValueError("A piece needs tokens, and a learned one a parent.")
        self.pieces.append(Piece(tokens, parent, reply, learned))
        self.tokens += len(tokens)
        return len(self.pieces) - 1

    def join(self, other: Row) -> None:
        """Append the pieces of another row; the two do not attend to each other."""
        shift = len(self.pieces)
        for piece in other.pieces:
            parent = piece.parent if piece.parent == ROOT else piece.parent + shift
            self.pieces.append(Piece(piece.tokens, parent, piece.reply, piece.learned))
        self.tokens += other.tokens

    @property
    def is_chain(self) -> bool:
        """Whether the row is plain text, for which causal attention is right."""
        return all(piece.parent == index - 1 for index, piece in enumerate(self.pieces))


@dataclass(frozen=True, slots=True)
class Collated:
    """Tensors of rows, and what their entries stand for.

    tensors: arguments of JointModel.forward, without the totals of the step. replies: (K,) the name of each score.
    learned: (N,) the name of the reply that each target belongs to.
    """

    tensors: MicroBatch
    replies: list[Hashable]
    learned: list[Hashable]


@dataclass(slots=True)
class _Indices:
    """Gathered over the rows of a micro-batch; see JointModel.forward."""

    predict_at: list[tuple[int, int]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    score_at: list[tuple[int, int]] = field(default_factory=list)
    replies: list[Hashable] = field(default_factory=list)
    learned: list[Hashable] = field(default_factory=list)


def collate(rows: Sequence[Row], pad: int, pairs: Iterable[tuple[Hashable, Hashable]] = ()) -> Collated:
    """Tensors of rows, padded on the right to the longest.

    pad: token id of the padding. pairs: names of the better and the worse reply, all of them in these rows. With B
    rows of at most L tokens, K scored replies, N learned tokens and P pairs the tensors are

        input_ids (B, L)    predict_at (N, 2)    targets (N,)    score_at (K, 2)    pairs (P, 2)

    and, unless all rows are plain text, position_ids (B, L) and attention (B, L, L).
    """
    width = max(row.tokens for row in rows)
    tokens = np.full((len(rows), width), pad, dtype=np.int64)
    positions = np.zeros_like(tokens)
    indices = _Indices()
    for number, row in enumerate(rows):
        _fill_row(row, number, tokens[number], positions[number], indices)
    place = {name: index for index, name in enumerate(indices.replies)}
    tensors = {
        "input_ids": torch.from_numpy(tokens),
        "predict_at": _index_pairs(indices.predict_at),
        "targets": torch.tensor(indices.targets, dtype=torch.long),
        "score_at": _index_pairs(indices.score_at),
        "pairs": _index_pairs([(place[better], place[worse]) for better, worse in pairs]),
    }
    # Plain text needs no mask: causal attention never reaches padding on the right.
    if not all(row.is_chain for row in rows):
        tensors["position_ids"] = torch.from_numpy(positions)
        tensors["attention"] = torch.from_numpy(np.stack([_visible(row, width) for row in rows]))
    return Collated(tensors, indices.replies, indices.learned)


def _index_pairs(pairs: Sequence[tuple[int, int]]) -> Tensor:
    """(n, 2), also for n = 0."""
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def _fill_row(
    row: Row, number: int, tokens: NDArray[np.int64], positions: NDArray[np.int64], indices: _Indices
) -> None:
    """Write one row into its slices of the tensors, (L,) each, and append its indices. number: of the row."""
    ends: list[tuple[int, int]] = []  # column and position of the last token of each piece
    start = 0
    for piece in row.pieces:
        column, position = ends[piece.parent] if piece.parent != ROOT else (-1, -1)
        stop = start + len(piece.tokens)
        tokens[start:stop] = piece.tokens
        positions[start:stop] = np.arange(position + 1, position + 1 + len(piece.tokens))
        if piece.learned:
            # The first token is predicted from the parent's last one, wherever that is in the row.
            indices.predict_at += [(number, at) for at in (column, *range(start, stop - 1))]
            indices.targets += piece.tokens
            indices.learned += [piece.reply] * len(piece.tokens)
        if piece.reply is not None:
            indices.score_at.append((number, stop - 1))
            indices.replies.append(piece.reply)
        ends.append((stop - 1, position + len(piece.tokens)))
        start = stop


def _visible(row: Row, width: int) -> NDArray[np.bool_]:
    """(L, L) with L = width: which column (second axis) each token (first axis) attends to.

    Padding attends to padding, because a softmax over nothing would be NaN.
    """
    count = len(row.pieces)
    sees = np.eye(count + 1, dtype=bool)  # piece by piece; the last one is the padding
    for index, piece in enumerate(row.pieces):
        if piece.parent != ROOT:
            sees[index] |= sees[piece.parent]
    sizes = [*(len(piece.tokens) for piece in row.pieces), width - row.tokens]
    # Parents come before their children, so that "no later column" is right within and between pieces.
    return np.tril(sees.repeat(sizes, axis=1).repeat(sizes, axis=0))
