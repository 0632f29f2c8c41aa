"""Which pairs every optimiser step of a run learns from; every process computes the same plan."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from preference.training.common.schedule import divide_among_processes
from preference.training.paireval.pairs import Pair, PairSampler


class PairPlan:
    """Steps are counted from 0 over all epochs; every epoch is drawn again.

    pairs: per epoch. origins: how many of the first epoch's worse replies are of each. steps: of the whole run.
    """

    def __init__(self, sampler: PairSampler, *, batch: int, epochs: int) -> None:
        self._sampler, self._batch = sampler, batch
        self._epoch = lru_cache(maxsize=2)(sampler.epoch)
        # The same in every epoch: which replies find no worse one does not depend on chance.
        self.pairs = len(self._epoch(0))
        self.origins = dict(Counter(pair.origin for pair in self._epoch(0)))
        self._steps_per_epoch = -(-self.pairs // batch)
        self.steps = epochs * self._steps_per_epoch

    def epoch_of(self, step: int) -> int:
        """Counted from 0."""
        return step // self._steps_per_epoch

    def step(self, step: int) -> list[Pair]:
        """All pairs of a step: `batch` of them, fewer in the last of an epoch."""
        epoch, place = divmod(step, self._steps_per_epoch)
        return self._epoch(epoch)[place * self._batch : (place + 1) * self._batch]

    def share(self, step: int, process: int, processes: int) -> list[Pair]:
        """What one of several processes takes of a step: about the same amount of text each."""
        return divide_among_processes(self.step(step), processes, lambda pair: pair.characters)[process]
