"""Tensors of one micro-batch: those of its rows, and which reply ranks above which."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from preference.training.common.shared_context import rows as shared_rows
from preference.training.common.shared_context.rows import MicroBatch, Row, index_pairs


@dataclass(frozen=True, slots=True)
class CollatedReplies:
    """Tensors of rows, and what their entries stand for.

    tensors: arguments of JointModel.forward, without the totals of the step. replies: (K,) the name of each score.
    learned: (N,) the name of the reply that each target belongs to.
    """

    tensors: MicroBatch
    replies: list[Hashable]
    learned: list[Hashable]


def collate(
    rows: Sequence[Row], pad: int, pairs: Iterable[tuple[Hashable, Hashable]] = ()
) -> CollatedReplies:
    """Tensors of rows, padded on the right to the longest.

    pad: token id of the padding. pairs: names of the better and the worse reply, all of them in these rows. With B
    rows of at most L tokens, K scored replies, N learned tokens and P pairs the tensors are

        input_ids (B, L)    predict_at (N, 2)    targets (N,)    score_at (K, 2)    pairs (P, 2)

    and, unless all rows are plain text, position_ids (B, L) and attention (B, L, L).
    """
    collated = shared_rows.collate(rows, pad)
    place = {name: index for index, name in enumerate(collated.names)}
    tensors = {
        **collated.inputs,
        "predict_at": collated.predict_at,
        "targets": collated.targets,
        "score_at": collated.ends,
        "pairs": index_pairs([(place[better], place[worse]) for better, worse in pairs]),
    }
    return CollatedReplies(tensors, collated.names, collated.learned)
