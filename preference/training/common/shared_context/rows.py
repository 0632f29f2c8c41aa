"""Rows of tokens in which several texts share what they begin with, and their tensors.

A row is a forest of pieces. A piece attends to all of its parent, its parent's parent and so on, and to itself up to
the current token; its positions continue where its parent's end. A chain of pieces is plain text; two children of one
piece are two continuations of it, for example two replies to one context:

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

Every token attends to exactly the tokens that it would attend to as plain text, at the same positions. Its hidden
state is therefore the same number, and what several texts begin with is computed once.

A row may also stand on a stem: a row that was encoded before, whose keys and values are in a cache. Its pieces count
as the first pieces of the row, but are not fed again (see `stem`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ROOT = -1
Tokens = tuple[int, ...]
MicroBatch = dict[str, Tensor]  # arguments of a model's forward


@dataclass(frozen=True, slots=True)
class Piece:
    """tokens: not empty. parent: index in the row, ROOT if it has none. name: None if its end is not read.

    learned: whether its tokens are targets of the generation loss; without the last one if it is_cut, because a limit
    and not its writer ended it.
    """

    tokens: Sequence[int]
    parent: int = ROOT
    name: Hashable = None
    learned: bool = False
    is_cut: bool = False

    @property
    def targets(self) -> Sequence[int]:
        """Those of its tokens that are learned."""
        if not self.learned:
            return ()
        return self.tokens[:-1] if self.is_cut else self.tokens


@dataclass(slots=True)
class Row:
    """pieces: parents before their children. tokens: how many in all.

    stem: a row that is already encoded, or None. Its n pieces have the indices 0 … n - 1, the row's own ones follow.
    """

    pieces: list[Piece] = field(default_factory=list)
    tokens: int = 0
    stem: Row | None = None

    def add(
        self,
        tokens: Sequence[int],
        parent: int = ROOT,
        *,
        name: Hashable = None,
        learned: bool = False,
        is_cut: bool = False,
    ) -> int:
        """Append a piece; returns its index.

        Raises ValueError for a piece without tokens, or a learned one without a parent, from whose last token its first
        is predicted.
        """
        if not tokens or (learned and parent < self._stem_pieces):
            raise ValueError("A piece needs tokens, and a learned one a parent in its row.")
        self.pieces.append(Piece(tokens, parent, name, learned, is_cut))
        self.tokens += len(tokens)
        return self._stem_pieces + len(self.pieces) - 1

    def join(self, other: Row) -> None:
        """Append the pieces of another row on the same stem; the two do not attend to each other."""
        shift = len(self.pieces)
        for piece in other.pieces:
            parent = piece.parent if piece.parent < self._stem_pieces else piece.parent + shift
            self.pieces.append(Piece(piece.tokens, parent, piece.name, piece.learned, piece.is_cut))
        self.tokens += other.tokens

    @property
    def is_chain(self) -> bool:
        """Whether the row is plain text, for which causal attention is right."""
        return self.stem is None and all(piece.parent == index - 1 for index, piece in enumerate(self.pieces))

    @property
    def all_pieces(self) -> list[Piece]:
        """Those of the stem, then its own."""
        return [*(self.stem.pieces if self.stem else ()), *self.pieces]

    @property
    def _stem_pieces(self) -> int:
        return len(self.stem.pieces) if self.stem else 0


@dataclass(frozen=True, slots=True)
class Collated:
    """Tensors of B rows of at most L tokens, and what their entries stand for.

    inputs: input_ids (B, L), and, unless all rows are plain text, position_ids (B, L) and attention (B, L, S + L), with
    the S tokens of the stem first. ends: (K, 2), row and column of the last token of every named piece, `names` which
    one that is.
    predict_at: (N, 2), row and column of the token that predicts each of `targets`, (N,). learned: (N,) the name of the
    piece that each target belongs to.
    """

    inputs: dict[str, Tensor]
    ends: Tensor
    names: list[Hashable]
    predict_at: Tensor
    targets: Tensor
    learned: list[Hashable]


@dataclass(slots=True)
class _Indices:
    """Gathered over the rows; see Collated."""

    predict_at: list[tuple[int, int]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    names: list[Hashable] = field(default_factory=list)
    learned: list[Hashable] = field(default_factory=list)


def collate(rows: Sequence[Row], pad: int) -> Collated:
    """Tensors of rows on the same stem, padded on the right to the longest. pad: token id of the padding."""
    width = max(row.tokens for row in rows)
    tokens = np.full((len(rows), width), pad, dtype=np.int64)
    positions = np.zeros_like(tokens)
    indices = _Indices()
    for number, row in enumerate(rows):
        _fill_row(row, number, tokens[number], positions[number], indices)
    inputs = {"input_ids": torch.from_numpy(tokens)}
    # Plain text needs no mask: causal attention never reaches padding on the right.
    if not all(row.is_chain for row in rows):
        inputs["position_ids"] = torch.from_numpy(positions)
        inputs["attention"] = torch.from_numpy(np.stack([_visible(row, width) for row in rows]))
    return Collated(
        inputs,
        index_pairs(indices.ends),
        indices.names,
        index_pairs(indices.predict_at),
        torch.tensor(indices.targets, dtype=torch.long),
        indices.learned,
    )


def index_pairs(pairs: Sequence[tuple[int, int]]) -> Tensor:
    """(n, 2), also for n = 0."""
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def _fill_row(
    row: Row, number: int, tokens: NDArray[np.int64], positions: NDArray[np.int64], indices: _Indices
) -> None:
    """Write one row into its slices of the tensors, (L,) each, and append its indices. number: of the row."""
    ends = _stem_ends(row)  # column and position of the last token of each piece
    start = 0
    for piece in row.pieces:
        column, position = ends[piece.parent] if piece.parent != ROOT else (-1, -1)
        stop = start + len(piece.tokens)
        tokens[start:stop] = piece.tokens
        positions[start:stop] = np.arange(position + 1, position + 1 + len(piece.tokens))
        if targets := piece.targets:
            # The first token is predicted from the parent's last one, wherever that is in the row.
            before = (column, *range(start, start + len(targets) - 1))
            indices.predict_at += [(number, at) for at in before]
            indices.targets += targets
            indices.learned += [piece.name] * len(targets)
        if piece.name is not None:
            indices.ends.append((number, stop - 1))
            indices.names.append(piece.name)
        ends.append((stop - 1, position + len(piece.tokens)))
        start = stop


def _stem_ends(row: Row) -> list[tuple[int, int]]:
    """For each piece of the stem, -1 (it has no column in the row) and the position of its last token."""
    ends: list[tuple[int, int]] = []
    for piece in row.stem.pieces if row.stem else ():
        before = ends[piece.parent][1] if piece.parent != ROOT else -1
        ends.append((-1, before + len(piece.tokens)))
    return ends


def _visible(row: Row, width: int) -> NDArray[np.bool_]:
    """(L, S + L) with L = width: which column (second axis) each token (first axis) attends to.

    Padding attends to padding, because a softmax over nothing would be NaN.
    """
    pieces = row.all_pieces
    sees = np.eye(len(pieces) + 1, dtype=bool)  # piece by piece; the last one is the padding
    for index, piece in enumerate(pieces):
        if piece.parent != ROOT:
            sees[index] |= sees[piece.parent]
    sizes = [*(len(piece.tokens) for piece in pieces), width - row.tokens]
    first = len(pieces) - len(row.pieces)
    seen = sees[first:].repeat(sizes, axis=1).repeat(sizes[first:], axis=0)
    # Parents come before their children, so that only within a piece can a later column be seen.
    start, stem_tokens = 0, sum(sizes[:first])
    for size in sizes[first:]:
        columns = slice(stem_tokens + start, stem_tokens + start + size)
        seen[start : start + size, columns] = np.tri(size, dtype=bool)
        start += size
    return seen
