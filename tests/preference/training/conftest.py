"""A tiny model, a few dialogues of two voices, and runs of the training command in this process."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.generation.conftest import build_tokenizer, config_of

ASK = ["Do you like tea?", "How was your walk?", "你好，今天怎么样？", "What do you do at the weekend?"]
ANSWER = ["Yes, I like tea.", "Long, and in the rain.", "我很好，谢谢。", "I walk, thank you."]
ODD = ["Tea tea tea.", "Fine fine.", "喝喝喝。", "Today.", "Hello hello there.", "Rain you."]


def dialogue(number: int, turns: int = 4, candidates: int = 3, split: str = "train") -> dict[str, Any]:
    random = Random(number)
    conversation = []
    for position in range(turns):
        said = random.choice(ANSWER if position % 2 else ASK) + f" {number}-{position}"
        shown = random.sample(ODD, candidates) if position else []
        conversation.append({"utterance": said, "response_candidates": shown, "action": "select"})
    return {"dialogue_id": f"d{number}", "split": split, "conversation": conversation}


def held_out(number: int) -> dict[str, Any]:
    """A dialogue of the split valid. All are of one language, so that each finds random replies in the others."""
    return dialogue(number, split="valid") | {"language": "mixed"}


def write_dialogues(path: Path, dialogues: list[dict[str, Any]]) -> Path:
    path.write_text(
        "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in dialogues), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved Llama of two layers, 32 wide."""
    return save_tiny(tmp_path_factory.mktemp("model") / "llama", "llama")


def save_tiny(folder: Path, shape: str, *, ends: bool = True) -> Path:
    import torch
    from transformers import AutoModelForCausalLM

    tokenizer = build_tokenizer(ends=ends)
    torch.manual_seed(5)
    config = config_of(shape, len(tokenizer))
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 dialogues of 4 turns: 24 quadruples an epoch."""
    return write_dialogues(
        tmp_path_factory.mktemp("data") / "dialogues.jsonl", [dialogue(n) for n in range(8)]
    )


TINY = (
    "batch=8", "epochs=2", "peak_lr=0.01", "warmup=2", "context=96", "reply=48", "token_budget=128",
)  # fmt: skip
Trains = Callable[..., int]


def command(data: Path, model: Path, output: Path, *more: str, settings: tuple[str, ...] = ()) -> list[str]:
    """Arguments of a run of 6 steps, of several micro-batches each."""
    chosen = [part for setting in (*TINY, *settings) for part in ("--set", setting)]
    return [
        "--data", str(data), "--model", str(model), "--output", str(output), "--device", "cpu", "--quiet",
        *chosen, *more,
    ]  # fmt: skip


@pytest.fixture
def trains(dialogues: Path, tiny_model: Path) -> Iterator[Trains]:
    """trains(output, "--resume") runs the command in this process and returns its exit status."""
    from preference.training.joint.command import main

    def train(
        output: Path,
        *more: str,
        data: Path = dialogues,
        model: Path = tiny_model,
        settings: tuple[str, ...] = (),
    ) -> int:
        return main(command(data, model, output, *more, settings=settings))

    with handlers_kept():
        yield train


@contextmanager
def handlers_kept() -> Iterator[None]:
    """The command listens to signals; pytest wants its own handlers back."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def progress_of(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "progress.jsonl").read_text().splitlines()]


def state_of(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "state.json").read_text())
    return found


def weights_of(output: Path) -> dict[str, Any]:
    """All weights of the saved model and its head."""
    from safetensors.torch import load_file

    return load_file(output / "model" / "model.safetensors") | load_file(
        output / "model" / "preference_head.safetensors"
    )
