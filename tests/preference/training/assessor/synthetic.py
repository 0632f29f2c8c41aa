"""Dialogues whose quality shows in one word, which is wrong in a known share of them; and tiny pretrained models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

BAYES = 0.8  # accuracy of the best possible classifier
WORDS = {"en": ("useless", "short", "thorough"), "zh": ("没用", "简单", "详细")}
QUESTIONS = {
    "en": ("How do I open the file?", "Which road is closed today?", "Can you help me with my phone?"),
    "zh": ("文件怎么打开？", "今天哪条路封了？", "能帮我看看手机吗？"),
}
ANSWERS = {
    "en": ("This is a {} answer about the menu.", "What follows is {}, take the second road."),
    "zh": ("这个回答很{}，请看菜单。", "下面的说明{}，走第二条路。"),
}
DOMAINS = ("car", "law", "school")

Row = dict[str, Any]


def dialogue_row(number: int, seed: int = 0) -> Row:
    random = Random(seed * 100_000 + number)
    label = number % 3
    shown = label if random.random() < BAYES else random.choice([one for one in range(3) if one != label])
    language = random.choice(("en", "zh"))
    turns = [
        {"role": "user", "content": random.choice(QUESTIONS[language])},
        {"role": "assistant", "content": random.choice(ANSWERS[language]).format(WORDS[language][shown])},
    ]
    return {"id": f"d{number}", "dialogue": turns, "label": label, "domain": DOMAINS[number // 3 % 3]}


def dialogue_rows(count: int, seed: int = 0) -> list[Row]:
    return [dialogue_row(number, seed) for number in range(count)]


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def text_of(row: Row) -> str:
    return " ".join(turn["content"] for turn in row["dialogue"])


def save_pretrained_model(folder: Path, shape: str) -> Path:
    """An untrained encoder (bert) or decoder (llama) of two layers, as a language model without a classifier."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

    from preference.training.assessor.network import train_tokenizer

    tokenizer: Any = train_tokenizer([text_of(row) for row in dialogue_rows(300)], 420, 128)
    if shape == "llama":
        tokenizer.pad_token = None
        tokenizer.eos_token = "<sep>"
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "max_position_embeddings": 128,
    }
    torch.manual_seed(3)
    build: Any = BertForMaskedLM if shape == "bert" else LlamaForCausalLM
    config: Any = (
        BertConfig(**sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        if shape == "bert"
        else LlamaConfig(**sizes)
    )
    build(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
