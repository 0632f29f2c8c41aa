"""From the quadruples of an optimiser step to its micro-batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from preference.training.joint.data import TrainingDialogue
from preference.training.joint.encoding import Encoder
from preference.training.joint.layouts.rows import MicroBatch, Row, collate
from preference.training.joint.layouts.units import Numbered, Unit, naive, packed, trees
from preference.training.joint.sampling import Quadruple

ROW_TOKENS = 1024  # rows are filled up to this
TREE_TOKENS = 2048  # a longer dialogue is cut into several trees, because masks grow with the square
LAYOUTS = ("naive", "packed", "trees")


class Layout:
    """name: naive, packed or trees; notes: why not another, in sentences for a person."""

    def __init__(
        self,
        name: str,
        dialogues: Sequence[TrainingDialogue],
        encoder: Encoder,
        *,
        token_budget: int | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """token_budget: fed tokens of a micro-batch, padding included; what is longer alone goes alone."""
        if name not in LAYOUTS:
            raise ValueError(f"{name!r} is none of {', '.join(LAYOUTS)}.")
        self.name = name
        self.notes = list(notes)
        self._dialogues = dialogues
        self._encoder = encoder
        self._budget = token_budget or ROW_TOKENS
        self._row_tokens = min(self._budget, ROW_TOKENS)
        # A small budget is one for memory; otherwise a long dialogue gains more from being whole.
        self._tree_tokens = TREE_TOKENS if self._budget >= ROW_TOKENS else self._budget

    def micro_batches(self, step: Sequence[Quadruple]) -> list[MicroBatch]:
        """Of one optimiser step, the longest rows first; their losses add up to the loss of the step."""
        units = self._units([Numbered(number, quadruple) for number, quadruple in enumerate(step)])
        if self.name != "naive":
            units = filled(units, self._row_tokens)
        made = [self._micro_batch(group) for group in grouped(units, self._budget)]
        tokens = torch.tensor(sum(len(micro["targets"]) for micro in made))
        pairs = torch.tensor(sum(len(micro["pairs"]) for micro in made))
        return [micro | {"tokens_in_step": tokens, "pairs_in_step": pairs} for micro in made]

    def _units(self, step: Sequence[Numbered]) -> list[Unit]:
        if self.name == "trees":
            return list(self._trees(step))
        lay_out = naive if self.name == "naive" else packed
        return [lay_out(self._dialogues[one.quadruple.dialogue], one, self._encoder) for one in step]

    def _trees(self, step: Sequence[Numbered]) -> Iterator[Unit]:
        by_dialogue: dict[int, list[Numbered]] = {}
        for one in step:
            by_dialogue.setdefault(one.quadruple.dialogue, []).append(one)
        for dialogue, wanted in by_dialogue.items():
            yield from trees(self._dialogues[dialogue], wanted, self._encoder, self._tree_tokens)

    def _micro_batch(self, units: Sequence[Unit]) -> MicroBatch:
        rows = [row for unit in units for row in unit.rows]
        pairs = (pair for unit in units for pair in unit.pairs)
        return collate(rows, self._encoder.pad, pairs).tensors


def filled(units: Sequence[Unit], row_tokens: int) -> list[Unit]:
    """Units of one row each, joined into rows of at most `row_tokens`: the longest first, each where it first fits."""
    full: list[Unit] = []
    for unit in sorted(units, key=lambda unit: -unit.longest):
        place = next((other for other in full if other.longest + unit.longest <= row_tokens), None)
        if place is None:
            place = Unit([Row()])
            full.append(place)
        place.rows[0].join(unit.rows[0])
        place.numbers += unit.numbers
    return full


def grouped(units: Sequence[Unit], budget: int) -> Iterator[list[Unit]]:
    """Units of about one length, as many as stay within `budget` tokens once they are padded to the longest."""
    group: list[Unit] = []
    rows = longest = 0
    for unit in sorted(units, key=lambda unit: -unit.longest):
        if group and (rows + len(unit.rows)) * longest > budget:
            yield group
            group, rows = [], 0
        longest = longest if group else unit.longest
        rows += len(unit.rows)
        group.append(unit)
    if group:
        yield group
