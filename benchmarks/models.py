"""Models with random weights for benchmarks: what a model has learned does not change its speed."""

from __future__ import annotations

from typing import Any

from transformers import Qwen3Config

SIZES: dict[str, dict[str, Any]] = {
    "28m": {
        "vocab_size": 8192, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8,
        "num_key_value_heads": 4, "intermediate_size": 1408,
    },
    # The vocabulary of a model of several languages: its logits are the largest tensor.
    "wide": {
        "vocab_size": 80_000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 704,
    },
    "5m": {
        "vocab_size": 4096, "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 704,
    },
    "tiny": {
        "vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "intermediate_size": 128,
    },
}  # fmt: skip


def build_config(size: str) -> Qwen3Config:
    """Qwen3's shape with tied embeddings, 1,024 positions, and the special tokens 0, 1 and 2."""
    return Qwen3Config(
        head_dim=SIZES[size]["hidden_size"] // SIZES[size]["num_attention_heads"],
        tie_word_embeddings=True,
        max_position_embeddings=1024,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        **SIZES[size],
    )
