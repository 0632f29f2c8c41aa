"""Made-up conversations, tiny models with their tokenizer, and PairEval by hand: every prompt encoded whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from preference.training.common.evaluators import ReplyToScore
from preference.training.common.shared_context.forward import longest_sequence
from preference.training.paireval.encoding import PromptEncoder
from preference.training.paireval.prompts import INST, QUESTIONS
from preference.training.paireval.reading import PromptReader
from preference.training.paireval.scorer import DirectEval, PairEval, shared_beginnings
from tests.generation.conftest import LINES, SPECIAL, config_of

torch.set_num_threads(1)

WORDS = ["tea", "rain", "walk", "hello", "fine", "like", "you", "do", "what", "we", "你好", "今天", "喝茶"]
MODEL = {"name": "made up", "version": "1"}
QUESTION = (
    "[INST] Instruction: Given two conversations and responses, which response is better for the conversation?\n"
    "\n"
    "{knowledge_1}Conversation A:\n"
    "{history_1}\n"
    "\n"
    "Response A:\n"
    "{response_1}\n"
    "\n"
    "{knowledge_2}Conversation B:\n"
    "{history_2}\n"
    "\n"
    "Response B:\n"
    "{response_2}\n"
    "\n"
    'Which response is better for the conversation? Just answer in "Response A" or "Response B". [/INST]\n'
    "Answer: Response"
)


@cache
def tokenizer(chat_template: str = "") -> Any:
    """Byte-level BPE in which " A" and " B" are single tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator([*LINES, *[QUESTION + " A B"] * 3], trainer)
    build: Any = PreTrainedTokenizerFast
    made = build(tokenizer_object=core, bos_token="<bos>", eos_token="<eou>", pad_token="<pad>")
    made.chat_template = chat_template or None
    return made


@cache
def backbone(shape: str) -> Any:
    """Weights wide enough that a wrong mask or position shows; 4,096 positions, because prompts are long."""
    config = config_of(shape, len(tokenizer()))
    for name in ("max_position_embeddings", "n_positions"):
        if hasattr(config, name):
            setattr(config, name, 4096)
    torch.manual_seed(3)
    build: Any = AutoModelForCausalLM.from_config
    return build(config).eval().requires_grad_(False)


def ragged(seed: int, count: int) -> list[ReplyToScore]:
    """Replies to histories of uneven length; two of them to the same history, and every third with knowledge."""
    random = Random(seed)

    def text() -> str:
        return " ".join(random.choices(WORDS, k=random.choice([1, 2, 4, 9])))

    replies: list[ReplyToScore] = []
    for number in range(count):
        same = number % 3 == 1
        history = replies[-1].history if same else tuple(text() for _ in range(random.randint(1, 5)))
        knowledge = f"About {text()}." if number % 3 == 2 else ""
        replies.append(ReplyToScore(f"{seed}-{number}", history, text(), knowledge=knowledge))
    return replies


def pair_eval(
    model: Any,
    comparisons: Sequence[ReplyToScore],
    *,
    share: bool = True,
    weights: str = "equal",
    **more: Any,
) -> PairEval:
    """more: k, template, positions, token_budget, tokenizer."""
    k = more.pop("k", len(comparisons))
    encoder, reader = _parts(model, "pair", comparisons[:k], share=share, **more)
    return PairEval("paireval", encoder, reader, MODEL, comparisons, k=k, weights=weights)


def direct_eval(model: Any, *, share: bool = True, **more: Any) -> DirectEval:
    encoder, reader = _parts(model, "direct", [], share=share, **more)
    return DirectEval("directeval", encoder, reader, MODEL)


def _parts(
    model: Any,
    question: str,
    comparisons: Sequence[ReplyToScore],
    *,
    share: bool,
    template: str = INST,
    positions: int | None = None,
    token_budget: int | None = None,
    words: Any = None,
) -> tuple[PromptEncoder, PromptReader]:
    words = words or tokenizer()
    limit = positions or longest_sequence(model.config)
    encoder = PromptEncoder(words, QUESTIONS[question], template, limit)
    beginnings = shared_beginnings(encoder, comparisons)
    reader = PromptReader(model, pad=1, beginnings=beginnings, token_budget=token_budget, share=share)
    return encoder, reader


def whole_prompt(first: ReplyToScore, second: ReplyToScore) -> str:
    """The prompt as the design has it, filled in by hand."""
    texts = {}
    for number, one in enumerate((first, second), 1):
        texts[f"knowledge_{number}"] = f"{one.knowledge}\n" if one.knowledge else ""
        texts[f"history_{number}"] = "\n".join(one.history)
        texts[f"response_{number}"] = one.response
    return QUESTION.format(**texts)


@torch.no_grad()
def by_hand(
    model: Any, reply: ReplyToScore, comparisons: Sequence[ReplyToScore]
) -> tuple[float, list[list[float]]]:
    """Score and orders from transformers' own forward, one whole prompt at a time."""
    label_a, label_b = (tokenizer().encode(text) for text in (" A", " B"))
    assert len(label_a) == len(label_b) == 1
    orders = []
    for example in comparisons:
        order = []
        for prompt, label in (
            (whole_prompt(reply, example), label_a[0]),
            (whole_prompt(example, reply), label_b[0]),
        ):
            ids = tokenizer().encode(prompt)
            order.append(float(model(torch.tensor([ids])).logits[0, -1].softmax(-1)[label]))
        orders.append(order)
    return sum(sum(order) / 2 for order in orders) / len(orders), orders
