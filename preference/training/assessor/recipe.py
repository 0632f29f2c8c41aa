"""Everything that decides an assessor, besides data, base model and the machine's arithmetic."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.recipes import check_bounds

PRECISIONS = ("auto", "fp32", "bf16")
# Adapters start from zero and need a higher rate than all weights do.
LORA_RATE = 1e-4
LORA_RANK = 16

LEAST = {
    "max_length": 8,
    "batch": 1,
    "epochs": 1,
    "clip": 0,
    "seed": 0,
    "vocabulary": 300,
    "hidden": 8,
    "layers": 1,
    "heads": 1,
    "curve_seeds": 1,
    "lora_rank": 0,
    "lora_alpha": 1,
}
POSITIVE = ("rate", "scratch_rate")
SHARES = ("valid_share", "test_share", "weight_decay", "dropout", "lora_dropout")


@dataclass(frozen=True, slots=True)
class AssessorRecipe:
    """Settings of a quality assessor (DiQAD, section 5.1); the defaults are the paper's.

    max_length: tokens of a dialogue; the oldest text is dropped first. batch: dialogues per optimiser step. epochs: at
    most so many passes; the epoch with the best macro F1 on the split valid is kept. rate: learning rate of AdamW for
    pretrained models. weight_decay: of AdamW. clip: largest norm of the gradient, 0 does not clip. seed: of splits,
    order, and new weights. valid_share, test_share: of the splits that the data does not give. precision: auto is bf16
    on a GPU that has it, else fp32.
    lora_rank: 0 trains all weights; otherwise adapters of that rank on every linear layer, and the new output layer.
    lora_alpha, lora_dropout: of these. --lora sets the rank, and a rate that adapters need.
    scratch_rate, vocabulary, hidden, layers, heads, dropout: of the models trained from scratch, `gru` (one layer) and
    `transformer`; their tokenizer learns from the training text.
    curve_seeds: random samples of each size in the learning curve.
    """

    max_length: int = 512
    batch: int = 16
    epochs: int = 10
    rate: float = 1e-5
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 1
    valid_share: float = 0.1
    test_share: float = 0.1
    precision: str = "auto"
    lora_rank: int = 0
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    scratch_rate: float = 3e-4
    vocabulary: int = 8000
    hidden: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.1
    curve_seeds: int = 3

    def __post_init__(self) -> None:
        check_bounds(
            self,
            least=LEAST,
            finite=("clip",),
            positive=POSITIVE,
            shares=SHARES,
            choices={"precision": PRECISIONS},
        )
        if self.hidden % self.heads:
            raise TrainingError(
                _("hidden is %(hidden)s, and must be a multiple of heads, %(heads)s.")
                % {"hidden": self.hidden, "heads": self.heads},
                _("Correct it: --set %(name)s=…") % {"name": "hidden"},
            )

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def with_lora(recipe: AssessorRecipe) -> AssessorRecipe:
    """The recipe with adapters instead of all weights: of rank LORA_RANK, at a rate of at least LORA_RATE."""
    rank = recipe.lora_rank or LORA_RANK
    return dataclasses.replace(recipe, lora_rank=rank, rate=max(recipe.rate, LORA_RATE))
