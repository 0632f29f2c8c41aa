"""How much memory a joint training will take, before it is started, beside what this machine has.

    python -m preference.training.joint.memory --model FOLDER_OR_ID --recipe diamante --lora --set recompute=true

takes the options of the training, and reads the model's config.json only: of a hub id nothing else is downloaded. It
knows the architectures of Llama, Mistral, Qwen, Phi-3, Gemma, Granite, OLMo and GPT-2. --device cuda plans for a GPU
that this machine does not have. Exit 0: it fits. 3: it does not. 1: nothing can be planned.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from preference.training.common.command import positive_int
from preference.training.common.errors import TrainingError
from preference.training.joint.command import build_recipe
from preference.training.joint.memory.assessment import Assessment, assess
from preference.training.joint.recipe import RECIPES

DOES_NOT_FIT = 3
GIGABYTE = 10**9
PARTS = {
    "weights": "weights",
    "gradients": "gradients",
    "moments": "Adam's moments",
    "activations": "activations",
    "logits": "logits",
    "passing": "passing gradients",
}


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.joint.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--model", required=True, help="folder or hub id; only its config.json is read")
    add("--recipe", choices=sorted(RECIPES), default="diamante", help="default: diamante, the paper's")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated")
    add("--lora", action="store_true", help="train only the head and adapters")
    add("--processes", type=positive_int, metavar="N", help="default: one for each visible GPU, on a CPU one")
    add("--device", choices=("cpu", "cuda"), help="default: cuda if there is a GPU")
    add("--json", action="store_true", help="an object with bytes instead of lines")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = parser().parse_args(arguments)
    options.seed, options.chat_template = None, False  # neither takes memory
    try:
        found = assess(
            options.model,
            build_recipe(options),
            processes=options.processes,
            device=options.device,
            may_download=True,
        )
    except TrainingError as error:
        print(f"{error.cause}\n{error.remedy}", file=sys.stderr)
        return 1
    print(json.dumps(as_dict(found)) if options.json else "\n".join(lines_of(options.model, found)))
    return 0 if found.fits else DOES_NOT_FIT


def as_dict(found: Assessment) -> dict[str, Any]:
    facts = {"needed": found.needed, "available": found.available, "fits": found.fits}
    gpus = [{"name": gpu.name, "memory": gpu.memory} for gpu in found.machine.gpus]
    return {**found.plan.as_dict(), **facts, "gpus": gpus}


def lines_of(model: str, found: Assessment) -> list[str]:
    plan = found.plan
    place = "a GPU" if plan.device == "cuda" else "main memory"
    lines = [
        f"{model}: {plan.total_weights / 1e6:,.1f} M weights, {plan.trained_weights / 1e6:,.1f} M trained, in "
        f"{'bf16' if plan.bf16 else 'fp32'} on {plan.processes} × {plan.device}, {plan.tokens} tokens at once",
        *(f"  {words:18} {_shown(getattr(plan, name))}" for name, words in PARTS.items()),
        f"  {'at the peak':18} {_shown(plan.peak)} of {place}, for each process",
        f"  {'with PyTorch':18} {_shown(found.needed)}",
    ]
    if plan.while_loading:
        lines.append(f"  {'while loading':18} {_shown(plan.main_memory)} of main memory, for all processes")
    if found.available:
        lines.append(f"  {'this machine has':18} {_shown(found.available)} for each process")
    else:
        lines.append(f"This machine has {len(found.machine.gpus)} GPUs.")
    return [*lines, "It fits." if found.fits else "It does not fit."]


def _shown(amount: int) -> str:
    return f"{amount / GIGABYTE:8.2f} GB"
