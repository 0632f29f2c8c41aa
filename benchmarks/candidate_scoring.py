"""The cost of scoring seven candidates: on the cache that they were decoded with, and by encoding them again.

`python -m benchmarks.candidate_scoring`. A model of 28 M random parameters with a random preference head, one thread.
All cases run in one process, in turn, and every round gives one share: (with scores - without) / without. Replies end
where the model ends them, here after about 15 tokens as people's utterances do; `--cut` lets all be cut at the same
length, where the last token of each has to be read as well as its end. "Encoding again" scores without a cache:
contexts and replies in one padded batch of seven rows.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch

from benchmarks.candidates import COUNT, random_model
from generation.backends.hf.attention import group_queries
from generation.backends.hf.contexts import ConversationCache, Feeder, Prompt
from generation.backends.hf.engines import DecodingTask, SharedContextEngine
from generation.backends.hf.packing import pack
from generation.backends.hf.sampling import Draw, NGramBlock, Sampler
from generation.backends.hf.scoring import PreferenceHead
from generation.protocol import Sampling

END = 1
AVERAGE = 15  # tokens of a reply
LONGEST = 64


class EndingSampler(Sampler):
    """Ends every reply after a length drawn beforehand: a model of random weights ends none by itself."""

    def __init__(self, lengths: Sequence[int], device: torch.device) -> None:
        super().__init__(frozenset({END}), (END,), device)
        self._lengths = lengths

    def step(self, logits: torch.Tensor, draws: Sequence[Draw]) -> list[int]:
        tokens = super().step(logits, draws)
        for draw in draws:
            if len(draw.tokens) > self._lengths[draw.seed % len(self._lengths)]:
                draw.tokens.pop()
                draw.ended = True
        return tokens


@dataclass(frozen=True, slots=True)
class Setting:
    """lengths: of replies, in tokens."""

    model: Any
    head: PreferenceHead
    dialogues: Sequence[Prompt]
    lengths: Sequence[int]
    sampling: Sampling

    def engine(self, *, scored: bool) -> SharedContextEngine:
        feeder = Feeder(self.model, keeps_states=scored)
        sampler = EndingSampler(self.lengths, feeder.device)
        return SharedContextEngine(feeder, sampler, ConversationCache(0, 0), self.head if scored else None)


def decode_round(engine: SharedContextEngine, setting: Setting, round: int) -> list[Draw]:
    """The seven candidates of a first turn. Each round has its own dialogue and lengths."""
    prompt = setting.dialogues[round % len(setting.dialogues)]
    seeds = range(round * COUNT, (round + 1) * COUNT)
    contexts = engine.encode([prompt])
    task = DecodingTask(contexts[0], [Draw(seed, setting.sampling, NGramBlock(3)) for seed in seeds])
    engine.decode([task])
    return list(task.draws)


@torch.inference_mode()
def score_again(setting: Setting, prompt: Prompt, draws: Sequence[Draw]) -> list[float]:
    rows = [[*prompt.tokens, *draw.tokens, END] for draw in draws]
    longest = max(map(len, rows))
    model = setting.model
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=model.device)
    ends = torch.tensor([len(row) - 1 for row in rows], device=model.device)
    # Padding comes after the end, which causal attention does not see.
    states = model.base_model(input_ids=tokens, use_cache=False).last_hidden_state
    return setting.head.scores(states[torch.arange(len(rows), device=states.device), ends])


def measure(setting: Setting, rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """Medians over rounds. A round decodes without, with, with and without scores, so that a machine that
    becomes busier during the round slows both alike."""
    engines = {scored: setting.engine(scored=scored) for scored in (False, True)}
    shares, repeated_shares, plain, tokens, worst = [], [], [], [], 0.0
    for round in range(-1, rounds):
        took = {False: 0.0, True: 0.0}
        for scored in (False, True, True, False):
            started = clock()
            draws = decode_round(engines[scored], setting, round % rounds)
            took[scored] += clock() - started
            if scored:
                cached_scores = [draw.score or 0.0 for draw in draws]
        started = clock()
        repeated_scores = score_again(
            setting, setting.dialogues[round % rounds % len(setting.dialogues)], draws
        )
        repeat_seconds = clock() - started
        if round < 0:
            continue  # warm-up
        shares.append(took[True] / took[False] - 1)
        repeated_shares.append(2 * repeat_seconds / took[False])
        plain.append(took[False] / 2)
        tokens.append(statistics.mean(len(draw.tokens) for draw in draws))
        worst = max(
            worst,
            *(
                abs(cached - repeated)
                for cached, repeated in zip(cached_scores, repeated_scores, strict=True)
            ),
        )
    low, median, high = statistics.quantiles(shares, n=4, method="inclusive") if rounds > 1 else shares * 3
    return {
        "scoring_share": median,
        "scoring_share_low": low,
        "scoring_share_high": high,
        "reencoding_share": statistics.median(repeated_shares),
        "generation_ms": 1e3 * statistics.median(plain),
        "tokens": statistics.mean(tokens),
        "max_difference": worst,
    }


def build_setting(context: int, *, cut: bool, device: str) -> Setting:
    model = random_model("28m", torch.float32, device)
    group_queries(model)
    pack(model)
    hidden, seeded, random = model.config.hidden_size, torch.Generator().manual_seed(2), Random(2)
    head = PreferenceHead(
        (torch.randn(1, hidden, generator=seeded) / hidden**0.5).to(device), torch.zeros(1).to(device), END
    )
    rows = torch.randint(2, 8192, (16, context), generator=seeded).tolist()
    lengths = [
        max(1, min(LONGEST - 1, round(random.gammavariate(2.5, AVERAGE / 2.5)))) for _ in range(7 * 401)
    ]
    return Setting(
        model=model,
        head=head,
        dialogues=[Prompt(str(number), tuple(row)) for number, row in enumerate(rows)],
        lengths=[LONGEST] if cut else lengths,
        sampling=Sampling(max_new_tokens=AVERAGE + 1 if cut else LONGEST),
    )


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--contexts", type=int, nargs="+", default=[128, 384], metavar="TOKENS")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--cut", action="store_true", help="all replies are cut at 16 tokens")
    parser.add_argument("--cpu-time", action="store_true", help="this process's time only: for a busy CPU")
    parser.add_argument(
        "--json", action="store_true", help="print all figures as a JSON object on the last line"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    clock = time.process_time if options.cpu_time else time.perf_counter
    print(
        f"28 M parameters, float32, {device}, {options.threads} thread(s), PyTorch {torch.__version__}, "
        f"{platform.machine()}; {COUNT} candidates, "
        f"{'all cut at 16 tokens' if options.cut else 'ending by themselves'}; "
        f"medians of {options.rounds} rounds\n"
    )
    everything: dict[str, float] = {}
    for context in options.contexts:
        figures = measure(build_setting(context, cut=options.cut, device=device), options.rounds, clock)
        print(
            f"context of {context} tokens, {figures['tokens']:.1f} a reply: "
            f"generation {figures['generation_ms']:.1f} ms, "
            f"scoring + {figures['scoring_share']:.1%} (middle half {figures['scoring_share_low']:.1%} to "
            f"{figures['scoring_share_high']:.1%}), encoding again + {figures['reencoding_share']:.0%}; "
            f"scores differ by {figures['max_difference']:.1e} at most"
        )
        everything |= {f"{name}_{context}": value for name, value in figures.items()}
    for name, join in (
        ("scoring_share", statistics.median),
        ("reencoding_share", statistics.median),
        ("max_difference", max),
    ):
        everything[name] = join([everything[f"{name}_{context}"] for context in options.contexts])
    if options.json:
        print(json.dumps(everything))


if __name__ == "__main__":
    main()
