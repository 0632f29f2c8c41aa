"""A run in this process: what it computes, writes and refuses, and how it ends when something breaks."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from traceback import StackSummary
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.api import CheckpointException

from preference.training.common.checkpoints import checkpoints, step_of
from preference.training.common.stopping import Stopped
from preference.training.joint.joint_model import JointModel
from tests.disks import files_up_to
from tests.preference.training.conftest import Trains, progress_of, state_of, weights_of


def test_a_run_writes_a_model_its_explanation_and_its_progress(
    trains: Trains, tmp_path: Path, dialogues: Path
) -> None:
    assert trains(tmp_path) == 0

    assert state_of(tmp_path) == {"state": "done", "step": 6, "steps": 6, "message": "", "remedy": ""}
    lines = progress_of(tmp_path)
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert [line["epoch"] for line in lines] == [1, 1, 1, 2, 2, 2]
    assert lines[-1]["eta_seconds"] == 0
    assert lines[-1]["loss"] == pytest.approx(lines[-1]["nll"] + lines[-1]["ranking"], abs=1e-5)
    assert [line["lr"] for line in lines[:3]] == pytest.approx([0.005, 0.01, 0.01 * (2 / 3) ** 0.5])
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert list((tmp_path / "tensorboard").glob("events.*"))
    about = json.loads((tmp_path / "model" / "training.json").read_text())
    assert about["recipe"]["batch"] == 8
    assert (about["layout"]["name"], about["step"], about["quadruples_an_epoch"]) == ("trees", 6, 24)
    assert len(about["data"]["sha256"]) == 64
    assert JointModel.from_pretrained(tmp_path / "model").config.use_cache is True


def test_how_a_step_is_cut_into_micro_batches_does_not_matter(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path / "many") == 0
    assert trains(tmp_path / "one", settings=("token_budget=100000", "layout=packed")) == 0
    many, one = (weights_of(tmp_path / name) for name in ("many", "one"))
    # Adam magnifies what rounding does to a gradient near nought, hence not closer.
    for name, weight in many.items():
        torch.testing.assert_close(weight, one[name], atol=1e-4, rtol=1e-4)
    losses = [[line["loss"] for line in progress_of(tmp_path / name)] for name in ("many", "one")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_the_head_has_a_rate_of_its_own_where_one_is_set(
    trains: Trains, tmp_path: Path, tiny_model: Path
) -> None:
    assert trains(tmp_path, settings=("peak_lr=1e-9", "head_lr=0.05")) == 0
    before, after = JointModel.from_pretrained(tiny_model), JointModel.from_pretrained(tmp_path / "model")
    for name, weight in before.backbone.named_parameters():
        torch.testing.assert_close(after.backbone.get_parameter(name), weight, atol=1e-6, rtol=0)
    # Adam's first steps are as long as the rate: 6 of at most 0.05.
    moved = (after.head.weight - before.head.weight).abs().max().item()
    assert 0.05 < moved <= 0.3


def test_only_dialogues_of_the_training_split_are_learned_from(
    trains: Trains, tmp_path: Path, dialogues: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [json.loads(line) for line in dialogues.read_text().splitlines()]
    held_out = tmp_path / "dialogues.jsonl"
    held_out.write_text("".join(json.dumps(row | {"split": "test"}) + "\n" for row in rows))
    assert trains(tmp_path / "run", data=tmp_path) == 1
    assert "is of the split train" in capfd.readouterr().err
    assert state_of(tmp_path / "run")["state"] == "failed"


def test_half_precision_trains_too(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path, settings=("precision=bf16", "recompute=true", "epochs=1")) == 0
    losses = [line["loss"] for line in progress_of(tmp_path)]
    assert losses[-1] < losses[0]


def broken_after(monkeypatch: pytest.MonkeyPatch, calls: int, breaks: Any) -> None:
    """After so many calls of forward, `breaks(output, call)` stands for its output."""
    forward, count = JointModel.forward, 0

    def broken(self: JointModel, **inputs: Any) -> Any:
        nonlocal count
        count += 1
        output = forward(self, **inputs)
        return breaks(output, count) if count > calls else output

    monkeypatch.setattr(JointModel, "forward", broken)


def test_a_loss_that_is_not_a_number_ends_the_run_before_the_step(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def no_number(output: Any, _: int) -> Any:
        output.loss = output.loss * float("nan")
        return output

    with monkeypatch.context() as patched:
        broken_after(patched, 18, no_number)
        assert trains(tmp_path, "--checkpoint-steps", "1") == 1

    told = state_of(tmp_path)
    assert told["state"] == "failed"
    assert told["message"].startswith("The loss of step ")
    assert f"The checkpoint of step {told['step']} is usable." in told["message"]
    assert "peak_lr" in told["remedy"]
    assert told["message"] in capfd.readouterr().err
    assert trains(tmp_path, "--resume") == 0


def test_a_gradient_that_is_not_a_number_ends_the_run_before_the_step(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def root_of_nothing(output: Any, _: int) -> Any:
        output.loss = output.loss + (output.loss * 0).sqrt()
        return output

    broken_after(monkeypatch, 0, root_of_nothing)
    assert trains(tmp_path, settings=("layout=naive",)) == 1
    assert state_of(tmp_path)["message"].startswith("The gradient of step 1 is nan")


def test_smaller_micro_batches_are_tried_when_memory_runs_out(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def too_large_once(output: Any, count: int) -> Any:
        if count == 2:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: not enough memory")
        return output

    with monkeypatch.context() as patched:
        broken_after(patched, 1, too_large_once)
        assert trains(tmp_path / "tight", settings=("layout=naive",)) == 0
    assert "continuing with micro-batches of 64 tokens" in capfd.readouterr().err
    assert trains(tmp_path / "wide") == 0
    tight, wide = ([line["loss"] for line in progress_of(tmp_path / name)] for name in ("tight", "wide"))
    assert tight == pytest.approx(wide, abs=1e-5)


def test_a_run_gives_up_where_memory_never_suffices(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    broken_after(monkeypatch, 0, too_large)
    assert trains(tmp_path, settings=("layout=naive",)) == 1
    told = state_of(tmp_path)
    assert told["message"] == "Memory ran out at step 1 with micro-batches of 16 tokens."
    assert "--lora" in told["remedy"]


def test_a_checkpoint_that_finds_no_room_leaves_the_former_and_the_run_goes_on(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from preference.training.joint.trainer import JointTrainer

    whole = JointTrainer._write_checkpoint

    def without_room(self: JointTrainer, folder: Path) -> None:
        with files_up_to(10_000 if folder.name.endswith("-4") else 10_000_000):
            whole(self, folder)

    monkeypatch.setattr(JointTrainer, "_write_checkpoint", without_room)
    assert trains(tmp_path, "--checkpoint-steps", "2") == 0
    said = capfd.readouterr().err
    assert "The checkpoint of step 4 could not be written (File too large); that of step 2 is kept." in said
    assert [step_of(path) for path in checkpoints(tmp_path / "checkpoints")] == [2]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["checkpoint-2"]


def test_a_model_that_cannot_be_saved_fails_and_is_saved_on_resuming(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = JointModel.save_pretrained

    def without_room(self: JointModel, folder: Path, about: Any = None) -> None:
        with files_up_to(10_000):
            save(self, folder, about)

    with monkeypatch.context() as patched:
        patched.setattr(JointModel, "save_pretrained", without_room)
        assert trains(tmp_path, "--checkpoint-steps", "3") == 1
    assert state_of(tmp_path)["state"] == "failed"
    assert "cannot be saved" in state_of(tmp_path)["message"]
    assert not (tmp_path / "model").exists()
    assert trains(tmp_path, "--resume") == 0
    assert (tmp_path / "model" / "config.json").is_file()


def test_a_run_stopped_before_its_first_step_is_stopped_and_not_failed(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from preference.training.joint.trainer import JointTrainer

    def stopped(*_: Any, **__: Any) -> None:
        raise Stopped(signal.SIGTERM, "Stopped by SIGTERM.")

    with monkeypatch.context() as patched:
        patched.setattr(JointTrainer, "train", stopped)
        assert trains(tmp_path) == 143
    assert state_of(tmp_path)["state"] == "stopped"
    assert trains(tmp_path, "--resume", settings=("epochs=1",)) == 0


def test_weights_that_do_not_fit_beside_the_optimiser_are_reported_with_a_remedy(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its state is allocated at the first step, where smaller micro-batches do not help."""

    def full(*_: Any, **__: Any) -> None:
        raise torch.AcceleratorError("CUDA error: out of memory")

    monkeypatch.setattr(torch.optim.AdamW, "step", full)
    assert trains(tmp_path) == 1
    told = state_of(tmp_path)
    assert told["state"] == "failed"
    assert "do not fit into memory" in told["message"]
    assert "--lora" in told["remedy"]
    assert told["message"] in capfd.readouterr().err


def test_a_sharded_checkpoint_that_finds_no_room_does_not_end_the_run(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch's distributed checkpoints fail with something that is not an Exception."""
    from preference.training.joint.trainer import JointTrainer

    def without_room(*_: Any) -> None:
        raise CheckpointException("write", {0: (OSError(28, "No space left on device"), StackSummary())})

    monkeypatch.setattr(JointTrainer, "_write_checkpoint", without_room)
    assert trains(tmp_path, "--checkpoint-steps", "2") == 0
    assert state_of(tmp_path)["state"] == "done"


def test_weights_that_do_not_come_back_from_all_processes_do_not_make_a_model(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the model that training began from would be saved as the trained one."""
    from preference.training.joint.trainer import JointTrainer

    def spread(self: JointTrainer, **_: Any) -> None:
        self.is_fsdp_enabled = True
        model: Any = self.model
        weights = {f"wrapped.{name}": weight for name, weight in model.state_dict().items()}
        self.accelerator.get_state_dict = lambda *_: weights

    monkeypatch.setattr(JointTrainer, "train", spread)
    assert trains(tmp_path) == 1
    assert "did not come back from all processes" in state_of(tmp_path)["message"]
    assert not (tmp_path / "model").exists()


def test_a_finished_model_may_be_saved_in_half_precision(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path, "--save-as", "bf16", settings=("epochs=1",)) == 0
    weights = weights_of(tmp_path)
    assert weights.pop("weight").dtype == weights.pop("bias").dtype == torch.float32  # of the head
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["dtype"] == "bfloat16"
    JointModel.from_pretrained(tmp_path / "model")


def test_a_checkpoint_of_fsdp_is_resumed_under_fsdp_only(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(JointModel, "save_pretrained", lambda *_, **__: 1 / 0)
        assert trains(tmp_path, "--checkpoint-steps", "3") == 1
    (tmp_path / "checkpoints" / "checkpoint-3" / "weights.safetensors").unlink()
    assert trains(tmp_path, "--resume") == 1
    told = state_of(tmp_path)
    assert told["message"].endswith("checkpoint-3 was written by FSDP or DeepSpeed.")
    assert told["remedy"]


def test_without_a_ranking_weight_only_generation_is_learned(
    trains: Trains, tmp_path: Path, tiny_model: Path
) -> None:
    assert trains(tmp_path, settings=("ranking_weight=0",)) == 0
    before, after = (
        JointModel.from_pretrained(tiny_model, seed=1),
        JointModel.from_pretrained(tmp_path / "model"),
    )
    torch.testing.assert_close(after.head.weight, before.head.weight, atol=0, rtol=0)
    assert not torch.equal(after.backbone.lm_head.weight, before.backbone.lm_head.weight)
    for line in progress_of(tmp_path):
        assert line["loss"] == pytest.approx(line["nll"], abs=1e-6)
        assert line["ranking"] > 0


def test_weights_of_the_losses_scale_them(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path, settings=("nll_weight=0.5", "ranking_weight=3", "epochs=1")) == 0
    for line in progress_of(tmp_path):
        assert line["loss"] == pytest.approx(0.5 * line["nll"] + 3 * line["ranking"], abs=1e-5)


def test_weight_decay_spares_biases_and_norms(trains: Trains, tmp_path: Path, tiny_model: Path) -> None:
    """At a rate this small the gradient moves nothing, and decay takes rate · decay of each weight in every step."""
    settings = ("peak_lr=1e-6", "head_lr=none", "weight_decay=0.5", "epochs=1")
    assert trains(tmp_path / "decay", settings=settings) == 0
    assert trains(tmp_path / "none", settings=(*settings, "weight_decay=0")) == 0
    with_decay, without = (weights_of(tmp_path / name) for name in ("decay", "none"))
    moved = {name for name, weight in with_decay.items() if not torch.equal(weight, without[name])}
    assert any("mlp" in name for name in moved)
    assert not any("norm" in name for name in moved)
