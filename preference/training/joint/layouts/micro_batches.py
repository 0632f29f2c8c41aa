"""From the quadruples of an optimiser step to its micro-batches.

    quadruples → groups of rows (arrange) → fuller rows (fill_rows) → micro-batches (group_by_budget) → collate

A micro-batch is what one forward pass takes; its size decides memory and speed. A step is what one update of the
weights takes; its size decides what is learned. The two are independent, because losses are divided by the totals of
the step (see `loss`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.shared_context.filling import (
    ROW_TOKENS,
    RowGroup,
    fill_rows,
    group_by_budget,
)
from preference.training.common.shared_context.rows import MicroBatch
from preference.training.joint.encoding import Encoder
from preference.training.joint.layouts.arrange import (
    NumberedQuadruple,
    naive,
    packed,
    ranked_replies,
    trees,
)
from preference.training.joint.layouts.collate import collate
from preference.training.joint.quadruples import Quadruple

# Tokens at which a tree ends and a new one starts from the opening: masks grow with the square of a row's length.
TREE_TOKENS = 2048
LAYOUTS = ("naive", "packed", "trees")


class Layout:
    """Makes micro-batches in one of LAYOUTS. notes: why this layout and not a faster one, in sentences."""

    def __init__(
        self,
        name: str,
        dialogues: Sequence[TrainingDialogue],
        encoder: Encoder,
        *,
        token_budget: int | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """token_budget: tokens of a micro-batch, padding included; a longer row is a micro-batch of its own."""
        if name not in LAYOUTS:
            raise ValueError(f"{name!r} is not one of {', '.join(LAYOUTS)}.")
        self.name = name
        self.notes = list(notes)
        self._dialogues = dialogues
        self._encoder = encoder
        self._budget = token_budget or ROW_TOKENS
        self._row_tokens = min(self._budget, ROW_TOKENS)
        # A small budget means little memory; otherwise a long dialogue gains more from staying in one tree.
        self._tree_tokens = TREE_TOKENS if self._budget >= ROW_TOKENS else self._budget

    def micro_batches(self, step: Sequence[Quadruple]) -> list[MicroBatch]:
        """Arguments of JointModel.forward for one optimiser step, the longest rows first.

        The losses of the micro-batches add up to the loss of the step.
        """
        groups = self._arrange([NumberedQuadruple(number, item) for number, item in enumerate(step)])
        if self.name != "naive":
            groups = fill_rows(groups, self._row_tokens)
        batches = [self._collate(groups) for groups in group_by_budget(groups, self._budget)]
        tokens = torch.tensor(sum(len(batch["targets"]) for batch in batches))
        pairs = torch.tensor(sum(len(batch["pairs"]) for batch in batches))
        return [batch | {"tokens_in_step": tokens, "pairs_in_step": pairs} for batch in batches]

    def _arrange(self, step: Sequence[NumberedQuadruple]) -> list[RowGroup]:
        """Groups of rows in this layout, in no particular order: the losses of a step are sums."""
        if self.name == "trees":
            return list(self._trees(step))
        arrange = naive if self.name == "naive" else packed
        return [arrange(self._dialogues[item.quadruple.dialogue], item, self._encoder) for item in step]

    def _trees(self, step: Sequence[NumberedQuadruple]) -> Iterator[RowGroup]:
        by_dialogue: dict[int, list[NumberedQuadruple]] = {}
        for item in step:
            by_dialogue.setdefault(item.quadruple.dialogue, []).append(item)
        for dialogue, items in by_dialogue.items():
            yield from trees(self._dialogues[dialogue], items, self._encoder, self._tree_tokens)

    def _collate(self, groups: Sequence[RowGroup]) -> MicroBatch:
        rows = [row for group in groups for row in group.rows]
        pairs = (pair for group in groups for pair in ranked_replies(group))
        return collate(rows, self._encoder.pad, pairs).tensors
