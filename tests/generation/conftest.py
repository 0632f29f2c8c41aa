"""Tiny models built here: random weights, a tokenizer trained on the lines below. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from generation.backends.hf import HFBackend


LINES = [
    "Hello there, how are you today?",
    "I am fine, thank you. I like tea and long walks in the rain.",
    "What do you do at the weekend?",
    "你好，今天怎么样？",
    "我很好，谢谢。我喜欢喝茶。",
]
CHAT_TEMPLATE = (
    "{% for m in messages %}"
    "{% if 'boom' in m['content'] %}{{ raise_exception('no such talk') }}{% endif %}"
    "<|{{ m['role'] }}|>{{ m['content'] | trim }}<eou>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# What many models do: refuse a dialogue that the assistant opens.
USER_FIRST = (
    "{% if messages[0]['role'] != 'user' %}{{ raise_exception('user first') }}{% endif %}" + CHAT_TEMPLATE
)
# What Mistral's earlier models have: no prompt of its own, a space before a reply, and only user and assistant in turn.
STRICT = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    "{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + ' [/INST]' }}"
    "{% else %}{{ ' ' + m['content'] + eos_token }}{% endif %}{% endfor %}"
    "{% if messages[-1]['role'] == 'assistant' and add_generation_prompt %}"
    "{{ raise_exception('the user speaks last') }}{% endif %}"
)
# Ends a reply with a token that is not the eos_token.
OTHER_END = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] | trim }}<pad>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
# The prompt begins a thought that the history leaves out.
THINKING = OTHER_END.replace("<|assistant|>\n{% endif", "<|assistant|>\n<think>\n{% endif")
SPECIAL = ["<bos>", "<eou>", "<pad>", "<|user|>", "<|assistant|>", "<|system|>"]


def build_tokenizer(chat_template: str = "", *, ends: bool = True) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(LINES, trainer)
    named = {"bos_token": "<bos>", "pad_token": "<pad>"} | ({"eos_token": "<eou>"} if ends else {})
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=core, **named)  # type: ignore[no-untyped-call]
    if chat_template:
        tokenizer.chat_template = chat_template
    return tokenizer


def config_of(shape: str, vocabulary: int) -> Any:
    """Wide initial weights, so that a wrong mask or position changes what is drawn."""
    from transformers import (
        BloomConfig,
        GPT2Config,
        LlamaConfig,
        MambaConfig,
        MistralConfig,
        Qwen3Config,
    )

    tokens: dict[str, Any] = {
        "vocab_size": vocabulary,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
    }
    wide: dict[str, Any] = {"initializer_range": 0.2, **tokens}
    common: dict[str, Any] = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 512, **wide,
    }  # fmt: skip
    match shape:
        case "llama":
            return LlamaConfig(**common)
        case "qwen3":
            return Qwen3Config(head_dim=8, tie_word_embeddings=True, **common)
        case "gpt2":
            return GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=512, **wide)
        case "sliding":
            return MistralConfig(sliding_window=16, **common)
        case "alibi":
            return BloomConfig(hidden_size=32, n_layer=2, n_head=4, **wide)
        case "mamba":
            return MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=4, **wide)
    raise AssertionError(shape)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`tiny_model("llama")` is the folder of a saved model of that shape; the same folder for the same arguments."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    torch.set_num_threads(1)
    made: dict[tuple[str, str], Path] = {}

    def make(shape: str = "llama", chat_template: str = "") -> Path:
        if (shape, chat_template) not in made:
            folder = tmp_path_factory.mktemp(shape)
            tokenizer = build_tokenizer(chat_template)
            tokenizer.save_pretrained(folder)
            torch.manual_seed(7)
            build: Any = AutoModelForCausalLM.from_config
            build(config_of(shape, len(tokenizer))).save_pretrained(folder)
            made[shape, chat_template] = folder
        return made[shape, chat_template]

    return make


@pytest.fixture
def llama(tiny_model: Callable[..., Path]) -> HFBackend:
    from generation.backends.hf import HFBackend

    return HFBackend(str(tiny_model("llama")))
