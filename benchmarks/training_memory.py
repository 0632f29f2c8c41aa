"""How much memory joint training takes at its peak, and how much was planned before the start.

`python -m benchmarks.training_memory`. Every case is the training command in a process of its own with a model of
random weights: some optimiser steps on made-up dialogues, from loading the model to saving the result. On the CPU its
peak is the largest resident set of the process, less what it had after a training of a tiny model, which loads what
PyTorch loads when it is first needed. On a GPU it is what PyTorch allocated. The plan knows the model's config.json and
the recipe only (see preference.training.joint.memory).

What no CPU shows: fragmentation of CUDA's allocator, workspaces of its kernels, NCCL's buffers, and weights spread by
FSDP or DeepSpeed. `--device cuda` measures the first two where there is a GPU.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reporting import command_line, print_figures

MEBIBYTE = 1 << 20
DIALOGUES = 16
TURNS = 5  # annotated ones of a dialogue: short dialogues fill a row of 1,024 tokens
COMMON = ("context=384", "reply=64", f"batch={DIALOGUES // 2 * TURNS}", "epochs=1", "precision=fp32")
# glibc gives freed memory back at once. By default it keeps some, and a resident set is a fifth to a third larger.
RETURNED = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
RECOMPUTED = ("recompute=true",)
ROUNDED = ("precision=bf16", "frozen_weights=bf16")


@dataclass(frozen=True, slots=True)
class Case:
    """size: of benchmarks.models. settings: of the recipe."""

    size: str
    is_lora: bool = False
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join([self.size, "LoRA" if self.is_lora else "all weights", *self.settings])

    @property
    def recipe_arguments(self) -> list[str]:
        words = [word for setting in (*COMMON, *self.settings) for word in ("--set", setting)]
        return [*words, *(["--lora"] if self.is_lora else [])]


CASES = [
    Case("28m"),
    Case("28m", settings=RECOMPUTED),
    Case("28m", is_lora=True),
    Case("28m", is_lora=True, settings=RECOMPUTED),
    Case("28m", is_lora=True, settings=ROUNDED),
    Case("28m", settings=("precision=bf16",)),
    Case("wide", settings=("loss_chunk=64",)),
    Case("wide", settings=("loss_chunk=100000",)),
    Case("wide", is_lora=True, settings=("loss_chunk=64",)),
    Case("wide", is_lora=True, settings=("loss_chunk=100000",)),
]


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes at the peak, and planned."""

    case: Case
    peak: int
    planned: int

    @property
    def error(self) -> float:
        """Of the plan, as a share of what was measured."""
        return self.planned / self.peak - 1


def measure(
    case: Case, folder: Path, device: str = "cpu", *, allocator: Mapping[str, str] = RETURNED
) -> Measured:
    """Train in a process of its own; folder: of models and data, which are made if they are not there.

    allocator: variables that glibc reads.
    """
    for size in ("tiny", case.size):
        write_model(size, folder)
    write_dialogues(folder / "dialogues.jsonl")
    asked = {"size": case.size, "folder": str(folder), "device": device, "recipe": case.recipe_arguments}
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.training_memory", "--measure", json.dumps(asked)],
        env={**os.environ, **allocator, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Measured(case, int(ended.stdout.split()[-1]), plan(case, folder, device))


def plan(case: Case, folder: Path, device: str) -> int:
    from preference.training.joint.command import build_recipe, parser
    from preference.training.joint.memory.plan import plan_memory
    from preference.training.joint.memory.sizes import sizes_of

    config = json.loads((folder / case.size / "config.json").read_text())
    options = parser().parse_args([*case.recipe_arguments, "--data", "-", "--model", "-", "--output", "-"])
    recipe = build_recipe(options)
    return plan_memory(sizes_of(config), recipe, device=device, bf16=recipe.precision == "bf16").peak


def write_model(size: str, folder: Path) -> None:
    if (folder / size).is_dir():
        return
    import torch
    from transformers import AutoModelForCausalLM

    from benchmarks.joint_training import build_tokenizer
    from benchmarks.models import build_config

    torch.manual_seed(0)
    build: Any = AutoModelForCausalLM.from_config
    config = build_config(size)
    build(config).save_pretrained(folder / size)
    build_tokenizer(config.vocab_size).save_pretrained(folder / size)


def write_dialogues(path: Path) -> None:
    """Of words that every model knows."""
    from benchmarks.joint_training import make_dialogues
    from benchmarks.models import SIZES

    rows = [
        {
            "dialogue_id": talk.id,
            "split": "train",
            "language": "en",
            "conversation": [
                {"utterance": text, "response_candidates": list(turn.candidates) if turn else []}
                for text, turn in list(zip(talk.utterances, (None, *talk.turns), strict=True))[: TURNS + 1]
            ],
        }
        for talk in make_dialogues(DIALOGUES, SIZES["tiny"]["vocab_size"])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def measure_here(asked: dict[str, Any]) -> int:
    """Bytes at the peak of a training in this process."""
    import torch

    train("tiny", asked)
    gc.collect()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    if asked["device"] == "cuda":
        torch.cuda.reset_peak_memory_stats()
    train(asked["size"], asked)
    return torch.cuda.max_memory_allocated() if asked["device"] == "cuda" else resident("VmHWM") - before


def train(size: str, asked: dict[str, Any]) -> None:
    from preference.training.joint.command import main

    folder = Path(asked["folder"])
    with tempfile.TemporaryDirectory(dir=folder) as output:
        status = main(
            [
                *asked["recipe"], "--data", str(folder / "dialogues.jsonl"), "--model", str(folder / size),
                "--output", output, "--device", asked["device"], "--threads", "1", "--quiet",
            ]
        )  # fmt: skip
    assert status == 0


def resident(name: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def show(figures: dict[str, Any]) -> None:
    print(f"{'':58} {'measured':>9} {'planned':>9}   MiB, and how far the plan is off")
    for row in figures["cases"]:
        print(f"{row['case']:58} {row['measured']:9.0f} {row['planned']:9.0f} {row['error']:+8.1%}")
    print(f"largest error {figures['largest_error']:.1%}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_line(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--cases", type=int, default=len(CASES), metavar="N", help="only the first N")
    parser.add_argument(
        "--keeping", action="store_true", help="leave glibc's default, which keeps freed memory"
    )
    parser.add_argument("--measure", type=json.loads, metavar="JSON", help="used by the benchmark itself")
    options = parser.parse_args(arguments)
    if options.measure:
        print(measure_here(options.measure))
        return
    with tempfile.TemporaryDirectory() as folder:
        allocator = {} if options.keeping else RETURNED
        found = [
            measure(case, Path(folder), options.device, allocator=allocator)
            for case in CASES[: options.cases]
        ]
    rows = [
        {
            "case": one.case.name,
            "measured": round(one.peak / MEBIBYTE, 1),
            "planned": round(one.planned / MEBIBYTE, 1),
            "error": round(one.error, 3),
        }
        for one in found
    ]
    largest = max(abs(one.error) for one in found)
    print_figures({"cases": rows, "largest_error": round(largest, 3)}, as_json=options.json, show=show)


if __name__ == "__main__":
    main()
