"""Made-up dialogues with candidates, and tiny models of several shapes, for the tests of layouts and losses."""

from __future__ import annotations

from random import Random
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.common.shared_context.rows import MicroBatch
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.micro_batches import Layout
from tests.generation.conftest import build_tokenizer, config_of

torch.set_num_threads(1)

WORDS = ["tea", "rain", "walk", "hello", "fine", "like", "you", "do", "what", "we", "你好", "今天", "喝茶"]


def dialogue(
    *utterances: str,
    annotated: tuple[int, ...] | None = None,
    candidates: tuple[str, ...] = ("no", "yes"),
    language: str = "",
    domain: str = "",
) -> TrainingDialogue:
    """annotated: positions with candidates, None: all but the opening."""
    places = range(1, len(utterances)) if annotated is None else annotated
    turns = tuple(Turn(place, utterances[place], candidates, "select", "") for place in places)
    return TrainingDialogue(utterances[0], "", domain, language, utterances, turns)


def ragged(seed: int, count: int = 3) -> list[TrainingDialogue]:
    """Dialogues of uneven length with utterances of uneven length, not every one of them with candidates."""
    random = Random(seed)

    def said() -> str:
        return " ".join(random.choices(WORDS, k=random.choice([1, 1, 2, 4, 9])))

    found = []
    for _ in range(count):
        utterances = [said() for _ in range(random.randint(2, 7))]
        annotated = tuple(place for place in range(1, len(utterances)) if random.random() < 0.7) or (1,)
        shown = tuple(said() for _ in range(random.randint(1, 7)))
        candidates = (*shown, "no such reply")
        # Words of both languages are mixed, so that the dialogues count as one language.
        found.append(dialogue(*utterances, annotated=annotated, candidates=candidates, language="mixed"))
    return found


def joint_model(shape: str, *, seed: int = 0, **changes: Any) -> JointModel:
    """Weights wide enough that a wrong mask or position shows."""
    tokenizer = build_tokenizer()
    config = config_of(shape, len(tokenizer))
    for name, value in changes.items():
        setattr(config, name, value)
    torch.manual_seed(seed)
    build: Any = AutoModelForCausalLM.from_config
    model = JointModel(build(config), tokenizer, seed=seed).train()
    with torch.no_grad():
        model.head.weight.mul_(20)
    return model


def learned(model: JointModel, micro_batches: list[MicroBatch]) -> tuple[dict[str, float], dict[str, Tensor]]:
    """Losses of a step, and the gradient of every weight."""
    model.zero_grad()
    losses = {"loss": 0.0, "nll": 0.0, "ranking": 0.0}
    for micro in micro_batches:
        output = model(**micro)
        torch.autograd.backward(output.loss)
        for name in losses:
            losses[name] += float(output[name].detach())
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return losses, gradients


def fed(layout: Layout, *args: Any) -> int:
    """Tokens of the micro-batches, padding included."""
    return sum(micro["input_ids"].numel() for micro in layout.micro_batches(*args))
