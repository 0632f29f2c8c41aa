"""Which quadruples every optimiser step of a run takes, in every process the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from preference.training.data import TrainingDialogue
from preference.training.recipe import JointRecipe
from preference.training.sampling import Quadruple, QuadrupleSampler, optimiser_steps


class Schedule:
    """Steps are counted from 0 over all epochs; every epoch is sampled anew from the recipe's seed and its number."""

    def __init__(self, dialogues: Sequence[TrainingDialogue], recipe: JointRecipe) -> None:
        """Raises TrainingError where there is nothing to draw from."""
        self._dialogues = dialogues
        self._recipe = recipe
        self._sampler = QuadrupleSampler(dialogues, seed=recipe.seed, similar=recipe.similar)
        self._epoch = lru_cache(maxsize=2)(self._planned)
        drawn = [self._sampler.epoch(epoch) for epoch in range(recipe.epochs)]
        self.quadruples = len(drawn[0])
        # An epoch may be a little shorter than another: a turn may find no random reply that differs.
        self._ends = list(accumulate(-(-len(epoch) // recipe.batch) for epoch in drawn))

    @property
    def steps(self) -> int:
        return self._ends[-1]

    def epoch_of(self, step: int) -> int:
        """Counted from 0."""
        return bisect_right(self._ends, step)

    def step(self, step: int) -> list[Quadruple]:
        epoch = self.epoch_of(step)
        start = self._ends[epoch - 1] if epoch else 0
        return self._epoch(epoch)[step - start]

    def share(self, step: int, process: int, processes: int) -> list[Quadruple]:
        """What one of several processes takes of a step: whole dialogues, about the same amount of text each."""
        by_dialogue: dict[int, list[Quadruple]] = {}
        for quadruple in self.step(step):
            by_dialogue.setdefault(quadruple.dialogue, []).append(quadruple)
        loads = [0] * processes
        shares: list[list[Quadruple]] = [[] for _ in range(processes)]
        for group in sorted(by_dialogue.values(), key=lambda group: -self._size(group)):
            lightest = loads.index(min(loads))
            loads[lightest] += self._size(group)
            shares[lightest] += group
        return shares[process]

    def _planned(self, epoch: int) -> list[list[Quadruple]]:
        drawn = self._sampler.epoch(epoch)
        return optimiser_steps(drawn, batch=self._recipe.batch, seed=self._recipe.seed, epoch=epoch)

    def _size(self, group: Sequence[Quadruple]) -> int:
        """Characters to encode, in a tree."""
        trunk = sum(map(len, self._dialogues[group[0].dialogue].utterances))
        return trunk + sum(len(one.model) + len(one.random) for one in group)
