"""What a joint training is validated on: held-out turns, and what is measured of them.

    split valid → quadruples drawn by the seed → at most validation_turns of them → rows → forward → figures

The turns, their candidates and their random replies are the same at each validation, so that the curve moves by the
weights alone. A turn has its human reply, every displayed candidate and one random reply in one forward pass: the joint
loss takes one of the candidates, as in training, and P@1 takes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.errors import TrainingError
from preference.training.common.schedule import divide_among_processes
from preference.training.common.shared_context.filling import RowGroup, group_by_budget
from preference.training.common.validation import Figures
from preference.training.joint.encoding import Encoder
from preference.training.joint.evaluation.scoring import HUMAN, Scores, TurnToScore, rows_of_turns
from preference.training.joint.layouts.collate import CollatedReplies, collate
from preference.training.joint.loss import RANKED_PAIRS, preference_loss
from preference.training.joint.quadruples import Quadruple, QuadrupleSampler, split_into_steps
from preference.training.joint.recipe import JointRecipe

VALID = "valid"


def draw_validation(dialogues: Sequence[TrainingDialogue], recipe: JointRecipe) -> list[Quadruple]:
    """The quadruples that every validation measures, whole dialogues as far as possible; [] without any."""
    try:
        sampler = QuadrupleSampler(
            dialogues, seed=recipe.seed, similar=recipe.similar, random_within=recipe.random_within
        )
        drawn = sampler.epoch(0)
    except TrainingError:  # no candidates, or no other dialogue to draw a random reply from
        return []
    return split_into_steps(drawn, batch=recipe.validation_turns, seed=recipe.seed, epoch=0)[0]


class HeldOutTurns:
    """The turns of some quadruples, divided among processes by dialogue."""

    def __init__(
        self,
        dialogues: Sequence[TrainingDialogue],
        quadruples: Sequence[Quadruple],
        encoder: Encoder,
        *,
        share_contexts: bool,
    ) -> None:
        """quadruples: at least one, those of a dialogue together. share_contexts: whether the model allows it."""
        self._dialogues, self._quadruples, self._encoder = dialogues, quadruples, encoder
        self._share_contexts = share_contexts
        self._turns = [
            TurnToScore(place, item.dialogue, dialogues[item.dialogue].turns[item.turn], item.random)
            for place, item in enumerate(quadruples)
        ]

    @property
    def counts(self) -> dict[str, int]:
        return {"dialogues": len({turn.dialogue for turn in self._turns}), "turns": len(self._turns)}

    def batches(self, process: int, processes: int, token_budget: int) -> list[CollatedReplies]:
        """What one of several processes takes of a validation; [] if there are fewer dialogues than processes."""
        by_dialogue: dict[int, list[TurnToScore]] = {}
        for turn in self._turns:
            by_dialogue.setdefault(turn.dialogue, []).append(turn)
        shares = divide_among_processes(by_dialogue.values(), processes, self._characters)
        return self._collate([turn for group in shares[process] for turn in group], token_budget)

    @cached_property
    def idle_batch(self) -> CollatedReplies:
        """For a process that has nothing left to measure while others have."""
        return self._collate(self._turns[:1], 1)[0]

    def _collate(self, turns: Sequence[TurnToScore], token_budget: int) -> list[CollatedReplies]:
        rows = rows_of_turns(
            self._dialogues, turns, self._encoder, share_contexts=self._share_contexts, learn_all=False
        )
        batches = group_by_budget([RowGroup([row]) for row in rows], token_budget)
        return [
            collate([row for group in batch for row in group.rows], self._encoder.pad) for batch in batches
        ]

    def _characters(self, group: Sequence[TurnToScore]) -> int:
        """Characters to encode, about."""
        trunk = sum(map(len, self._dialogues[group[0].dialogue].utterances))
        return trunk + sum(len(text) for turn in group for text in turn.replies.values())

    def totals(self, scores: Scores[Any]) -> Tensor:
        """Sums over the scored turns, (6,) in fp64; those of all processes add up.

        Negative log-likelihood of the human replies, their tokens, losses of the ranked pairs, pairs in the right
        order, turns whose human reply is first, turns.
        """
        sums = torch.zeros(6, dtype=torch.float64)
        pairs = torch.tensor(RANKED_PAIRS)
        for turn, quadruple in zip(self._turns, self._quadruples, strict=True):
            if (turn.place, HUMAN) not in scores:
                continue  # of another process
            human, logprob, tokens = scores[turn.place, HUMAN]
            *candidates, random = (scores[turn.place, n][0] for n in range(len(turn.turn.candidates) + 1))
            model = candidates[turn.turn.candidates.index(quadruple.model)]
            ranked = torch.tensor([human, model, random], dtype=torch.float64)
            loss = preference_loss(ranked, pairs, torch.tensor(1))
            ordered = (ranked[pairs[:, 0]] > ranked[pairs[:, 1]]).sum()
            first = human > max(candidates)  # a tie counts against the human reply
            sums += torch.tensor([-logprob, tokens, loss, ordered, first, 1], dtype=torch.float64)
        return sums


def validation_figures(totals: Sequence[float], loss_weights: tuple[float, float]) -> Figures:
    """Figures of the sums of all processes: losses in nats as in training, P@1 and the share of ordered pairs."""
    logprob, tokens, pair_losses, ordered, first, turns = totals
    pairs = turns * len(RANKED_PAIRS)
    nll, ranking = logprob / max(tokens, 1), pair_losses / pairs
    return {
        "loss": loss_weights[0] * nll + loss_weights[1] * ranking,
        "nll": nll,
        "ranking": ranking,
        "p_at_1": first / turns,
        "pair_accuracy": ordered / pairs,
    }
