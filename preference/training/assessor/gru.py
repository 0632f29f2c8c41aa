"""A classifier with a bidirectional GRU, as a transformers model, so that it is saved and loaded like all others.

    x_t = E[token_t]                                 embedding
    f_t, b_t = GRU forwards and backwards over x     (Cho et al., 2014)
    p = softmax(W · max_t [f_t; b_t] + c)            the largest value of each unit over the dialogue

The maximum over time finds an expression wherever it occurs; the last state would have to remember it to the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModelForSequenceClassification, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class GruConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """hidden_size: of the embedding and of each direction."""

    model_type = "lapidary_gru"

    def __init__(
        self,
        vocab_size: int = 8000,
        hidden_size: int = 256,
        dropout: float = 0.1,
        pad_token_id: int = 0,
        **others: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.pad_token_id = pad_token_id
        super().__init__(**others)


class GruForSequenceClassification(PreTrainedModel):  # type: ignore[no-untyped-call]
    """See the equations above."""

    config_class = GruConfig
    base_model_prefix = "gru"

    def __init__(self, config: GruConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.embedding = nn.Embedding(config.vocab_size, size, padding_idx=config.pad_token_id)
        self.gru = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(2 * size, config.num_labels or 0)
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: Any) -> None:
        """Leave the layers as torch initialises them; transformers calls this for each of a new model."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> SequenceClassifierOutput:
        """Logits (rows, classes) of token ids (rows, length), padded on the right, with their mask of 0 and 1."""
        lengths = attention_mask.sum(dim=1).clamp(min=1).cpu()
        embedded = self.dropout(self.embedding(input_ids))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, _lengths = pad_packed_sequence(
            self.gru(packed)[0], batch_first=True, padding_value=-torch.inf
        )
        return SequenceClassifierOutput(logits=self.classifier(self.dropout(states.amax(dim=1))))


def register() -> None:
    """Let transformers' Auto classes build and load this model."""
    AutoConfig.register(GruConfig.model_type, GruConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(GruConfig, GruForSequenceClassification, exist_ok=True)
