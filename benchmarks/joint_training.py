"""How fast the joint model learns quadruples: naive triples, packing and dialogue trees, and TRL's trainers.

`python -m benchmarks.joint_training`. All cases run in one process, in turn, on the same quadruples: made-up dialogues
of 14 utterances of 6 to 22 words (15 tokens with the end of the utterance on average), candidates at every utterance
but the opening, a model with random weights. A run is one optimiser step: encoding, collating, forward, backward and
one step of fused AdamW; the same number of quadruples for all.

naive: batches of 8 quadruples in random order, three rows each, padded to the longest, as an ordinary trainer makes
them (8 is also TRL's default). naive_single: one quadruple a batch, which pads least. Both compute logits only where
there is a label, as ours does. packed: [context | human | model | random]. trees: each dialogue once. by_turn: trees
of as many turns at the same places of different dialogues, what a step of `shuffle=turns` holds.

TRL: SFTTrainer on the human replies (prompt-completion) and RewardTrainer on the pairs h>m, h>r and m>r, each with its
own model and its own optimiser step, between the start and the end of `train()`, its tokenising left out. Set against
its defaults: fp32 instead of bf16, no gradient checkpointing, no clipping, no logging, saving or reporting, and as many
batches of 8 accumulated as make one step.

The bound is the number of tokens that naive feeds, padding included, over those that trees feed: what the ratio would
be if every fed token took the same time.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import transformers
import trl
from datasets import Dataset, disable_progress_bars
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
    PrinterCallback,
    TrainerCallback,
)
from trl import RewardConfig, RewardTrainer, SFTConfig, SFTTrainer  # type: ignore[attr-defined]

from benchmarks.models import SIZES, build_config
from benchmarks.timing import Case, Timing, time_in_turn
from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.common.shared_context.rows import MicroBatch
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.choice import choose_layout
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.quadruples import Quadruple, draw_quadruples

UTTERANCES = 14
WORDS = (6, 22)  # in an utterance
CANDIDATES = 7
BATCH = 8  # quadruples, prompts or pairs in a padded batch
SPECIAL = ["<pad>", "<bos>", "<eou>"]


def build_tokenizer(vocabulary: int) -> Any:
    """One token a word."""
    names = [*SPECIAL, *(f"w{number}" for number in range(vocabulary - len(SPECIAL)))]
    core = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    build: Any = PreTrainedTokenizerFast
    return build(tokenizer_object=core, pad_token="<pad>", bos_token="<bos>", eos_token="<eou>")


def make_dialogues(count: int, vocabulary: int) -> list[TrainingDialogue]:
    rng = random.Random(1)

    def random_utterance() -> str:
        return " ".join(f"w{rng.randrange(vocabulary - len(SPECIAL))}" for _ in range(rng.randint(*WORDS)))

    dialogues = []
    for number in range(count):
        utterances = tuple(random_utterance() for _ in range(UTTERANCES))
        turns = tuple(
            Turn(
                position,
                utterances[position],
                tuple(random_utterance() for _ in range(CANDIDATES)),
                "select",
                "",
            )
            for position in range(1, UTTERANCES)
        )
        dialogues.append(TrainingDialogue(str(number), "", "", "", utterances, turns))
    return dialogues


@dataclass(slots=True)
class Setting:
    """What all cases share: one optimiser step of quadruples. scattered: the like, each of another dialogue."""

    size: str
    device: torch.device
    bf16: bool
    dialogues: list[TrainingDialogue]
    step: list[Quadruple]
    scattered: list[Quadruple]
    tokenizer: Any

    def backbone(self) -> Any:
        torch.manual_seed(0)
        build: Any = AutoModelForCausalLM.from_config
        return build(build_config(self.size)).to(self.device)

    def texts(self) -> list[tuple[str, str, str, str]]:
        """Context, and the three replies, best first; every utterance with its end, as our own encoding has it."""
        texts = []
        for quadruple in self.step:
            dialogue = self.dialogues[quadruple.dialogue]
            turn = dialogue.turns[quadruple.turn]
            earlier = dialogue.utterances[: turn.position]
            context = "<bos> " + "".join(f"{text} <eou> " for text in earlier)
            human, model, negative = (
                f"{text} <eou>" for text in (turn.human, quadruple.model, quadruple.random)
            )
            texts.append((context, human, model, negative))
        return texts


class Ours:
    """One model for all layouts; fed: tokens of a step, padding included."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.model = JointModel(setting.backbone(), setting.tokenizer).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.encoder = Encoder(setting.tokenizer)
        self.fed: dict[str, int] = {}

    def layout(self, name: str, *, budget: int | None = None) -> Layout:
        layout = choose_layout(
            self.model, self.setting.dialogues, self.encoder, name=name, token_budget=budget
        )
        assert layout.name == name, layout.notes
        return layout

    def case(self, name: str, make: Callable[[], list[MicroBatch]]) -> Case:
        return Case(lambda: self.learn(name, make), self.forget)

    def forget(self) -> None:
        """Clear the encoder's cache: a training run encodes each utterance for the first time."""
        self.encoder.utterance.cache_clear()

    def learn(self, name: str, make: Callable[[], list[MicroBatch]]) -> None:
        micro_batches = make()
        for micro in micro_batches:
            inputs = {key: tensor.to(self.setting.device) for key, tensor in micro.items()}
            with torch.autocast(self.setting.device.type, torch.bfloat16, enabled=self.setting.bf16):
                loss = self.model(**inputs).loss
            torch.autograd.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        wait_for_device(self.setting.device)
        self.fed[name] = sum(micro["input_ids"].numel() for micro in micro_batches)

    def cases(self) -> dict[str, Case]:
        step = self.setting.step
        shuffled = random.Random(2).sample(step, len(step))
        batches = [shuffled[start : start + BATCH] for start in range(0, len(shuffled), BATCH)]
        single, batched = self.layout("naive", budget=1), self.layout("naive", budget=1 << 30)
        packed, trees = self.layout("packed"), self.layout("trees")
        return {
            "naive": self.case(
                "naive", lambda: [m for batch in batches for m in batched.micro_batches(batch)]
            ),
            "naive_single": self.case("naive_single", lambda: single.micro_batches(step)),
            "packed": self.case("packed", lambda: packed.micro_batches(step)),
            "trees": self.case("trees", lambda: trees.micro_batches(step)),
            "by_turn": self.case("by_turn", lambda: trees.micro_batches(self.setting.scattered)),
        }


def wait_for_device(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


class Stopwatch(TrainerCallback):
    """Seconds between the start and the end of training, without the preparation and the clean-up of `train()`."""

    def __init__(self, clock: Callable[[], float], device: torch.device) -> None:
        self.clock, self.device = clock, device
        self.seconds = self._begun = 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._begun = self.clock()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        wait_for_device(self.device)
        self.seconds = self.clock() - self._begun


class TRL:
    """TRL's two trainers on the quadruples of the step; fed: tokens, padding included."""

    def __init__(self, setting: Setting, folder: str, clock: Callable[[], float]) -> None:
        self.watch = Stopwatch(clock, setting.device)
        self.fed: dict[str, int] = {}
        texts = setting.texts()
        prompts = Dataset.from_list([{"prompt": c, "completion": h} for c, h, _, _ in texts])
        pairs = [
            {"chosen": c + better, "rejected": c + worse}
            for c, h, m, r in texts
            for better, worse in ((h, m), (h, r), (m, r))
        ]
        build: Any = AutoModelForSequenceClassification.from_config
        config = build_config(setting.size)
        config.num_labels = 1
        on_cpu = setting.device.type == "cpu"
        self.trainers: dict[str, Any] = {
            "trl_sft": SFTTrainer(
                setting.backbone(),
                SFTConfig(**arguments(folder, len(prompts), on_cpu, setting.bf16)),
                train_dataset=prompts,
                processing_class=setting.tokenizer,
                callbacks=[self.watch],
            ),
            "trl_reward": RewardTrainer(
                build(config).to(setting.device),
                RewardConfig(**arguments(folder, len(pairs), on_cpu, setting.bf16)),
                train_dataset=Dataset.from_list(pairs),
                processing_class=setting.tokenizer,
                callbacks=[self.watch],
            ),
        }
        for name, trainer in self.trainers.items():
            trainer.remove_callback(PrinterCallback)
            self.count(name, trainer)

    def count(self, name: str, trainer: Any) -> None:
        """Count the tokens of the padded batches that the trainer's own loader makes."""
        self.fed[name] = sum(batch["input_ids"].numel() for batch in trainer.get_train_dataloader())

    def train(self, name: str) -> float:
        done = self.trainers[name].train()
        assert done.global_step == 1, done
        return self.watch.seconds


def arguments(folder: str, examples: int, on_cpu: bool, bf16: bool) -> dict[str, Any]:
    """One epoch is one optimiser step of all the examples."""
    return {
        "output_dir": folder,
        "num_train_epochs": 1,
        "per_device_train_batch_size": BATCH,
        "gradient_accumulation_steps": -(-examples // BATCH),
        "gradient_checkpointing": False,
        "bf16": bf16,
        "use_cpu": on_cpu,
        "max_grad_norm": 0.0,
        "optim": "adamw_torch_fused",
        "learning_rate": 1e-5,
        "max_length": 1024,
        "logging_strategy": "no",
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }


def time_cases(ours: Ours, theirs: TRL, rounds: int, clock: Callable[[], float]) -> dict[str, Timing]:
    """Time all cases in turn.

    TRL's stopwatch counts the step alone, so `offset` takes its preparation off the clock. There is no warm-up round:
    rounds are long, and a median of three ignores a slow first one.
    """
    offset = 0.0

    def now() -> float:
        return clock() + offset

    def run(name: str) -> None:
        nonlocal offset
        started = clock()
        offset += theirs.train(name) - (clock() - started)

    cases = ours.cases() | {name: Case(partial(run, name)) for name in theirs.trainers}
    return time_in_turn(cases, rounds, warmup=0, clock=now)


def compute_figures(step: int, timings: dict[str, Timing], fed: dict[str, int]) -> dict[str, float]:
    took = {name: timing.median for name, timing in timings.items()}
    took["trl"] = took["trl_sft"] + took["trl_reward"]
    figures = {f"{name}_per_second": round(step / seconds, 3) for name, seconds in took.items()}
    figures |= {f"{name}_tokens": number for name, number in fed.items()}
    for name in ("naive", "naive_single"):
        bound, ratio = fed[name] / fed["trees"], took[name] / took["trees"]
        figures |= {f"{name}_ratio": round(ratio, 2), f"{name}_token_bound": round(bound, 2)}
        figures[f"{name}_bound_share"] = round(ratio / bound, 3)
    figures["packed_ratio"] = round(took["naive"] / took["packed"], 2)
    figures["by_turn_ratio"] = round(took["by_turn"] / took["trees"], 2)
    figures["by_turn_token_bound"] = round(fed["by_turn"] / fed["trees"], 2)
    figures["trl_ratio"] = round(took["trl"] / took["trees"], 2)
    # The stricter of the two: single quadruples pad least.
    figures["token_bound_share"] = min(figures["naive_bound_share"], figures["naive_single_bound_share"])
    return figures


LABELS = {
    "naive": f"naive triples, batches of {BATCH}",
    "naive_single": "naive triples, one by one",
    "packed": "quadruple packing",
    "trees": "dialogue trees",
    "by_turn": "trees, shuffled by turn",
    "trl_sft": "TRL SFTTrainer",
    "trl_reward": "TRL RewardTrainer",
}


def format_table(step: int, timings: dict[str, Timing], figures: dict[str, float]) -> str:
    lines = [f"{'':32} seconds a step (middle half)   quadruples/s   fed tokens"]
    for name, timing in timings.items():
        spread = f"{timing.median:8.3f} ({timing.low:.3f} - {timing.high:.3f})"
        lines.append(
            f"  {LABELS[name]:30} {spread:32} {step / timing.median:12.2f} {figures[f'{name}_tokens']:12.0f}"
        )
    return "\n".join(
        [
            *lines,
            "",
            f"trees / naive in batches   {figures['naive_ratio']:6.1f} "
            f"(bound by fed tokens {figures['naive_token_bound']})",
            f"trees / naive one by one   {figures['naive_single_ratio']:6.1f} "
            f"(bound by fed tokens {figures['naive_single_token_bound']})",
            f"trees by dialogue / by turn{figures['by_turn_ratio']:6.1f} "
            f"(by fed tokens {figures['by_turn_token_bound']})",
            f"trees / TRL's two trainers {figures['trl_ratio']:6.1f}",
            f"share of the token bound   {figures['token_bound_share']:6.1%}, the smaller of the two",
        ]
    )


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model-size", default="28m", choices=SIZES)
    parser.add_argument("--dialogues", type=int, default=1, help="a step holds 13 quadruples of each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true", help="compute in bf16, with weights in fp32")
    parser.add_argument(
        "--peak", type=float, metavar="TFLOP/S", help="of the device in this precision: shows the share of it"
    )
    parser.add_argument("--cpu-time", action="store_true", help="this process's time only: for a busy CPU")
    parser.add_argument(
        "--json", action="store_true", help="print all figures as a JSON object on the last line"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    disable_progress_bars()
    clock = time.process_time if options.cpu_time else time.perf_counter
    vocabulary = SIZES[options.model_size]["vocab_size"]
    dialogues = make_dialogues(options.dialogues * (UTTERANCES - 1), vocabulary)
    drawn = draw_quadruples(dialogues, seed=1, epoch=0)
    step = [quadruple for quadruple in drawn if quadruple.dialogue < options.dialogues]
    at = {(quadruple.dialogue, quadruple.turn): quadruple for quadruple in drawn}
    scattered = [at[number, quadruple.turn] for number, quadruple in enumerate(step)]
    setting = Setting(
        options.model_size,
        torch.device(options.device),
        options.bf16,
        dialogues,
        step,
        scattered,
        build_tokenizer(vocabulary),
    )
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Ours(setting), TRL(setting, folder, clock)
        parameters = sum(p.numel() for p in ours.model.parameters())
        print(
            f"{parameters / 1e6:.1f} M parameters, {'bf16' if options.bf16 else 'fp32'}, {setting.device}, "
            f"{options.threads} thread(s), "
            f"PyTorch {torch.__version__}, TRL {trl.__version__}, {platform.machine()}; "
            f"{len(step)} quadruples a step; {options.rounds} rounds\n"
        )
        timings = time_cases(ours, theirs, options.rounds, clock)
    figures = compute_figures(len(step), timings, ours.fed | theirs.fed)
    print(format_table(len(step), timings, figures))
    # Of the matrices, forward and backward; attention, which adds a little, is left out.
    speed = 6 * parameters * ours.fed["trees"] / timings["trees"].median / 1e12
    figures["trees_tflops"] = round(speed, 3)
    if options.peak:
        figures["trees_share_of_peak"] = round(speed / options.peak, 3)
        print(f"trees: {speed:.1f} TFLOP/s, {speed / options.peak:.1%} of the device's peak")
    if options.json:
        print(json.dumps({"parameters": parameters, "threads": options.threads, **figures}))


if __name__ == "__main__":
    main()
