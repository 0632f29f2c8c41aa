"""From the quadruples of an optimiser step to its micro-batches.

    quadruples → groups of rows (arrange) → fuller rows (fill_rows) → micro-batches (group_by_budget) → collate

A micro-batch is what one forward pass takes; its size decides memory and speed. A step is what one update of the
weights takes; its size decides what is learned. The two are independent, because losses are divided by the totals of
the step (see `loss`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from preference.training.joint.data import TrainingDialogue
from preference.training.joint.encoding import Encoder
from preference.training.joint.layouts.arrange import NumberedQuadruple, RowGroup, naive, packed, trees
from preference.training.joint.layouts.rows import MicroBatch, Row, collate
from preference.training.joint.quadruples import Quadruple

# Tokens up to which rows are filled. Joining trees saves padding; beyond this the dense mask costs more than it saves.
ROW_TOKENS = 1024
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
        pairs = (pair for group in groups for pair in group.pairs)
        return collate(rows, self._encoder.pad, pairs).tensors


def fill_rows(groups: Sequence[RowGroup], row_tokens: int) -> list[RowGroup]:
    """Join groups of one row each into rows of at most `row_tokens`: first fit, the longest first.

    First-fit decreasing uses at most about 11/9 of the fewest possible rows (Johnson, 1973). A row that is longer than
    row_tokens stays alone. Joined trees do not see each other.
    """
    filled: list[RowGroup] = []
    for group in sorted(groups, key=lambda group: -group.longest):
        target = next((other for other in filled if other.longest + group.longest <= row_tokens), None)
        if target is None:
            target = RowGroup([Row()])
            filled.append(target)
        target.rows[0].join(group.rows[0])
        target.numbers += group.numbers
    return filled


def group_by_budget(groups: Sequence[RowGroup], budget: int) -> Iterator[list[RowGroup]]:
    """Groups of about the same length, as many as fit into `budget` tokens when padded to the longest of them.

    The longest come first, so that a run that lacks memory fails in its first forward pass, not after an hour. A group
    that exceeds the budget is yielded alone.
    """
    batch: list[RowGroup] = []
    rows = longest = 0
    for group in sorted(groups, key=lambda group: -group.longest):
        if batch and (rows + len(group.rows)) * longest > budget:
            yield batch
            batch, rows = [], 0
        longest = longest if batch else group.longest
        rows += len(group.rows)
        batch.append(group)
    if batch:
        yield batch
