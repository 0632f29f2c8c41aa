"""How fast seven candidates come, against transformers' `generate(num_return_sequences=7)` on the same model.

`python -m benchmarks.candidates`. All cases run in one process, in turn. Every case samples the same way (top 10,
temperature 1, no 3-gram twice, context included) and writes the same number of tokens; the end of an utterance
stops none. "plain weights" is our engine without its packing for CPUs, on the very model `generate` runs on.
Where several annotators are served at once, the ratios are of the time per request.
Without --model: a Qwen3-shaped model with random weights, of 28 M parameters unless --model-size names another.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.pytorch_utils import Conv1D

from benchmarks.models import SIZES, build_config
from benchmarks.reporting import command_line
from benchmarks.timing import Case, Timing, time_in_turn
from generation.backends.hf.attention import group_queries
from generation.backends.hf.contexts import ConversationCache, Feeder, Prompt
from generation.backends.hf.engines import DecodingTask, SharedContextEngine, why_not_shared
from generation.backends.hf.loading import load
from generation.backends.hf.packing import PackedLinear, pack
from generation.backends.hf.sampling import Draw, NGramBlock, Sampler
from generation.protocol import Sampling

COUNT = 7
NEW_TURN = 24  # tokens that a turn adds to its dialogue: a reply and the answer to it
ANNOTATORS = (4, 16)


def random_model(size: str, dtype: torch.dtype, device: str) -> Any:
    torch.manual_seed(0)
    build: Any = AutoModelForCausalLM.from_config
    with torch.device(device):
        model = build(build_config(size), dtype=dtype)
    return model.eval().requires_grad_(False)


class Engine:
    """Ours on one model. dialogues: one prompt of the context's length for each annotator."""

    def __init__(self, model: Any, dialogues: Sequence[Prompt], new_tokens: int) -> None:
        feeder = Feeder(model)
        self.dialogues = dialogues
        self.sampling = Sampling(max_new_tokens=new_tokens)
        self.conversations = ConversationCache(64, 1 << 34)
        self.engine = SharedContextEngine(feeder, Sampler(frozenset(), (), feeder.device), self.conversations)

    def first_turn(self, annotators: int = 1) -> Case:
        return Case(lambda: self.answer(annotators), self.conversations.clear)

    def next_turn(self, annotators: int = 1) -> Case:
        return Case(lambda: self.answer(annotators), lambda: self.keep(annotators))

    def answer(self, annotators: int) -> None:
        prompts = self.dialogues[:annotators]
        contexts = self.engine.encode(prompts)
        tasks = [
            DecodingTask(
                context, [Draw(seed, self.sampling, NGramBlock(3, prompt.tokens)) for seed in range(COUNT)]
            )
            for context, prompt in zip(contexts, prompts, strict=True)
        ]
        self.engine.decode(tasks)
        assert all(len(draw.tokens) == self.sampling.max_new_tokens for task in tasks for draw in task.draws)

    def keep(self, annotators: int) -> None:
        """The state after the turn before: all but the last NEW_TURN tokens are kept."""
        self.conversations.clear()
        earlier = [Prompt(p.conversation, p.tokens[:-NEW_TURN]) for p in self.dialogues[:annotators]]
        self.engine.encode(earlier)


def build_cases(plain: Any, packed: Any, length: int, new_tokens: int) -> dict[str, Case]:
    vocabulary = plain.get_input_embeddings().weight.shape[0]
    seeded = torch.Generator().manual_seed(1)
    tokens = torch.randint(vocabulary, (max(ANNOTATORS), length), generator=seeded)
    dialogues = [Prompt(str(number), tuple(row)) for number, row in enumerate(tokens.tolist())]
    ours = Engine(packed, dialogues, new_tokens)
    cases = {
        "generate": Case(lambda: generate(plain, tokens[:1].to(plain.device), new_tokens)),
        "first_turn_plain": Engine(plain, dialogues, new_tokens).first_turn(),
        "first_turn": ours.first_turn(),
        "next_turn": ours.next_turn(),
        "products": Case(lambda: multiply_matrices(packed, length, new_tokens)),
    }
    for annotators in ANNOTATORS:
        cases[f"first_turn_{annotators}"] = ours.first_turn(annotators)
        cases[f"next_turn_{annotators}"] = ours.next_turn(annotators)
    return cases


def generate(model: Any, prompt: torch.Tensor, new_tokens: int) -> None:
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=True,
        top_k=10,
        temperature=1.0,
        no_repeat_ngram_size=3,
        max_new_tokens=new_tokens,
        num_return_sequences=COUNT,
        pad_token_id=0,
    )
    replies = model.generate(prompt, attention_mask=torch.ones_like(prompt), generation_config=config)
    assert replies.shape == (COUNT, prompt.shape[1] + new_tokens)


@torch.inference_mode()
def multiply_matrices(model: Any, length: int, new_tokens: int) -> None:
    """Only the matrix products of a first turn: no engine on this model and device can be faster."""
    for rows, steps in ((length, 1), (COUNT, new_tokens - 1)):
        inputs: dict[int, torch.Tensor] = {}
        for _ in range(steps):
            for module in model.modules():
                if isinstance(module, nn.Linear | Conv1D | PackedLinear):
                    width = module.nx if isinstance(module, Conv1D) else module.in_features
                    ones = torch.ones(rows, width, dtype=model.dtype, device=model.device)
                    # Of a context only the last token's vocabulary scores are needed.
                    only_last = steps == 1 and module is model.get_output_embeddings()
                    module(inputs.setdefault(width, ones)[: 1 if only_last else rows])


def compute_figures(length: int, timings: dict[str, Timing]) -> dict[str, float]:
    """Milliseconds for seven candidates, and ratios; per request where several annotators are served."""
    took = {name: timing.median for name, timing in timings.items()}
    figures = {f"{name}_{length}_ms": 1e3 * seconds for name, seconds in took.items()}
    for name in ("first_turn_plain", "first_turn", "next_turn"):
        figures[f"{name}_{length}_times_generate"] = took["generate"] / took[name]
    figures[f"first_turn_{length}_share_of_bound"] = took["products"] / took["first_turn"]
    for turn in ("first_turn", "next_turn"):
        for annotators in ANNOTATORS:
            name = f"{turn}_{annotators}"
            each = took[name] / annotators
            figures[f"{name}_{length}_times_one_by_one"] = took[turn] / each
            figures[f"{name}_{length}_times_generate"] = took["generate"] / each
    return {name: round(value, 2) for name, value in figures.items()}


LABELS = {
    "generate": "generate(num_return_sequences=7)",
    "first_turn_plain": "ours, first turn, plain weights",
    "first_turn": "ours, first turn",
    "next_turn": "ours, next turn",
    "products": "bound: matrix products of a first turn",
} | {
    f"{turn}_turn_{n}": f"ours, {turn} turn, {n} annotators" for turn in ("first", "next") for n in ANNOTATORS
}


def format_table(length: int, timings: dict[str, Timing], figures: dict[str, float]) -> str:
    lines = [f"{f'context of {length} tokens':40} median ms (middle half)       x generate  x one by one"]
    for name, timing in timings.items():
        spread = f"{1e3 * timing.median:8.1f} ({1e3 * timing.low:.1f} - {1e3 * timing.high:.1f})"
        over = figures.get(f"{name}_{length}_times_generate", "")
        alone = figures.get(f"{name}_{length}_times_one_by_one", "")
        lines.append(f"  {LABELS[name]:38} {spread:29} {over:>10} {alone:>13}")
    share = figures[f"first_turn_{length}_share_of_bound"]
    return "\n".join([*lines, f"  the bound is {share:.0%} of what a first turn takes", ""])


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--model", help="a model folder or hub id; default: random weights")
    parser.add_argument("--model-size", default="28m", choices=SIZES, help="of random weights")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--contexts", type=int, nargs="+", default=[128, 384], metavar="TOKENS")
    parser.add_argument("--new-tokens", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu-time", action="store_true", help="this process's time only: for a busy CPU")
    return parser.parse_args(arguments)


def open_model(options: argparse.Namespace) -> Any:
    if options.model:
        model = load(options.model, options.device, options.dtype).model
        model.generation_config.eos_token_id = None
        return model
    device = "cuda" if options.device == "auto" and torch.cuda.is_available() else options.device
    return random_model(
        options.model_size, getattr(torch, options.dtype), "cpu" if device == "auto" else device
    )


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    torch.set_num_threads(options.threads)
    model, packed = open_model(options), open_model(options)
    group_queries(packed)
    pack(packed)
    reason = why_not_shared(Feeder(model))
    if reason:
        raise SystemExit(f"This model cannot share a context: {reason}.")
    parameters = sum(p.numel() for p in model.parameters())
    print(
        f"{parameters / 1e6:.1f} M parameters, {options.dtype}, {model.device}, {options.threads} thread(s), "
        f"PyTorch {torch.__version__}, {platform.machine()}; {COUNT} candidates of {options.new_tokens} tokens; "
        f"a next turn adds {NEW_TURN} tokens; {options.rounds} rounds\n"
    )
    everything: dict[str, float] = {"parameters": parameters, "threads": options.threads}
    clock = time.process_time if options.cpu_time else time.perf_counter
    for length in options.contexts:
        timings = time_in_turn(
            build_cases(model, packed, length, options.new_tokens), options.rounds, clock=clock
        )
        figures = compute_figures(length, timings)
        print(format_table(length, timings, figures))
        everything |= figures
    if options.json:
        print(json.dumps(everything))


if __name__ == "__main__":
    main()
