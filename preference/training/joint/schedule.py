"""Which quadruples every optimiser step of a run takes, in every process the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from preference.training.joint.data import TrainingDialogue
from preference.training.joint.recipe import JointRecipe
from preference.training.joint.sampling import Quadruple, QuadrupleSampler, optimiser_steps


class Schedule:
    """Steps are counted from 0 over all epochs; every epoch is sampled anew from the recipe's seed and its number."""

    def __init__(self, dialogues: Sequence[TrainingDialogue], recipe: JointRecipe) -> None:
        """Raises TrainingError where there is nothing to draw from."""
        self._dialogues = dialogues
        self._recipe = recipe
        self._sampler = QuadrupleSampler(dialogues, seed=recipe.seed, similar=recipe.similar)
        self._epoch = lru_cache(maxsize=2)(self._planned)
        # The same in every epoch: which turns find no random reply does not depend on chance.
        self.quadruples = len(self._sampler.epoch(0))
        self._an_epoch = -(-self.quadruples // recipe.batch)  # steps
        self.steps = recipe.epochs * self._an_epoch

    def epoch_of(self, step: int) -> int:
        """Counted from 0."""
        return step // self._an_epoch

    def step(self, step: int) -> list[Quadruple]:
        epoch, place = divmod(step, self._an_epoch)
        return self._epoch(epoch)[place]

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
