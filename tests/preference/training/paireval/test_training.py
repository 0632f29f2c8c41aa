"""Training on pairs: a toy task is learned, a stopped run ends at the same weights, batches do not matter."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

from preference.training.common.evaluators import ReplyToScore
from preference.training.common.shared_context.forward import longest_sequence
from preference.training.paireval.batching import PromptBatching, label_prompts
from preference.training.paireval.command import main
from preference.training.paireval.corpus import Example
from preference.training.paireval.encoding import PromptEncoder
from preference.training.paireval.label_model import LabelModel
from preference.training.paireval.pairs import PairSampler
from preference.training.paireval.prompts import DIRECT, PAIR, PromptQuestion
from preference.training.paireval.recipe import PairRecipe
from preference.training.paireval.run import comparisons_to_store
from preference.training.paireval.scorer import load_paireval
from preference.training.paireval.trainer import PairTrainer
from tests.preference.training.conftest import handlers_kept, progress_of, save_tiny, state_of

GOOD, BAD = "I like tea.", "喝喝喝"
Trains = Callable[..., int]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("base") / "llama", "llama")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 histories; the good reply is always the same, and so is the bad one."""
    file = tmp_path_factory.mktemp("data") / "toy.jsonl"
    rows = (
        {"id": number, "history": [f"Do you {number}?"], "positives": [GOOD], "adversarial": [BAD]}
        for number in range(24)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def trains(base: Path, toy: Path) -> Iterator[Trains]:
    """trains(output, "--resume") trains in this process: 6 steps of 8 pairs, on all weights."""

    def train(output: Path, *more: str, settings: tuple[str, ...] = (), data: Path = toy) -> int:
        chosen = ("batch=8", "epochs=2", "longest=512", "token_budget=1024", *settings)
        return main(
            [
                "train", "--data", str(data), "--model", str(base), "--output", str(output),
                "--recipe", "all_weights", "--negatives", "adversarial", "--device", "cpu", "--quiet",
                *(part for setting in chosen for part in ("--set", setting)), *more,
            ]
        )  # fmt: skip

    with handlers_kept():
        yield train


def weights_of(output: Path) -> dict[str, Any]:
    return load_file(output / "model" / "model.safetensors")


def test_a_toy_task_is_learned_and_the_folder_scores_by_itself(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path / "run", settings=("epochs=8", "peak_lr=0.003", "schedule=constant")) == 0
    losses = [line["loss"] for line in progress_of(tmp_path / "run")]
    assert losses[-1] < 0.3 < losses[0]
    model = tmp_path / "run" / "model"
    about = json.loads((model / "training.json").read_text())
    assert about["data"]["negatives"] == {"adversarial": 24}
    assert (about["recipe"]["question"], about["step"]) == ("pair", 24)
    evaluator = load_paireval(model, k=2)
    replies = [ReplyToScore(name, ("Do you 99?",), text) for name, text in (("good", GOOD), ("bad", BAD))]
    good, bad = evaluator.score(replies)
    assert good.value is not None
    assert bad.value is not None
    # The examples are good replies as well: a good one is no better than they, a bad one is worse.
    assert good.value > bad.value + 0.2
    assert evaluator.describe()["k"] == 2


def test_direct_eval_learns_from_the_same_data(trains: Trains, tmp_path: Path) -> None:
    options = ("--question", "direct")
    assert trains(tmp_path / "run", *options, settings=("epochs=8", "peak_lr=0.003")) == 0
    model = tmp_path / "run" / "model"
    assert not (model / "comparisons.jsonl").exists()
    evaluator = load_paireval(model)
    assert evaluator.name == "directeval"
    replies = [ReplyToScore(name, ("Do you 99?",), text) for name, text in (("good", GOOD), ("bad", BAD))]
    good, bad = (score.value or 0.0 for score in evaluator.score(replies))
    assert good > bad + 0.3


def test_a_stopped_run_goes_on_and_ends_at_the_same_weights(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = PairTrainer.report_step

    def interrupted(self: PairTrainer) -> None:
        report(self)
        if self.state.global_step == 4:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(PairTrainer, "report_step", interrupted)
        assert trains(tmp_path / "stopped") == 128 + signal.SIGTERM
    assert state_of(tmp_path / "stopped")["state"] == "stopped"
    assert trains(tmp_path / "stopped", "--resume") == 0
    assert trains(tmp_path / "whole") == 0
    mine, theirs = weights_of(tmp_path / "stopped"), weights_of(tmp_path / "whole")
    assert all(torch.equal(weight, theirs[name]) for name, weight in mine.items())
    files = [(tmp_path / name / "model" / "comparisons.jsonl").read_text() for name in ("stopped", "whole")]
    assert files[0] == files[1]


def test_adapters_are_merged_into_an_ordinary_model(trains: Trains, tmp_path: Path, base: Path) -> None:
    assert trains(tmp_path, "--recipe", "paper", settings=("epochs=1",)) == 0
    before, after = load_file(base / "model.safetensors"), weights_of(tmp_path)
    assert before.keys() == after.keys()
    changed = {name for name, weight in after.items() if not torch.equal(weight, before[name])}
    assert changed
    assert all("proj" in name for name in changed)


def label_model(shape_folder: Path) -> LabelModel:
    return LabelModel.from_pretrained(shape_folder)


@pytest.mark.parametrize("question", [PAIR, DIRECT], ids=["pair", "direct"])
@pytest.mark.parametrize(("share", "budget"), [(True, 300), (True, 5000), (False, 300), (False, 5000)])
def test_the_loss_and_gradient_of_a_step_do_not_depend_on_its_batches(
    base: Path, question: PromptQuestion, share: bool, budget: int
) -> None:
    model = label_model(base)
    encoder = PromptEncoder(model.tokenizer, question, positions=longest_sequence(model.config))
    examples = [
        Example(str(n), str(n), ("tea", "walk " * (n + 1)), (f"rain {n % 3}",), {"unchosen": ("no",)})
        for n in range(6)
    ]
    step = PairSampler(examples, seed=1).epoch(0)
    batching = PromptBatching(encoder, pad=1, token_budget=budget, share=share)
    made = batching.micro_batches(step)
    loss = 0.0
    for micro in made:
        output = model(**micro)
        torch.autograd.backward(output.loss)
        loss += float(output.loss.detach())
    gradients = {
        name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None
    }

    model.zero_grad()
    losses = [
        cross_entropy(model.backbone(torch.tensor([prompt.tokens])).logits[0, -1], torch.tensor(prompt.label))
        for pair in step
        for prompt in label_prompts(pair, encoder)
    ]
    assert len(losses) == len(step) * (2 if question is DIRECT else 1)
    expected = torch.stack(losses).mean()
    torch.autograd.backward(expected)
    assert loss == pytest.approx(float(expected.detach()), abs=1e-5)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, model.get_parameter(name).grad, atol=1e-5, rtol=0, msg=name)


def test_the_label_is_that_of_the_better_reply(base: Path) -> None:
    model = label_model(base)
    encoder = PromptEncoder(model.tokenizer, PAIR)
    examples = [Example(str(n), str(n), ("tea",), (f"good {n}",), {"unchosen": ("bad",)}) for n in range(8)]
    sides = set()
    for pair in PairSampler(examples, seed=1, origins=("unchosen",)).epoch(0):
        (prompt,) = label_prompts(pair, encoder)
        text, label = model.tokenizer.decode(prompt.tokens), model.tokenizer.decode(prompt.label)
        better = "A" if "Response A:\ngood" in text else "B"
        assert label == better
        sides.add(label)
    assert sides == {"A", "B"}


def test_long_histories_are_shortened_and_long_replies_left_out(trains: Trains, tmp_path: Path) -> None:
    data = tmp_path / "long.jsonl"
    rows = [
        {"history": ["tea " * 50] * 20, "positives": [GOOD], "adversarial": [BAD]},
        {"history": ["tea"], "positives": [GOOD, "walk " * 600], "adversarial": ["rain " * 600, BAD]},
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert trains(tmp_path / "run", data=data, settings=("epochs=1",)) == 0
    about = json.loads((tmp_path / "run" / "model" / "training.json").read_text())
    assert about["pairs_an_epoch"] == 2
    assert any(note.startswith("2 replies have more than ") for note in about["layout"]["notes"])


def test_a_wrong_setting_is_refused(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert trains(tmp_path / "run", settings=("negatives=kind",)) == 1
    assert "negatives is 'kind', and must be some of random, adversarial" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()


def test_stored_examples_leave_room_for_a_reply(base: Path) -> None:
    encoder = PromptEncoder(label_model(base).tokenizer, PAIR, positions=512)
    examples = [
        Example("long", "long", ("rain " * 200,), ("walk",)),
        Example("held out", "held out", ("tea",), ("walk",), split="test"),
        *(Example(str(n), str(n), ("tea",), ("walk",)) for n in range(3)),
    ]
    stored = comparisons_to_store(examples, PairRecipe(), encoder)
    assert {one.id for one in stored} == {"0", "1", "2"}
    assert comparisons_to_store(examples, PairRecipe(), PromptEncoder(encoder._tokenizer, DIRECT)) == []
