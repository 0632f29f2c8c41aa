"""What decides the weights of a joint training run, besides the data, the base model and the machine's arithmetic.

A recipe is a function that returns a `JointRecipe`; single values are replaced with `changed`.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

PRECISIONS = ("auto", "fp32", "bf16")
LAYOUTS = ("auto", "naive", "packed", "trees")
# May differ between a checkpoint and its continuation: they change rounding and memory, not what is computed.
FREE = frozenset({"token_budget", "precision", "layout", "recompute"})
# Adapters start from nothing; the paper's rate is for all the weights of a large model.
LORA_RATE = 1e-4


@dataclass(frozen=True, slots=True)
class JointRecipe:
    """Settings of generation-evaluation joint training (Diamante, section 4.1); the defaults are the paper's.

    context, reply: tokens, the oldest utterances are dropped first. batch: quadruples an optimiser step.
    similar: the model's response is drawn among that many candidates least similar to the human's, None: among all.
    peak_lr, warmup: linear warm-up over so many steps to the peak, then inverse square root decay.
    head_lr: the peak for the preference head, None is peak_lr: a new head learns nothing at a rate that leaves a small
    model's replies as they are. clip: largest norm of the gradient, 0 does not clip.
    precision: auto is bf16 where the GPU has it, fp32 elsewhere.
    layout: how rows are made of quadruples; auto takes the fastest that gives the same gradient.
    token_budget: tokens of a micro-batch, None is 16384 on a GPU and 1024 on a CPU; halved where memory runs out, in a
    run of one process. recompute: activations in the backward pass, for a third more time and much less memory.
    lora_rank: 0 trains all weights; otherwise adapters of that rank on every linear layer, and the head. They want a
    higher peak_lr than all weights do: --lora sets both.
    """

    context: int = 384
    reply: int = 128
    similar: int | None = 5
    batch: int = 168
    epochs: int = 5
    peak_lr: float = 2e-6
    head_lr: float | None = None
    warmup: int = 500
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip: float = 0.0
    seed: int = 1
    precision: str = "auto"
    layout: str = "auto"
    token_budget: int | None = None
    recompute: bool = False
    lora_rank: int = 0
    lora_alpha: int = 32
    lora_dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                said = _("%(name)s is %(value)s, and must be at least %(least)s.")
                raise _refused(said, name, value, least=least)
        if self.clip == math.inf:  # which no JSON holds
            said = _("%(name)s is %(value)s, and must be finite; 0 does not clip.")
            raise _refused(said, "clip", self.clip)
        for name in POSITIVE:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                said = _("%(name)s is %(value)s, and must be greater than 0, and finite.")
                raise _refused(said, name, value)
        for name in SHARES:
            if not 0 <= getattr(self, name) < 1:
                said = _("%(name)s is %(value)s, and must be at least 0 and less than 1.")
                raise _refused(said, name, getattr(self, name))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                said = _("%(name)s is %(value)s, and must be one of %(choices)s.")
                raise _refused(said, name, repr(getattr(self, name)), choices=", ".join(allowed))

    def rate_factor(self, step: int) -> float:
        """Share of the peak learning rate at optimiser step `step`, counted from 1 (Vaswani et al., 2017)."""
        warmup = max(1, self.warmup)
        return min(step / warmup, math.sqrt(warmup / step))

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


LEAST = {
    "context": 8,
    "reply": 2,
    "similar": 1,
    "batch": 1,
    "epochs": 1,
    "warmup": 0,
    "clip": 0,
    "seed": 0,
    "token_budget": 16,
    "lora_rank": 0,
    "lora_alpha": 1,
}
POSITIVE = ("peak_lr", "head_lr", "epsilon")
SHARES = ("beta1", "beta2", "lora_dropout")
CHOICES = {"precision": PRECISIONS, "layout": LAYOUTS}


def diamante() -> JointRecipe:
    """The paper's settings."""
    return JointRecipe()


def quick() -> JointRecipe:
    """Minutes on two cores with the demo model and a few hundred dialogues."""
    sizes: dict[str, Any] = {"context": 256, "reply": 64, "batch": 32, "epochs": 4}
    # Of all candidates, also the one that was revised: with so few turns each has to count.
    return JointRecipe(**sizes, similar=None, peak_lr=3e-4, head_lr=1e-2, warmup=20, clip=1.0)


RECIPES = {"diamante": diamante, "quick": quick}


def with_lora(recipe: JointRecipe) -> JointRecipe:
    """The recipe with adapters of rank 16 instead of all weights."""
    rank = recipe.lora_rank or 16
    return dataclasses.replace(recipe, lora_rank=rank, peak_lr=max(recipe.peak_lr, LORA_RATE))


def changed(recipe: JointRecipe, settings: Sequence[str]) -> JointRecipe:
    """The recipe with settings of the form `name=value`; None is written `none`."""
    found = dict(_setting(setting) for setting in settings)
    return dataclasses.replace(recipe, **found)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise TrainingError(
            _("%(setting)s is no setting.") % {"setting": repr(text)},
            _("Write name=value, for example batch=32."),
        )
    kinds = get_type_hints(JointRecipe)
    if name not in kinds:
        raise TrainingError(
            _("A recipe has no setting %(setting)s.") % {"setting": repr(name)},
            _("It has %(names)s.") % {"names": ", ".join(kinds)},
        )
    return name, _value(name, value, kinds[name])


def _value(name: str, text: str, kind: Any) -> Any:
    if isinstance(kind, types.UnionType):
        if text.lower() == "none":
            return None
        kind = next(option for option in get_args(kind) if option is not types.NoneType)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise _refused(_("%(name)s is %(value)s, and must be true or false."), name, repr(text))
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        said = {
            int: _("%(name)s is %(value)s, and must be a whole number."),
            float: _("%(name)s is %(value)s, and must be a number."),
        }
        raise _refused(said[kind], name, repr(text)) from None


def _refused(said: str, name: str, value: object, **wanted: object) -> TrainingError:
    """said: with places for name, value, and what is wanted instead."""
    return TrainingError(
        said % {"name": name, "value": value, **wanted}, _("Correct it: --set %(name)s=…") % {"name": name}
    )


def differences(mine: dict[str, Any], saved: dict[str, Any]) -> list[str]:
    """What keeps a run with recipe `mine` from continuing one with recipe `saved`, as `name: saved → mine`."""
    names = [*mine, *(name for name in saved if name not in mine)]
    return [
        f"{name}: {saved.get(name)} → {mine.get(name)}"
        for name in names
        if name not in FREE and saved.get(name) != mine.get(name)
    ]
