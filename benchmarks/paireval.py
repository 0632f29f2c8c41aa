"""How fast PairEval scores replies when prompts share what they begin with, against prompts encoded whole.

`python -m benchmarks.paireval`. Three comparison examples, both orders: six prompts a reply. Utterances are made up,
of 6 to 22 words, one token a word. The examples are replies early, in the middle and late in a dialogue of eight
utterances (the mean of DailyDialog, from which the paper draws them); the replies to score are the last of one of 14
(--histories). Two ways to ask:

one target: one reply of a dialogue a call. candidates: seven replies to the same history a call.

whole: every prompt by itself, sorted by length, in batches of at most 4,096 tokens with padding, logits at the last
position only: what an efficient implementation without sharing does. It is also what models get that cannot share.
shared: trees on a stem, as `paireval score` runs them. The stem (the instruction and the three examples, where they
come first) is encoded when the evaluator is loaded, once for all replies, and is not in the time of a call.

Both score the same replies in turn, in one process, and their scores are compared. The bound is the number of tokens
that whole prompts feed, padding included, over those that trees feed: what the ratio would be if every fed token took
the same time. For candidates it grows with the length of their history, which they share; the examples and the closing
question have to be encoded again behind every reply. What it does not show: how well the scores agree with people.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from benchmarks.models import SIZES, build_config
from benchmarks.timing import Case, Timing, time_in_turn
from preference.training.common.evaluators import ReplyToScore
from preference.training.common.shared_context.forward import longest_sequence
from preference.training.paireval.encoding import PromptEncoder
from preference.training.paireval.prompts import INST, PAIR, Conversation, PromptWriter
from preference.training.paireval.reading import PromptReader
from preference.training.paireval.scorer import PairEval, shared_beginnings

EXAMPLE_HISTORIES = (1, 4, 7)  # utterances
WORDS = (6, 22)  # in an utterance
CANDIDATES = 7
TOKEN = Regex(r"\n|\w+|[^\w\s]")
CLOSE = 1e-5
Batches = list[list[ReplyToScore]]


def build_tokenizer(vocabulary: int) -> Any:
    """One token a word, a mark or a line end, as large vocabularies have for common words."""
    nobody = Conversation((), "")
    frame = PromptWriter(PAIR).write((nobody, nobody)) + " A B"
    split = pre_tokenizers.Split(TOKEN, behavior="removed", invert=True)
    fixed = dict.fromkeys(token for token, _span in split.pre_tokenize_str(frame))
    names = ["<pad>", "<bos>", "<eou>", *fixed]
    names += [f"w{number}" for number in range(vocabulary - len(names))]
    core = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<pad>"))
    core.pre_tokenizer = split
    build: Any = PreTrainedTokenizerFast
    return build(tokenizer_object=core, pad_token="<pad>", bos_token="<bos>", eos_token="<eou>")


class Corpus:
    """Made-up dialogues. words: how many the tokenizer knows."""

    def __init__(self, words: int, seed: int) -> None:
        self._random, self._words = random.Random(seed), words

    def utterance(self) -> str:
        count = self._random.randint(*WORDS)
        return " ".join(f"w{self._random.randrange(self._words)}" for _ in range(count))

    def turn(self, name: str, *, utterances: int, replies: int) -> list[ReplyToScore]:
        """Replies to one history of so many utterances."""
        history = tuple(self.utterance() for _ in range(utterances))
        return [ReplyToScore(f"{name}.{number}", history, self.utterance()) for number in range(replies)]


def build_evaluator(size: str, comparisons: Sequence[ReplyToScore], *, share: bool) -> PairEval:
    torch.manual_seed(0)
    build: Any = AutoModelForCausalLM.from_config
    config = build_config(size)
    model = build(config).eval().requires_grad_(False)
    encoder = PromptEncoder(build_tokenizer(config.vocab_size), PAIR, INST, longest_sequence(config))
    beginnings = shared_beginnings(encoder, comparisons)
    reader = PromptReader(model, pad=0, beginnings=beginnings, share=share)
    assert not reader.notes, reader.notes
    return PairEval("paireval", encoder, reader, {"name": size, "version": "random"}, comparisons)


def time_both(
    evaluators: dict[str, PairEval], calls: Batches, rounds: int, clock: Callable[[], float]
) -> tuple[dict[str, Timing], dict[str, int]]:
    """Seconds for all calls, and the tokens that they feed. The scores must agree."""

    def run(name: str) -> list[float | None]:
        return [score.value for call in calls for score in evaluators[name].score(call)]

    fed, scores = {}, {}
    for name, evaluator in evaluators.items():
        before = evaluator.reader.tokens_fed
        scores[name] = run(name)
        fed[name] = evaluator.reader.tokens_fed - before
    differences = [abs((a or 0) - (b or 0)) for a, b in zip(*scores.values(), strict=True)]
    assert all(scores["shared"])
    assert max(differences) < CLOSE, max(differences)
    cases = {name: Case(partial(run, name)) for name in evaluators}
    return time_in_turn(cases, rounds, warmup=0, clock=clock), fed  # comparing was the warm-up


def compute_figures(
    results: dict[str, tuple[dict[str, Timing], dict[str, int]]],
) -> dict[str, float]:
    figures: dict[str, float] = {}
    shares = []
    for name, (timings, fed) in results.items():
        ratio = timings["whole"].median / timings["shared"].median
        bound = fed["whole"] / fed["shared"]
        shares.append(ratio / bound)
        figures |= {f"{name}_ratio": round(ratio, 2), f"{name}_token_bound": round(bound, 2)}
        figures |= {f"{name}_{way}_tokens": tokens for way, tokens in fed.items()}
        figures |= {f"{name}_{way}_seconds": round(timing.median, 4) for way, timing in timings.items()}
    return figures | {"token_bound_share": round(min(shares), 3)}


def format_table(
    calls: dict[str, Batches], results: dict[str, tuple[dict[str, Timing], dict[str, int]]]
) -> str:
    lines = [f"{'':26} milliseconds a call (middle half)   fed tokens a call   ratio   token bound"]
    for name, (timings, fed) in results.items():
        count = len(calls[name])
        for way, timing in timings.items():
            low, median, high = (1000 * value / count for value in (timing.low, timing.median, timing.high))
            spread = f"{median:8.1f} ({low:.1f} - {high:.1f})"
            line = f"  {name + ', ' + way:24} {spread:35} {fed[way] / count:16.0f}"
            if way == "shared":
                ratio = timings["whole"].median / timing.median
                line += f" {ratio:9.2f} {fed['whole'] / fed['shared']:12.2f}"
            lines.append(line)
    return "\n".join(lines)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model-size", default="28m", choices=SIZES)
    parser.add_argument(
        "--histories", type=int, nargs="+", default=[13], metavar="N", help="utterances before a reply"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the made-up dialogues")
    parser.add_argument("--cpu-time", action="store_true", help="this process's time only: for a busy CPU")
    parser.add_argument(
        "--json", action="store_true", help="print all figures as a JSON object on the last line"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.cpu_time else time.perf_counter
    corpus = Corpus(SIZES[options.model_size]["vocab_size"] - 100, options.seed)
    comparisons = [
        reply
        for length in EXAMPLE_HISTORIES
        for reply in corpus.turn(f"example {length}", utterances=length, replies=1)
    ]
    evaluators = {
        "whole": build_evaluator(options.model_size, comparisons, share=False),
        "shared": build_evaluator(options.model_size, comparisons, share=True),
    }
    calls = {
        name: [corpus.turn(f"{name} {n}", utterances=n, replies=replies) for n in options.histories]
        for name, replies in (("one_target", 1), ("candidates", CANDIDATES))
    }
    print(
        f"model {options.model_size}, fp32, {options.threads} thread(s), PyTorch {torch.__version__}, "
        f"{platform.machine()}; {len(comparisons)} examples; {options.rounds} rounds\n"
    )
    results = {name: time_both(evaluators, chosen, options.rounds, clock) for name, chosen in calls.items()}
    print(format_table(calls, results))
    if options.json:
        print(json.dumps(compute_figures(results)))


if __name__ == "__main__":
    main()
