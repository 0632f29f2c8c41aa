"""The sizes of a model's tensors, from its config.json alone.

This module loads no PyTorch, because a page asks it before every training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

# Three matrices in the feed-forward network (SwiGLU and its like), rotary positions, RMSNorm.
GATED = frozenset(
    {
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "phi3",
        "gemma",
        "gemma2",
        "gemma3_text",
        "granite",
        "olmo2",
        "smollm3",
    }
)
NORMS_ON_HEADS = frozenset({"qwen3", "gemma3_text"})
# Two matrices, learned positions, LayerNorm, a bias in every layer.
PLAIN = frozenset({"gpt2"})
TIED = frozenset({"gemma", "gemma2", "gemma3_text", "gpt2"})  # unless the file says otherwise


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Of a decoder. queries, keys: numbers in the queries and in the keys of a token, over all heads.

    inner: width of the feed-forward network. is_gated: whether it has three matrices, not two. positions: learned
    ones, 0 if they are rotary. is_tied: whether input and output share their embeddings. has_norms_on_heads: whether
    queries and keys are normalised.
    """

    layers: int
    hidden: int
    queries: int
    keys: int
    inner: int
    vocabulary: int
    positions: int
    is_gated: bool
    is_tied: bool
    has_norms_on_heads: bool

    @property
    def linears(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of every linear layer of one block."""
        hidden, inner = self.hidden, self.inner
        if not self.is_gated:
            return [(hidden, 3 * hidden), (hidden, hidden), (hidden, inner), (inner, hidden)]
        attention = [(hidden, self.queries), (hidden, self.keys), (hidden, self.keys), (self.queries, hidden)]
        return [*attention, (hidden, inner), (hidden, inner), (inner, hidden)]

    @property
    def linear_weights(self) -> int:
        """Of all blocks, without biases."""
        return self.layers * sum(inputs * outputs for inputs, outputs in self.linears)

    @property
    def embeddings(self) -> int:
        """Of tokens, output layer and learned positions."""
        return (1 if self.is_tied else 2) * self.vocabulary * self.hidden + self.positions * self.hidden

    @property
    def weights(self) -> int:
        """All of them, but for biases that a few architectures have beside these (less than a thousandth)."""
        vectors = 2 * self.hidden
        if not self.is_gated:
            vectors += 2 * self.hidden + sum(outputs for _inputs, outputs in self.linears)
        return self.linear_weights + self.embeddings + self.layers * vectors + self.hidden

    def adapter_weights(self, rank: int) -> int:
        """Of adapters on every linear layer of every block."""
        return self.layers * sum(rank * (inputs + outputs) for inputs, outputs in self.linears)


def sizes_of(config: Mapping[str, Any]) -> ModelSizes:
    """Those of the model that a config.json describes. Raises TrainingError for an unknown architecture."""
    nested = config.get("text_config")
    text: Mapping[str, Any] = nested if isinstance(nested, Mapping) else config
    try:
        kind = str(text["model_type"])
        if kind in GATED:
            return _gated(text, kind)
        if kind in PLAIN:
            return _plain(text)
    except KeyError as error:
        raise TrainingError(
            _("The configuration of the model does not say %(name)s, so its memory cannot be planned.")
            % {"name": error.args[0]},
            _("Start with a small token_budget and watch the memory."),
        ) from error
    raise TrainingError(
        _("The memory of the architecture %(kind)s cannot be planned.") % {"kind": kind},
        _("Start with a small token_budget and watch the memory."),
    )


def _gated(config: Mapping[str, Any], kind: str) -> ModelSizes:
    hidden, heads = _size(config, "hidden_size"), _size(config, "num_attention_heads")
    width = _size(config, "head_dim", hidden // heads)
    return ModelSizes(
        layers=_size(config, "num_hidden_layers"),
        hidden=hidden,
        queries=heads * width,
        keys=_size(config, "num_key_value_heads", heads) * width,
        inner=_size(config, "intermediate_size"),
        vocabulary=_size(config, "vocab_size"),
        positions=0,
        is_gated=True,
        is_tied=config.get("tie_word_embeddings", kind in TIED),
        has_norms_on_heads=kind in NORMS_ON_HEADS,
    )


def _plain(config: Mapping[str, Any]) -> ModelSizes:
    hidden = _size(config, "n_embd")
    return ModelSizes(
        layers=_size(config, "n_layer"),
        hidden=hidden,
        queries=hidden,
        keys=hidden,
        inner=_size(config, "n_inner", 4 * hidden),
        vocabulary=_size(config, "vocab_size"),
        positions=_size(config, "n_positions"),
        is_gated=False,
        is_tied=config.get("tie_word_embeddings", True),
        has_norms_on_heads=False,
    )


def _size(config: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A positive number; null, or none, is the default. Raises KeyError if it is neither."""
    value = config.get(name)
    number = default if value is None else value
    if type(number) is not int or number < 1:
        raise KeyError(name)
    return number
