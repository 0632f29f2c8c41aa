"""Everything that decides the weights of a joint training run, besides data, base model and the machine's arithmetic.

A recipe is a function that returns a `JointRecipe`; `with_settings` replaces single values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from generation.backends.dialogue_format import DialogueFormat
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.recipes import check_bounds, values_before
from preference.training.common.schedule import inverse_sqrt_factor
from preference.training.common.sharding import SHARDING
from preference.training.common.validation import LAST
from preference.training.joint.quadruples import SHUFFLED, WITHIN

PRECISIONS = ("auto", "fp32", "bf16")
LAYOUTS = ("auto", "naive", "packed", "trees")
BEST_BY = ("loss", "p_at_1", LAST)
FROZEN_WEIGHTS = ("fp32", "bf16", "4bit")
# May differ between a checkpoint and its continuation: they change rounding and memory, not what is computed.
FREE = frozenset({"token_budget", "precision", "layout", "recompute", "loss_chunk", "sharding"})
# Adapters start from zero and need more than the paper's rate, which is for all weights of a large model.
LORA_RATE = 1e-4
LORA_RANK = 16
LOSS_CHUNK = (
    1024  # target tokens: more than a micro-batch has on a CPU, so that there nothing is computed twice
)

LEAST = {
    "context": 8,
    "reply": 2,
    "similar": 1,
    "batch": 1,
    "epochs": 1,
    "warmup": 0,
    "nll_weight": 0,
    "ranking_weight": 0,
    "clip": 0,
    "seed": 0,
    "token_budget": 16,
    "loss_chunk": 1,
    "lora_rank": 0,
    "lora_alpha": 1,
    "validate_every": 0,
    "validation_turns": 1,
    "patience": 0,
}
POSITIVE = ("peak_lr", "head_lr", "epsilon")
SHARES = ("beta1", "beta2", "weight_decay", "lora_dropout")
FINITE = ("clip", "nll_weight", "ranking_weight")
CHOICES = {
    "precision": PRECISIONS,
    "layout": LAYOUTS,
    "random_within": WITHIN,
    "shuffle": SHUFFLED,
    "best_by": BEST_BY,
    "frozen_weights": FROZEN_WEIGHTS,
    "sharding": SHARDING,
}


@dataclass(frozen=True, slots=True)
class JointRecipe:
    """Settings of generation-evaluation joint training (Diamante, section 4.1.1); the defaults are the paper's.

    context, reply: longest in tokens; the oldest utterances are dropped first. speaker_marks: whether utterances
    begin with who speaks ("A:", "B:"); chat_template: whether dialogues are rendered by the template of the base's
    tokenizer, as servers do. Either is saved with the model, which is served so too. batch: quadruples per optimiser
    step. epochs: passes over the data. similar: the model's reply is drawn from that many candidates least similar to
    the human's, None: from all. random_within: the random reply is drawn from the dialogues of the same language, or
    of the same language and domain (domain); where the domain has no other reply, the language counts.
    shuffle: what comes in random order, whole dialogues or single turns. Turns are what the authors' code shuffles: a
    step then rests on about as many dialogues as quadruples, not on a seventh of them, and costs as much as packing,
    because a tree has only one turn.
    nll_weight, ranking_weight: of L_NLL and L_PE in their sum. ranking_weight 0 trains generation alone, the paper's
    comparison without joint training (Table 5).
    peak_lr, warmup: linear warm-up over so many steps to the peak, then inverse square root decay.
    head_lr: the peak for the preference head, None: peak_lr. A new head learns nothing at a rate that leaves a small
    model's replies intact. beta1, beta2, epsilon: of Adam. weight_decay: decoupled (AdamW), of all weights but biases
    and norms; the paper names Adam, the authors' configuration has 0.01. clip: largest norm of the gradient, 0 does
    not clip. seed: of sampling, order, and new weights. precision: auto is bf16 if the GPU has it, else fp32.
    layout: how quadruples become rows; auto takes the fastest that gives the same gradient.
    token_budget: tokens of a micro-batch, None: 16384 on a GPU and 1024 on a CPU; a run of one process halves it when
    memory runs out. recompute: activations in the backward pass (gradient checkpointing), for a third more time and
    much less memory. loss_chunk: target tokens whose logits are held at once; those of a larger micro-batch are
    computed again in the backward pass. sharding: what several processes share: auto, nothing but gradients, unless the
    launcher's configuration says otherwise; fsdp or deepspeed, also weights and Adam's moments, on GPUs only.
    lora_rank: 0 trains all weights; otherwise adapters of that rank on every linear layer, and the head. lora_alpha,
    lora_dropout: of these. Adapters need a higher peak_lr than all weights do: --lora sets both.
    frozen_weights: how the weights that adapters leave alone are held: fp32, bf16 (half the memory), or 4bit (an
    eighth: NF4 in blocks of 64, Dettmers et al., 2023; needs bitsandbytes). Both compute in bf16. In the end the
    adapters are added to the base model's own weights, not to the rounded ones.
    validate_every: measure the split valid every so many steps and at the last one, 0: at the end of every epoch, None:
    never. The default is None, because a validation takes time, and choosing a step by it changes which weights a run
    ends with. validation_turns: at most so many, drawn by the seed and the same at each validation. best_by: the run
    saves the weights of the validation with the lowest joint loss (loss) or the highest P@1 by preference score
    (p_at_1), or always the last ones (last). patience: stop after so many validations without a better one, 0: never.
    """

    context: int = 384
    reply: int = 128
    speaker_marks: bool = False
    chat_template: bool = False
    similar: int | None = 5
    random_within: str = "language"
    shuffle: str = "dialogues"
    batch: int = 168
    epochs: int = 5
    nll_weight: float = 1.0
    ranking_weight: float = 1.0
    peak_lr: float = 2e-6
    head_lr: float | None = None
    warmup: int = 500
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float = 0.0
    seed: int = 1
    precision: str = "auto"
    layout: str = "auto"
    token_budget: int | None = None
    recompute: bool = False
    loss_chunk: int = LOSS_CHUNK
    sharding: str = "auto"
    lora_rank: int = 0
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    frozen_weights: str = "fp32"
    validate_every: int | None = None
    validation_turns: int = 500
    best_by: str = "loss"
    patience: int = 0

    def __post_init__(self) -> None:
        check_bounds(self, least=LEAST, finite=FINITE, positive=POSITIVE, shares=SHARES, choices=CHOICES)
        self._check_patience()
        self._check_frozen_weights()
        if self.chat_template and self.speaker_marks:
            raise TrainingError(
                _("chat_template and speaker_marks are both true, but a template says by itself who speaks."),
                _("Set one of them, for example --set speaker_marks=false."),
            )
        if self.nll_weight == self.ranking_weight == 0:
            raise TrainingError(
                _("nll_weight and ranking_weight are both 0, so nothing would be learned."),
                _("Give one of them a weight, for example --set nll_weight=1."),
            )

    def _check_patience(self) -> None:
        """Raise TrainingError for patience with nothing to wait for."""
        if self.patience and self.validate_every is None:
            raise TrainingError(
                _("patience is %(patience)s, but the run is never validated.") % {"patience": self.patience},
                _("Say how often, for example --set validate_every=0 for the end of every epoch."),
            )
        if self.patience and self.best_by == LAST:
            raise TrainingError(
                _("patience is %(patience)s, but with best_by=last no validation is better than another.")
                % {"patience": self.patience},
                _("Set best_by to loss or p_at_1."),
            )

    @property
    def dialogue_format(self) -> DialogueFormat:
        return DialogueFormat(speaker_marks=self.speaker_marks, chat_template=self.chat_template)

    def _check_frozen_weights(self) -> None:
        """Raise TrainingError for rounded weights that are trained, computed with in fp32, or spread."""
        if self.frozen_weights == "fp32":
            return
        rounded = {"name": self.frozen_weights}
        if not self.lora_rank:
            raise TrainingError(
                _("frozen_weights is %(name)s, but without adapters all weights are trained.") % rounded,
                _("Train adapters (LoRA), or set frozen_weights to fp32."),
            )
        if self.precision == "fp32":
            raise TrainingError(
                _("frozen_weights is %(name)s, which is computed in bf16, but precision is fp32.") % rounded,
                _("Set precision to auto or bf16, or frozen_weights to fp32."),
            )
        if self.sharding != "auto":
            raise TrainingError(
                _("frozen_weights is %(name)s, but %(sharding)s spreads weights of one kind only.")
                % {**rounded, "sharding": self.sharding},
                _("Set sharding to auto, or frozen_weights to fp32."),
            )

    def rate_factor(self, step: int) -> float:
        """Share of the peak learning rate at optimiser step `step`, counted from 1."""
        return inverse_sqrt_factor(step, warmup=self.warmup)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


# Random replies were drawn from the whole project before that could be chosen; everything else was as by default.
BEFORE = values_before(JointRecipe, random_within="project")


def diamante() -> JointRecipe:
    """The paper's settings (section 4.1.1), for a model of 11 billion parameters on 8 GPUs of 40 GB."""
    return JointRecipe()


def quick() -> JointRecipe:
    """Minutes on two cores, with the demo model and a few hundred dialogues.

    A model of 5 million parameters needs a rate two orders of magnitude above the paper's, and with some hundred steps
    in all its head would hardly move at that rate either: hence head_lr.
    """
    return JointRecipe(
        context=256,
        reply=64,
        batch=32,
        epochs=4,
        # Among all candidates, also the one that was revised: with so few turns each has to count.
        similar=None,
        peak_lr=3e-4,
        head_lr=1e-2,
        warmup=20,
        clip=1.0,
    )


RECIPES = {"diamante": diamante, "quick": quick}


def with_lora(recipe: JointRecipe) -> JointRecipe:
    """The recipe with adapters instead of all weights: of rank LORA_RANK, at a peak of at least LORA_RATE."""
    rank = recipe.lora_rank or LORA_RANK
    return dataclasses.replace(recipe, lora_rank=rank, peak_lr=max(recipe.peak_lr, LORA_RATE))
