"""Prints what the demo model says, for people to judge: replies to the held-out openings, and whole dialogues."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from generation.demo_model.corpus import heldout_openings

REPLIES, ROUNDS, DIALOGUES = 7, 7, 5
CONTEXT_TOKENS = 384


class Speaker:
    """The model with the product's default sampling: top-k 10, temperature 1, 3-gram blocking, 64 new tokens."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def prompt(self, context: list[str]) -> list[int]:
        """<bos>, then every utterance and its end mark; the oldest utterances go first if it is too long."""
        rows = [[*self.tokenizer.encode(t, add_special_tokens=False), self.tokenizer.eos_token_id] for t in context]
        while sum(len(row) for row in rows) >= CONTEXT_TOKENS and len(rows) > 1:
            rows.pop(0)
        return [self.tokenizer.bos_token_id, *(token for row in rows for token in row)]

    @torch.inference_mode()
    def replies(self, context: list[str], count: int = REPLIES) -> list[str]:
        ids = torch.tensor([self.prompt(context)])
        done = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            top_k=10,
            temperature=1.0,
            no_repeat_ngram_size=3,
            max_new_tokens=64,
            num_return_sequences=count,
        )
        return [self.tokenizer.decode(row[ids.shape[1] :], skip_special_tokens=True).strip() for row in done]


def show_openings(folder: Path) -> None:
    """Seven replies to each held-out opening; the seed is fixed, so that a judgement can be checked."""
    speaker = Speaker(folder)
    torch.manual_seed(0)
    for language, where, opening in heldout_openings():
        print(f"\n[{language} {where}] {opening}")
        for reply in speaker.replies([opening]):
            print(f"    {reply}")


def dialogue(speaker: Speaker, opening: str, rounds: int = ROUNDS) -> Iterator[str]:
    """`rounds` rounds; the model writes both sides after the opening."""
    turns = [opening]
    while len(turns) < 2 * rounds:
        turns.append(speaker.replies(turns, 1)[0])
    yield from turns


def show_dialogues(folder: Path) -> None:
    """Five dialogues of seven rounds in each language, from the first held-out openings."""
    speaker = Speaker(folder)
    torch.manual_seed(0)
    for language in ("en", "zh"):
        openings = [text for tongue, _, text in heldout_openings() if tongue == language]
        for opening in openings[::4][:DIALOGUES]:
            print(f"\n[{language}]")
            for at, text in enumerate(dialogue(speaker, opening)):
                print(f"    {'AB'[at % 2]}: {text}")
