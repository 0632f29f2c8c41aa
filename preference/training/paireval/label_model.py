"""A causal language model that learns which of two label tokens answers a prompt.

    L = -1/N · Σ_i log P(label_i | prompt_i)          (PairEval, section 3.3)

over the N prompts of an optimiser step, with P over the whole vocabulary. Only the label token is learned, not the
prompt: the loss is about the decision, and a model that also learned to write prompts would forget other things for it.
The loss is computed inside `forward`, so that DDP, FSDP and DeepSpeed wrap it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers.utils.generic import ModelOutput

from generation.backends.hf.loading import load
from generation.protocol import BackendError
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyToScore
from preference.training.common.model_folder import replace_model_folder, write_explanation
from preference.training.common.shared_context.attention import attend_in_blocks
from preference.training.common.shared_context.forward import (
    disable_dropout,
    hidden_and_logits,
    logits_are_linear_in_hidden,
    model_inputs,
)
from preference.training.paireval.comparisons import COMPARISONS_FILE, write_comparisons


@dataclass
class LabelOutput(ModelOutput):
    """loss: a micro-batch's share of the mean over the optimiser step, a scalar in nats."""

    loss: Tensor | None = None


class LabelModel(nn.Module):
    """`backbone`: a causal language model. notes: what was changed in it, in sentences."""

    def __init__(self, backbone: Any, tokenizer: Any) -> None:
        super().__init__()
        self.backbone, self.tokenizer = backbone, tokenizer
        self.notes = disable_dropout(backbone)
        attend_in_blocks(backbone)
        self._logits_are_linear = logits_are_linear_in_hidden(backbone)

    @classmethod
    def from_pretrained(cls, source: str | Path) -> LabelModel:
        """Load a folder or a hub id in fp32, on the CPU, in training mode. Raises TrainingError."""
        try:
            loaded = load(str(source), "cpu", "float32")
        except BackendError as error:
            raise TrainingError(error.cause, error.remedy) from error
        return cls(loaded.model.requires_grad_(True), loaded.tokenizer).train()

    @property
    def config(self) -> Any:
        """The backbone's; the Trainer and accelerate look for it on the model that they are given."""
        return self.backbone.config

    def forward(
        self,
        input_ids: Tensor,
        answer_at: Tensor,
        labels: Tensor,
        answers_in_step: Tensor,
        position_ids: Tensor | None = None,
        attention: Tensor | None = None,
    ) -> LabelOutput:
        """The loss of one micro-batch of K prompts in B rows of L tokens.

        input_ids, position_ids: (B, L); positions None: 0 … L - 1. attention: (B, L, L), True where the token of the
        second axis sees that of the third; None: causal.
        answer_at: (K, 2), row and column of the last token of every prompt. labels: (K,) token ids. answers_in_step:
        scalar, prompts of the whole optimiser step.
        """
        inputs = model_inputs(self.backbone, input_ids, position_ids, attention)
        _hidden, logits = hidden_and_logits(
            self.backbone, answer_at, logits_are_linear=self._logits_are_linear, use_cache=False, **inputs
        )
        total = cross_entropy(logits.float(), labels, reduction="sum")
        return LabelOutput(total / answers_in_step.clamp(min=1))

    def save_pretrained(
        self, folder: Path, about: Mapping[str, Any], comparisons: list[ReplyToScore]
    ) -> None:
        """Write an ordinary Hugging Face folder, with training.json and the comparison examples beside it.

        Raises TrainingError.
        """
        replace_model_folder(folder, lambda partial: self._write(partial, about, comparisons))

    def _write(self, folder: Path, about: Mapping[str, Any], comparisons: list[ReplyToScore]) -> None:
        self.backbone.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        write_explanation(folder, about)
        if comparisons:
            write_comparisons(folder / COMPARISONS_FILE, comparisons)
