"""Small dialogues with candidates, and a tiny model that ranks them."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from generation.demo_model.corpus import write_corpus
from generation.demo_model.corpus.reading import HERE
from preference.training.joint.joint_model import JointModel

TOKENIZER = HERE.parent / "model"


def tiny_model(*, seed: int = 0, positions: int = 512) -> JointModel:
    """Random weights of the demo model's shape and tokenizer, large enough that replies differ clearly."""
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=positions,
        initializer_range=0.2,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return JointModel(LlamaForCausalLM(config), tokenizer, seed=seed)


def rows(count: int = 6, *, candidates: int = 3, split: str = "test") -> list[dict[str, Any]]:
    """Dialogues of the demo corpus, the candidates are replies of later dialogues."""
    corpus = [[text for _, text in dialogue] for _, dialogue in write_corpus(5, count + 40)]
    pool = [text for dialogue in corpus[count:] for text in dialogue]
    made = []
    for number, dialogue in enumerate(corpus[:count]):
        turns: list[dict[str, Any]] = [{"utterance": dialogue[0]}]
        for place, text in enumerate(dialogue[1:], 1):
            start = 7 * number + 3 * place
            shown = pool[start : start + candidates]
            turns.append(
                {"utterance": text, "response_candidates": shown, "action": ("select", "rewrite")[place % 2]}
            )
        made.append(
            {
                "id": f"d{number}",
                "split": split,
                "domain": ("pets", "work")[number % 2],
                "language": ("en", "zh")[number % 2],
                "conversation": turns,
            }
        )
    return made


def write_rows(file: Path, given: list[dict[str, Any]]) -> Path:
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in given), encoding="utf-8")
    return file
