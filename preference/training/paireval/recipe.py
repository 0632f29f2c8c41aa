"""Everything that decides the weights of a PairEval training run, besides data, base model and arithmetic.

A recipe is a function that returns a `PairRecipe`; `with_settings` replaces single values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.recipes import check_bounds, values_before
from preference.training.paireval.corpus import ORIGINS
from preference.training.paireval.prompts import INST, PAIR, QUESTIONS, TEMPLATES

PRECISIONS = ("auto", "fp32", "bf16")
SCHEDULES = ("linear", "constant")
# May differ between a checkpoint and its continuation: they change rounding and memory, not what is computed.
FREE = frozenset({"token_budget", "precision", "recompute"})

LEAST = {
    "longest": 64,
    "batch": 1,
    "epochs": 1,
    "clip": 0,
    "seed": 0,
    "token_budget": 16,
    "lora_rank": 0,
    "lora_alpha": 1,
    "comparisons": 0,
}
POSITIVE = ("peak_lr", "epsilon")
SHARES = ("beta1", "beta2", "lora_dropout", "weight_decay")
CHOICES = {
    "precision": PRECISIONS,
    "schedule": SCHEDULES,
    "question": tuple(QUESTIONS),
    "template": TEMPLATES,
}


@dataclass(frozen=True, slots=True)
class PairRecipe:
    """Settings of PairEval's training (sections 3.3 and 4.1.3); the defaults are the paper's.

    question: pair (PairEval) or direct (DirectEval), template: inst or chat, see `prompts`. negatives: origins of the
    worse replies, separated by spaces. longest: tokens of a prompt; the oldest utterances are dropped first.
    comparisons: examples drawn from the data and stored with the model. batch: pairs per optimiser step. epochs: passes
    over the data.
    peak_lr: the initial rate of AdamW. schedule: linear, to 0 at the end, or constant. beta1, beta2, epsilon,
    weight_decay: of AdamW. clip: largest norm of the gradient, 0 does not clip. seed: of pairs, their order, which
    reply is A, and new weights. precision: auto is bf16 if the GPU has it, else fp32.
    token_budget: tokens of a micro-batch, None: 16384 on a GPU and 4096 on a CPU; halved when memory runs out.
    recompute: activations in the backward pass, for a third more time and much less memory.
    lora_rank: of the adapters on every linear layer, 0 trains all weights. lora_alpha, lora_dropout: of these.
    """

    question: str = PAIR.name
    template: str = INST
    negatives: str = " ".join(ORIGINS)
    longest: int = 2048
    comparisons: int = 7
    batch: int = 16
    epochs: int = 1
    peak_lr: float = 1e-4
    schedule: str = "linear"
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float = 1.0
    seed: int = 1
    precision: str = "auto"
    token_budget: int | None = None
    recompute: bool = False
    lora_rank: int = 8
    lora_alpha: int = 16
    lora_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_bounds(self, least=LEAST, finite=("clip",), positive=POSITIVE, shares=SHARES, choices=CHOICES)
        unknown = [origin for origin in self.origins if origin not in ORIGINS]
        if unknown or not self.origins:
            raise TrainingError(
                _("negatives is %(value)s, and must be some of %(choices)s.")
                % {"value": repr(self.negatives), "choices": ", ".join(ORIGINS)},
                _("Correct it: --negatives …"),
            )

    @property
    def origins(self) -> tuple[str, ...]:
        return tuple(self.negatives.split())

    def rate_factor(self, step: int, steps: int) -> float:
        """Share of the initial learning rate at optimiser step `step` of `steps`, counted from 1."""
        return 1 - (step - 1) / steps if self.schedule == "linear" else 1.0

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


BEFORE = values_before(PairRecipe)  # every setting that came later leaves a run as it was by default


def paper() -> PairRecipe:
    """The paper's settings (section 4.1.3) with LoRA of rank 8 and alpha 16.

    The text names "16 and 8" without the symbols; `reversed_lora` is the other reading. Decay and clipping are not in
    the paper: they are the defaults of transformers' Trainer.
    """
    return PairRecipe()


def reversed_lora() -> PairRecipe:
    """The other reading of the same sentence: rank 16, alpha 8."""
    return PairRecipe(lora_rank=16, lora_alpha=8)


def all_weights() -> PairRecipe:
    """For models of a few million weights, whose adapters would be too small to learn the question."""
    return PairRecipe(lora_rank=0, peak_lr=1e-3)


RECIPES = {"paper": paper, "reversed_lora": reversed_lora, "all_weights": all_weights}
