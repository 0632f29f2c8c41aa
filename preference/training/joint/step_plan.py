"""Which quadruples every optimiser step of a run takes; every process computes the same plan.

The plan is a function of data, recipe and step number. A resumed run therefore needs no state of a data loader: it asks
for the next step. Neither do processes send each other data: each computes the plan and takes its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.schedule import divide_among_processes
from preference.training.joint.quadruples import Quadruple, QuadrupleSampler, split_into_steps
from preference.training.joint.recipe import JointRecipe


class QuadruplePlan:
    """Steps are counted from 0 over all epochs; every epoch is drawn again from the recipe's seed and its number.

    quadruples: per epoch. steps: of the whole run.
    """

    def __init__(self, dialogues: Sequence[TrainingDialogue], recipe: JointRecipe) -> None:
        """Raises TrainingError if there is nothing to draw from."""
        self._dialogues = dialogues
        self._recipe = recipe
        self._sampler = QuadrupleSampler(
            dialogues, seed=recipe.seed, similar=recipe.similar, random_within=recipe.random_within
        )
        self._epoch = lru_cache(maxsize=2)(self._plan_epoch)
        # The same in every epoch: which turns find no random reply does not depend on chance.
        self.quadruples = len(self._sampler.epoch(0))
        self._steps_per_epoch = -(-self.quadruples // recipe.batch)
        self.steps = recipe.epochs * self._steps_per_epoch

    def epoch_of(self, step: int) -> int:
        """Counted from 0."""
        return step // self._steps_per_epoch

    def step(self, step: int) -> list[Quadruple]:
        """All quadruples of a step."""
        epoch, place = divmod(step, self._steps_per_epoch)
        return self._epoch(epoch)[place]

    def share(self, step: int, process: int, processes: int) -> list[Quadruple]:
        """What one of several processes takes of a step: whole dialogues, about the same amount of text each.

        Whole, because a tree that is cut in two encodes its trunk twice. About the same, because all wait for the
        slowest before the weights are updated.
        """
        by_dialogue: dict[int, list[Quadruple]] = {}
        for quadruple in self.step(step):
            by_dialogue.setdefault(quadruple.dialogue, []).append(quadruple)
        shares = divide_among_processes(by_dialogue.values(), processes, self._characters)
        return [quadruple for group in shares[process] for quadruple in group]

    def _plan_epoch(self, epoch: int) -> list[list[Quadruple]]:
        drawn = self._sampler.epoch(epoch)
        recipe = self._recipe
        return split_into_steps(
            drawn, batch=recipe.batch, seed=recipe.seed, epoch=epoch, shuffle=recipe.shuffle
        )

    def _characters(self, group: Sequence[Quadruple]) -> int:
        """Characters to encode if the quadruples of one dialogue share a tree: trunk plus leaves.

        They stand for tokens, which would have to be counted by the tokenizer; only the proportion matters.
        """
        trunk = sum(map(len, self._dialogues[group[0].dialogue].utterances))
        return trunk + sum(len(quadruple.model) + len(quadruple.random) for quadruple in group)
