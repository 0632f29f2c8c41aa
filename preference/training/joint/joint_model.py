"""A causal language model with a preference head: one forward, both losses (Diamante, section 3)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, logsigmoid
from transformers.utils.generic import ModelOutput

from generation.backends.hf.loading import load
from generation.backends.hf.scoring import HEAD_FILE, PreferenceHead
from generation.protocol import BackendError
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.joint.attention import additive, attend_in_blocks

ABOUT_FILE = "training.json"


@dataclass
class JointOutput(ModelOutput):
    """loss = nll + ranking, each this micro-batch's share of the mean over its optimiser step.

    scores: preference score of every reply, shape (K,); token_nll: of every target in nats, shape (N,).
    """

    loss: Tensor | None = None
    nll: Tensor | None = None
    ranking: Tensor | None = None
    scores: Tensor | None = None
    token_nll: Tensor | None = None


class JointModel(nn.Module):
    """`backbone`: any causal language model; `head`: hidden state → preference score.

    The score of a reply is the head's value at its end-of-utterance token. The tokenizer has no chat template.
    """

    def __init__(
        self, backbone: Any, tokenizer: Any, head: nn.Linear | None = None, *, seed: int = 0
    ) -> None:
        """seed: of a new head, where none is given."""
        super().__init__()
        self.backbone = backbone
        self.head = head or _new_head(backbone, seed)
        self.tokenizer = tokenizer
        self.notes = _no_dropout(backbone)
        attend_in_blocks(backbone)
        self._only_labelled = _logits_are_the_head_alone(backbone)

    @classmethod
    def from_pretrained(cls, source: str | Path, *, seed: int = 0, dtype: str = "float32") -> JointModel:
        """From a folder, saved here or by transformers, or a hub id; on the CPU, ready to train.

        Raises TrainingError where anything is missing or does not fit together.
        """
        try:
            loaded = load(str(source), "cpu", dtype)
        except BackendError as error:
            raise TrainingError(error.cause, error.remedy) from error
        loaded.tokenizer.chat_template = None
        head = None if loaded.head is None else _linear(loaded.head)
        model = cls(loaded.model.requires_grad_(True), loaded.tokenizer, head, seed=seed)
        return model.train()

    @property
    def positions(self) -> int | None:
        """The longest sequence that the model takes, None where it does not say."""
        found = getattr(self.config.get_text_config(decoder=True), "max_position_embeddings", None)
        return found or None

    @property
    def config(self) -> Any:
        return self.backbone.config

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def forward(
        self,
        input_ids: Tensor,
        predict_at: Tensor,
        targets: Tensor,
        score_at: Tensor,
        pairs: Tensor,
        tokens_in_step: Tensor,
        pairs_in_step: Tensor,
        position_ids: Tensor | None = None,
        attention: Tensor | None = None,
    ) -> JointOutput:
        """Losses of one micro-batch, as the layouts make it.

        input_ids, position_ids: (B, L). attention: (B, L, L), True where a token (second axis) sees another; None is
        causal. predict_at: (N, 2) row and column of the token that each of the `targets` (N,) is predicted from.
        score_at: (K, 2) row and column of the end of every reply. pairs: (P, 2) indices of the better and the worse
        reply. tokens_in_step, pairs_in_step: totals of the optimiser step, over all its micro-batches and processes.
        """
        where = {} if position_ids is None else {"position_ids": position_ids}
        seen = {} if attention is None else {"attention_mask": additive(attention, self.backbone.dtype)}
        hidden, logits = self._run(predict_at, input_ids=input_ids, use_cache=False, **where, **seen)
        token_nll = cross_entropy(logits.float(), targets, reduction="none")
        scores = self._score(hidden[score_at[:, 0], score_at[:, 1]])
        better, worse = scores[pairs].unbind(1)
        nll = token_nll.sum() / tokens_in_step.clamp(min=1)
        ranking = -logsigmoid(better - worse).sum() / pairs_in_step.clamp(min=1)
        return JointOutput(nll + ranking, nll, ranking, scores, token_nll)

    def _run(self, predict_at: Tensor, **inputs: Any) -> tuple[Tensor, Tensor]:
        """Hidden states (B, L, width), and logits (N, vocabulary) at the predicting tokens alone."""
        rows, columns = predict_at.unbind(1)
        if self._only_labelled:
            hidden: Tensor = self.backbone.base_model(**inputs).last_hidden_state
            return hidden, self.backbone.get_output_embeddings()(hidden[rows, columns])
        output = self.backbone(**inputs, output_hidden_states=True)
        return output.hidden_states[-1], output.logits[rows, columns]

    def _score(self, hidden: Tensor) -> Tensor:
        """In single precision: differences of scores are small, and half precision would round them off."""
        with torch.autocast(hidden.device.type, enabled=False):
            # Not by calling the head: FSDP may hold it in half precision.
            scores: Tensor = hidden.float() @ self.head.weight[0].float() + self.head.bias.float()
        return scores

    def save_pretrained(self, folder: str | Path, about: Mapping[str, Any] | None = None) -> None:
        """An ordinary Hugging Face folder, the head, and `about` as training.json.

        An older folder of that name stays until the new one is whole. Raises TrainingError where it cannot be written.
        """
        folder = Path(folder)
        partial, old = (folder.with_name(f"{folder.name}.{state}") for state in ("part", "old"))
        try:
            for rest in (partial, old):
                shutil.rmtree(rest, ignore_errors=True)
            self._write(partial, about)
            if folder.exists():
                folder.rename(old)
            partial.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        except (OSError, SafetensorError) as error:
            raise TrainingError(
                _("The model cannot be saved to %(folder)s: %(reason)s.")
                % {"folder": folder, "reason": error},
                _("Free space there, or name another folder."),
            ) from error

    def _write(self, folder: Path, about: Mapping[str, Any] | None) -> None:
        folder.mkdir(parents=True)
        self.backbone.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        weights = {name: value.detach().float().cpu() for name, value in self.head.state_dict().items()}
        save_file(weights, folder / HEAD_FILE)
        if about is not None:
            text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
            (folder / ABOUT_FILE).write_text(text, encoding="utf-8")


def _width(backbone: Any) -> int:
    return int(backbone.get_output_embeddings().weight.shape[1])


def _new_head(backbone: Any, seed: int) -> nn.Linear:
    """Small and seeded, apart from the random numbers of everything else."""
    width = _width(backbone)
    head = nn.Linear(width, 1, device=backbone.device)
    drawn = torch.randn(1, width, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        head.weight.copy_(0.02 * drawn)
        head.bias.zero_()
    return head


def _linear(saved: PreferenceHead) -> nn.Linear:
    head = nn.Linear(saved.weight.shape[1], 1)
    head.load_state_dict({"weight": saved.weight, "bias": saved.bias})
    return head


def _no_dropout(backbone: Any) -> list[str]:
    """Sets every dropout to 0: the layouts give the same gradient only where no two replies differ by chance."""
    found = []
    for module in [backbone.config, *backbone.modules()]:
        for name, value in list(vars(module).items()):
            if isinstance(value, float) and value > 0 and _is_dropout(module, name):
                setattr(module, name, 0.0)
                found.append(name)
    if not found:
        return []
    return [_("Dropout is set to 0, because replies that share a context cannot each have their own.")]


def _is_dropout(module: Any, name: str) -> bool:
    """`attention_dropout`, `resid_pdrop`, `layerdrop` … and the probability of a dropout module."""
    return "drop" in name or (name == "p" and isinstance(module, nn.modules.dropout._DropoutNd))


@torch.no_grad()
def _logits_are_the_head_alone(backbone: Any) -> bool:
    """False for models that scale or cap their logits after the last product, or do not separate it; by trying."""
    size = backbone.get_input_embeddings().weight.shape[0]
    tokens = torch.tensor([[7 * i % size for i in range(1, 9)]], device=backbone.device)
    was_training = backbone.training
    backbone.eval()
    try:
        hidden = backbone.base_model(input_ids=tokens, use_cache=False).last_hidden_state
        mine, theirs = (
            backbone.get_output_embeddings()(hidden),
            backbone(input_ids=tokens, use_cache=False).logits,
        )
        return bool(torch.allclose(mine.float(), theirs.float(), rtol=1e-3, atol=1e-5))
    except (AttributeError, TypeError):  # another structure than most
        return False
    finally:
        backbone.train(was_training)
