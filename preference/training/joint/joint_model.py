"""A causal language model with a preference head: one forward pass, both losses (Diamante, section 3).

The backbone is any `AutoModelForCausalLM`. The head is one linear layer, hidden size → 1, read at the token that ends
the reply: with causal attention it is the only token of the reply that has seen all of it. The losses are computed
inside `forward`, so that DDP, FSDP and DeepSpeed wrap them.

    tokens       c   c   <eou>  h   h   <eou>
    predicts                h   h   <eou>          L_NLL: each target from the state of the token before it
    scored                               s         L_PE:  s = w · state + b, at the end of the reply

Generation and evaluation share everything but the head, so that one model both writes candidates and ranks them; at
serving time the score costs one more token (section 3, last paragraph).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers.utils.generic import ModelOutput

from generation.backends.dialogue_format import PLAIN, DialogueFormat, write_format
from generation.backends.hf.chat_template import accept_any_order, reply_frame
from generation.backends.hf.loading import Loaded, load
from generation.backends.hf.scoring import HEAD_FILE, PreferenceHead
from generation.protocol import BackendError
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.model_folder import replace_model_folder, write_explanation
from preference.training.common.shared_context.attention import attend_in_blocks
from preference.training.common.shared_context.forward import (
    disable_dropout,
    hidden_and_logits,
    logits_are_linear_in_hidden,
    longest_sequence,
    model_inputs,
)
from preference.training.joint.chat_encoding import ChatEncoder
from preference.training.joint.encoding import Encoder
from preference.training.joint.loss import (
    generation_loss,
    preference_loss,
    token_losses,
    token_losses_in_chunks,
)
from preference.training.joint.recipe import LOSS_CHUNK

# Saved with a model that reads dialogues plainly, so that chat servers render them as it was trained.
PLAIN_TEMPLATE = (
    "{{ bos_token or '' }}"
    "{% for message in messages %}{% if message['content'] | trim %}{{ message['content'] | trim }}{{ eos_token }}"
    "{% endif %}{% endfor %}"
)
HEAD_SPREAD = 0.02  # standard deviation of a new head's weights; transformers' usual initializer_range


@dataclass
class JointOutput(ModelOutput):
    """Losses of one micro-batch, each its share of the mean over the optimiser step (see `loss`), in nats.

    loss: the weighted sum of nll and ranking, a scalar like both. scores: (K,) preference scores of the replies.
    token_nll: (N,) of every target token.
    """

    loss: Tensor | None = None
    nll: Tensor | None = None
    ranking: Tensor | None = None
    scores: Tensor | None = None
    token_nll: Tensor | None = None


class JointModel(nn.Module):
    """`backbone`: a causal language model. `head`: linear, hidden state → preference score.

    loss_weights: of the generation loss and of the preference loss in their sum. loss_chunk: target tokens whose logits
    are held at once (see `loss.token_losses_in_chunks`). dialogue_format: how dialogues become tokens (see `encoder`);
    saved with the weights. The tokenizer has a chat template only if the format says so; in the folder it has a plain
    one otherwise.

    The score of a reply is s = w · h_end + b with h_end the last hidden state at its end-of-utterance token. notes:
    what was changed in the backbone, in sentences.
    """

    def __init__(
        self, backbone: Any, tokenizer: Any, head: nn.Linear | None = None, *, seed: int = 0
    ) -> None:
        """head: None makes a new one, drawn from `seed`."""
        super().__init__()
        self.backbone = backbone
        self.head = head or _new_head(backbone, seed)
        self.tokenizer = tokenizer
        self.loss_weights = (1.0, 1.0)
        self.dialogue_format = PLAIN
        self.loss_chunk = LOSS_CHUNK
        self.notes = disable_dropout(backbone)
        attend_in_blocks(backbone)
        self._logits_are_linear = logits_are_linear_in_hidden(backbone)

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        seed: int = 0,
        dtype: str = "float32",
        dialogue_format: DialogueFormat | None = None,
        **options: Any,
    ) -> JointModel:
        """Load a folder written here or by transformers, or a hub id; on the CPU, in training mode.

        seed: of the head, if the folder has none. dialogue_format: None for the one that the model was trained with.
        options: of transformers' from_pretrained. Raises TrainingError if anything is missing or does not fit.
        """
        try:
            loaded = load(str(source), "cpu", dtype, **options)
            chosen = loaded.dialogue_format if dialogue_format is None else dialogue_format
            if chosen.chat_template:
                _keep_template(loaded.model, loaded.tokenizer)
        except BackendError as error:
            raise TrainingError(error.cause, error.remedy) from error
        notes = _left_out(loaded, chosen)
        if not chosen.chat_template:
            loaded.tokenizer.chat_template = None
        head = None if loaded.head is None else _linear(loaded.head)
        for weight in loaded.model.parameters():
            weight.requires_grad_(weight.is_floating_point())  # quantised ones are whole numbers
        model = cls(loaded.model, loaded.tokenizer, head, seed=seed)
        model.dialogue_format = chosen
        model.notes += notes
        return model.train()

    def encoder(self, *, context: int, reply: int) -> Encoder:
        """How this model reads dialogues. context, reply: limits in tokens. Raises TrainingError."""
        if self.dialogue_format.chat_template:
            return ChatEncoder(self.tokenizer, context=context, reply=reply, positions=self.positions)
        return Encoder(
            self.tokenizer,
            context=context,
            reply=reply,
            positions=self.positions,
            speaker_marks=self.dialogue_format.speaker_marks,
        )

    @property
    def positions(self) -> int | None:
        """The longest sequence that the model takes, in tokens; None if its configuration does not say."""
        return longest_sequence(self.config)

    @property
    def config(self) -> Any:
        """The backbone's; the Trainer and accelerate look for it on the model that they are given."""
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
        """Losses of one micro-batch, as `layouts.collate.collate` makes it.

        B rows of L tokens hold K replies, N target tokens and P ranked pairs; all indices are int64.

        input_ids, position_ids: (B, L); positions None: 0 … L - 1.
        attention: (B, L, L), True where the token of the second axis sees that of the third; None: causal.
        predict_at: (N, 2), row and column of the token from whose hidden state each of `targets`, (N,), is predicted.
        score_at: (K, 2), row and column of the end of every reply.
        pairs: (P, 2), indices into the replies: the better, the worse.
        tokens_in_step, pairs_in_step: scalars, totals of the optimiser step over all micro-batches and processes.
        """
        inputs = model_inputs(self.backbone, input_ids, position_ids, attention)
        hidden, token_nll = self._hidden_and_token_losses(predict_at, targets, use_cache=False, **inputs)
        scores = self._score(hidden[score_at[:, 0], score_at[:, 1]])
        nll = generation_loss(token_nll, tokens_in_step)
        ranking = preference_loss(scores, pairs, pairs_in_step)
        nll_weight, ranking_weight = self.loss_weights
        return JointOutput(nll_weight * nll + ranking_weight * ranking, nll, ranking, scores, token_nll)

    def _hidden_and_token_losses(
        self, predict_at: Tensor, targets: Tensor, **inputs: Any
    ) -> tuple[Tensor, Tensor]:
        """Hidden states (B, L, hidden) and the loss (N,) of every target, in nats."""
        if not self._logits_are_linear:
            hidden, logits = hidden_and_logits(self.backbone, predict_at, logits_are_linear=False, **inputs)
            return hidden, token_losses(logits, targets)
        hidden = self.backbone.base_model(**inputs).last_hidden_state
        predicting = hidden[predict_at[:, 0], predict_at[:, 1]]
        output_layer = self.backbone.get_output_embeddings()
        return hidden, token_losses_in_chunks(output_layer, predicting, targets, self.loss_chunk)

    def _score(self, hidden: Tensor) -> Tensor:
        """Scores (K,) of hidden states (K, hidden), in fp32: half precision would round away small differences."""
        with torch.autocast(hidden.device.type, enabled=False):
            # Written out instead of calling the head, which FSDP may hold in half precision.
            scores: Tensor = hidden.float() @ self.head.weight[0].float() + self.head.bias.float()
        return scores

    def save_pretrained(self, folder: str | Path, about: Mapping[str, Any] | None = None) -> None:
        """Write an ordinary Hugging Face folder, the head beside it, and `about` as training.json.

        An older folder of that name stays until the new one is complete. Raises TrainingError.

        The head has a file of its own because transformers and vLLM refuse, or drop, weights that an architecture does
        not name; without the head the folder still generates.
        """
        replace_model_folder(Path(folder), lambda partial: self._write(partial, about))

    def _write(self, folder: Path, about: Mapping[str, Any] | None) -> None:
        # `transformers serve` draws replies, instead of giving the likeliest one seven times, only if this says so.
        self.backbone.generation_config.do_sample = True
        self.backbone.save_pretrained(folder)
        template = self.tokenizer.chat_template
        if self.dialogue_format == PLAIN:
            self.tokenizer.chat_template = PLAIN_TEMPLATE
        self.tokenizer.save_pretrained(folder)
        self.tokenizer.chat_template = template
        weights = {name: value.detach().float().cpu() for name, value in self.head.state_dict().items()}
        save_file(weights, folder / HEAD_FILE)
        write_format(folder, self.dialogue_format)
        if about is not None:
            write_explanation(folder, about)


def _keep_template(backbone: Any, tokenizer: Any) -> None:
    """Prepare the template for dialogues, and let generation stop where it ends a reply. Raises BackendError."""
    accept_any_order(tokenizer)
    settings = backbone.generation_config
    known = settings.eos_token_id
    others = known if isinstance(known, list) else [known, tokenizer.eos_token_id]
    ends = dict.fromkeys([reply_frame(tokenizer).end, *others])
    settings.eos_token_id = [end for end in ends if end is not None]


def _left_out(loaded: Loaded, chosen: DialogueFormat) -> list[str]:
    """What the base model reads and the chosen format has not, in sentences."""
    notes = []
    if loaded.dialogue_format.speaker_marks and not chosen.speaker_marks:
        notes.append(
            _(
                "The base model was trained with speaker marks, and is now trained without: speaker_marks is false."
            )
        )
    if loaded.tokenizer.chat_template not in (None, PLAIN_TEMPLATE) and not chosen.chat_template:
        notes.append(
            _(
                "The chat template of the base model is left out, and dialogues are rendered plainly: chat_template "
                "is false."
            )
        )
    return notes


def _hidden_size(backbone: Any) -> int:
    """From the output layer, (vocabulary, hidden): configurations call this size by many names."""
    return int(backbone.get_output_embeddings().weight.shape[1])


def _new_head(backbone: Any, seed: int) -> nn.Linear:
    """A head with small random weights, from a generator of its own: other random draws do not change it."""
    size = _hidden_size(backbone)
    head = nn.Linear(size, 1, device=backbone.device)
    drawn = torch.randn(1, size, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        head.weight.copy_(HEAD_SPREAD * drawn)
        head.bias.zero_()
    return head


def _linear(saved: PreferenceHead) -> nn.Linear:
    """A saved head, which serving holds as two tensors, as a module that can be trained."""
    head = nn.Linear(saved.weight.shape[1], 1)
    head.load_state_dict({"weight": saved.weight, "bias": saved.bias})
    return head
