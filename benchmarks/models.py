"""Models with random weights for benchmarks: what a model has learned does not change its speed."""

from __future__ import annotations

from typing import Any

from transformers import Qwen3Config

SIZES: dict[str, dict[str, Any]] = {
    # For a GPU. The shapes of Qwen3's models of these sizes.
    "8b": {
        "vocab_size": 151_936, "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 12_288, "tie_word_embeddings": False,
    },
    "1.7b": {
        "vocab_size": 151_936, "hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "intermediate_size": 6144,
    },
    "600m": {
        "vocab_size": 151_936, "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "intermediate_size": 3072, "head_dim": 128,
    },
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
    """Qwen3's shape with 1,024 positions and the special tokens 0, 1 and 2; tied embeddings unless the size says so."""
    shape = SIZES[size]
    return Qwen3Config(
        **{
            "head_dim": shape["hidden_size"] // shape["num_attention_heads"],
            "tie_word_embeddings": True,
            **shape,
        },
        max_position_embeddings=1024,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
