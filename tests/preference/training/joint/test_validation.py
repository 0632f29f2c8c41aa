"""Validation during training: what is measured, which weights a run ends with, and when it stops early."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from preference.training.common.checkpoints import checkpoints, step_of
from preference.training.common.dialogues import read_dialogues
from preference.training.joint.encoding import Encoder
from preference.training.joint.evaluation.report import build_report
from preference.training.joint.evaluation.scoring import score_turns
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.recipe import JointRecipe, quick
from preference.training.joint.trainer import JointTrainer
from preference.training.joint.validation import draw_validation
from tests.disks import files_up_to
from tests.preference.training.conftest import (
    Trains,
    dialogue,
    held_out,
    progress_of,
    save_tiny,
    state_of,
    weights_of,
    write_dialogues,
)

LOSSES = [5.0, 4.0, 3.0, 3.5, 3.5, 2.0]  # of six steps, where a test scripts them


@pytest.fixture(scope="session")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 dialogues to learn from, 3 to validate on, and one for the test that no validation may read."""
    learned = [dialogue(n) for n in range(8)]
    path = tmp_path_factory.mktemp("split") / "dialogues.jsonl"
    unread = dialogue(30, split="test") | {"language": "mixed"}
    return write_dialogues(path, [*learned, *map(held_out, range(20, 23)), unread])


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Validations measure LOSSES."""

    def figures(self: JointTrainer) -> dict[str, float]:
        return {"loss": LOSSES[self.state.global_step - 1], "p_at_1": self.state.global_step / 10}

    monkeypatch.setattr(JointTrainer, "held_out_figures", figures)
    return monkeypatch


def validated(output: Path) -> dict[int, dict[str, float]]:
    return {line["step"]: line["valid"] for line in progress_of(output) if "valid" in line}


def about(output: Path, name: str = "model") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / name / "training.json").read_text())
    return found


def of_checkpoint(output: Path, step: int) -> dict[str, torch.Tensor]:
    return load_file(output / "checkpoints" / f"checkpoint-{step}" / "weights.safetensors")


def assert_model_is_that_of(output: Path, step: int, name: str = "model") -> None:
    """The saved model has the weights of the checkpoint, bit by bit."""
    saved = JointModel.from_pretrained(output / name)
    for weight, value in of_checkpoint(output, step).items():
        assert torch.equal(saved.get_parameter(weight), value), weight


@pytest.mark.parametrize("shape", [pytest.param("llama", id="trees"), pytest.param("alibi", id="plain rows")])
def test_a_validation_measures_the_joint_loss_and_the_ranking_of_the_split_valid(
    trains: Trains, tmp_path: Path, split: Path, shape: str
) -> None:
    """The figures are those of the training loss on the same quadruples, and of an evaluation of the same turns."""
    model_folder = save_tiny(tmp_path / "base", shape)
    settings = ("validate_every=0", "best_by=last", "epochs=1", "similar=none", "nll_weight=0.5")
    assert trains(tmp_path / "run", data=split, model=model_folder, settings=settings) == 0
    (figures,) = validated(tmp_path / "run").values()
    model = JointModel.from_pretrained(tmp_path / "run" / "model").eval()
    valid = [each for each in read_dialogues(split) if each.split == "valid"]
    encoder = Encoder(model.tokenizer, context=96, reply=48)
    quadruples = draw_validation(valid, JointRecipe(similar=None))
    assert len(quadruples) == 9
    losses = {"nll": 0.0, "ranking": 0.0}
    for batch in Layout("naive", valid, encoder).micro_batches(quadruples):
        with torch.no_grad():
            output = model(**batch)
        losses = {name: value + float(output[name]) for name, value in losses.items()}
    assert figures["nll"] == pytest.approx(losses["nll"], abs=1e-4)
    assert figures["ranking"] == pytest.approx(losses["ranking"], abs=1e-4)
    assert figures["loss"] == pytest.approx(0.5 * losses["nll"] + losses["ranking"], abs=1e-4)
    report = build_report(score_turns(model, valid, encoder), valid, has_head=True, seed=1)
    assert figures["p_at_1"] == pytest.approx(report["overall"]["preference"]["p_at_1"]["value"])
    assert about(tmp_path / "run")["data"]["validation"] == {"dialogues": 3, "turns": 9}


def test_a_validation_is_bounded_and_the_same_for_the_same_seed(split: Path) -> None:
    valid = [each for each in read_dialogues(split) if each.split == "valid"]
    few = draw_validation(valid, JointRecipe(validation_turns=4, seed=3))
    assert len(few) == 4
    assert few == draw_validation(valid, JointRecipe(validation_turns=4, seed=3, epochs=2))
    assert few != draw_validation(valid, JointRecipe(validation_turns=4, seed=4))
    # Whole dialogues as far as possible, in their order: shared context is computed once.
    assert [item.turn for item in few] == [0, 1, 2, 0]


def test_validating_does_not_change_what_is_learned(trains: Trains, tmp_path: Path, split: Path) -> None:
    adapters = ("lora_rank=2", "lora_dropout=0.3", "epochs=1")
    assert trains(tmp_path / "never", data=split, settings=adapters) == 0
    assert (
        trains(tmp_path / "often", data=split, settings=(*adapters, "validate_every=1", "best_by=last")) == 0
    )
    assert validated(tmp_path / "never") == {}
    assert list(validated(tmp_path / "often")) == [1, 2, 3]
    assert all(
        torch.equal(weight, weights_of(tmp_path / "often")[name])
        for name, weight in weights_of(tmp_path / "never").items()
    )
    assert not (tmp_path / "often" / "last").exists()


def test_a_run_stops_early_and_keeps_the_weights_of_the_best_validation(
    trains: Trains, tmp_path: Path, split: Path, scripted: pytest.MonkeyPatch
) -> None:
    """The fifth step is the second that is no better than the third."""
    options = ("--checkpoint-steps", "1", "--keep", "1")
    assert trains(tmp_path, *options, data=split, settings=("validate_every=1", "patience=2")) == 0
    assert [line["step"] for line in progress_of(tmp_path)] == [1, 2, 3, 4, 5]
    assert about(tmp_path)["step"] == 3
    assert about(tmp_path)["last_step"] == 5
    assert about(tmp_path)["validation"] == {
        "best_by": "loss", "best_step": 3, "best": {"loss": 3.0, "p_at_1": 0.3},
        "last": {"loss": 3.5, "p_at_1": 0.5}, "stopped_early": True,
    }  # fmt: skip
    # The best stays beside the newest; the step at which it stopped has none, because nothing is to follow.
    assert [step_of(path) for path in checkpoints(tmp_path / "checkpoints")] == [3, 4]
    assert_model_is_that_of(tmp_path, 3)
    assert (about(tmp_path, "last")["step"], about(tmp_path)["recipe"]) == (
        5,
        about(tmp_path, "last")["recipe"],
    )
    last = JointModel.from_pretrained(tmp_path / "last")
    assert not torch.equal(last.head.weight, weights_of(tmp_path)["weight"])
    state = state_of(tmp_path)
    assert state["message"] == (
        "Training stopped early, after 2 validations without a better one. The model is that of step 3, the best of 5 "
        "validations (loss 3.0000); the last step was 5."
    )
    assert state["state"] == "done"


def test_without_patience_all_steps_are_made_and_the_best_may_be_the_last(
    trains: Trains, tmp_path: Path, split: Path, scripted: pytest.MonkeyPatch
) -> None:
    assert trains(tmp_path, data=split, settings=("validate_every=2",)) == 0
    assert list(validated(tmp_path)) == [2, 4, 6]
    assert (about(tmp_path)["step"], about(tmp_path)["last_step"]) == (6, 6)
    assert not (tmp_path / "last").exists()


def test_the_best_can_be_the_highest_precision_and_the_end_of_an_epoch_counts(
    trains: Trains, tmp_path: Path, split: Path, scripted: pytest.MonkeyPatch
) -> None:
    scripted.setattr("tests.preference.training.joint.test_validation.LOSSES", [1.0, 2, 3, 4, 5, 6])
    assert trains(tmp_path / "loss", data=split, settings=("validate_every=0",)) == 0
    assert list(validated(tmp_path / "loss")) == [3, 6]
    assert about(tmp_path / "loss")["step"] == 3
    assert trains(tmp_path / "first", data=split, settings=("validate_every=0", "best_by=p_at_1")) == 0
    assert about(tmp_path / "first")["step"] == 6


def test_a_stopped_and_resumed_run_ends_like_one_that_was_never_stopped(
    trains: Trains, tmp_path: Path, split: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after the best step and before patience runs out. The validations are real; adapters draw dropout."""
    settings = (
        "validate_every=1", "patience=3", "epochs=8", "peak_lr=0.05", "lora_rank=4", "lora_dropout=0.1",
    )  # fmt: skip
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert trains(whole, data=split, settings=settings) == 0
    best = about(whole)["validation"]["best_step"]
    assert best + 3 == about(whole)["last_step"] < 24, (
        "the rate is high enough to learn the training data by heart"
    )
    report = JointTrainer.report_step

    def interrupted(self: JointTrainer) -> None:
        report(self)
        if self.state.global_step == best + 1:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(JointTrainer, "report_step", interrupted)
        assert trains(stopped, data=split, settings=settings) == 143
    assert trains(stopped, "--resume", data=split, settings=settings) == 0
    assert validated(stopped) == validated(whole)
    assert about(stopped)["validation"] == about(whole)["validation"]
    for name, weight in weights_of(whole).items():
        assert torch.equal(weight, weights_of(stopped)[name])
    assert_same_files(whole / "last", stopped / "last")


def assert_same_files(one: Path, other: Path) -> None:
    for name in ("model.safetensors", "preference_head.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_a_best_validation_whose_checkpoint_finds_no_room_does_not_count(
    trains: Trains, tmp_path: Path, split: Path, scripted: pytest.MonkeyPatch
) -> None:
    whole = JointTrainer._write_checkpoint

    def without_room(self: JointTrainer, folder: Path) -> None:
        with files_up_to(10_000 if folder.name.endswith("-3") else 10_000_000):
            whole(self, folder)

    scripted.setattr(JointTrainer, "_write_checkpoint", without_room)
    assert trains(tmp_path, data=split, settings=("validate_every=1", "patience=3")) == 0
    # 4.0 at step 2 was kept; 3.5 at step 4 is better than it, and so is 2.0 at step 6.
    assert about(tmp_path)["step"] == 6
    assert [step_of(path) for path in checkpoints(tmp_path / "checkpoints")] == [2, 4]


def test_a_model_that_cannot_be_saved_is_chosen_again_on_resuming(
    trains: Trains, tmp_path: Path, split: Path, scripted: pytest.MonkeyPatch
) -> None:
    save = JointModel.save_pretrained

    def without_room(self: JointModel, folder: Path, about: Any = None) -> None:
        with files_up_to(10_000):
            save(self, folder, about)

    settings = ("validate_every=1", "patience=2")
    with scripted.context() as patched:
        patched.setattr(JointModel, "save_pretrained", without_room)
        assert trains(tmp_path, data=split, settings=settings) == 1
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / "last").exists()
    assert trains(tmp_path, "--resume", data=split, settings=settings) == 0
    assert (about(tmp_path)["step"], about(tmp_path, "last")["step"]) == (3, 5)
    assert_model_is_that_of(tmp_path, 3)


def test_without_a_split_valid_a_note_says_so_and_training_goes_on(
    trains: Trains, tmp_path: Path, dialogues: Path
) -> None:
    assert trains(tmp_path, data=dialogues, settings=("validate_every=1", "patience=1")) == 0
    (note,) = about(tmp_path)["layout"]["notes"]
    assert note.startswith("The split valid has no turns to rank")
    assert (about(tmp_path)["step"], validated(tmp_path)) == (6, {})
    assert "validation" not in about(tmp_path)


def test_a_validation_that_is_not_a_number_ends_the_run(
    trains: Trains, tmp_path: Path, split: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JointTrainer, "held_out_figures", lambda _self: {"loss": float("nan")})
    assert trains(tmp_path, data=split, settings=("validate_every=2",)) == 1
    assert state_of(tmp_path)["message"] == "The validation loss after step 2 is nan."
    assert "peak_lr" in state_of(tmp_path)["remedy"]


def test_no_recipe_validates_by_default() -> None:
    """A validation costs time, and choosing a step by it would change which weights a published figure is about."""
    assert JointRecipe().validate_every is quick().validate_every is None
