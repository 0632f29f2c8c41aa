"""The command at tiny size: experiments, failures, stops and resumes."""

from __future__ import annotations

import re
import signal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from preference.training.assessor import jobs, training
from preference.training.assessor.experiments import SENTIMENTS
from preference.training.assessor.training import Epoch
from tests.preference.training.assessor.conftest import assess, json_of, predictions_of
from tests.preference.training.assessor.synthetic import DOMAINS, dialogue_row, dialogue_rows, write_rows
from tests.preference.training.conftest import state_of

QUICK = ("epochs=1", "test_share=0.3", "hidden=8", "heads=2", "layers=1")


class Elements(HTMLParser):
    """Counts the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1


def elements_of(page: Path) -> dict[str, int]:
    parser = Elements()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.counts


def test_all_experiments_run_end_to_end(few: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    experiments = ("--leave-out", "domain", "--perturb", "--curve")
    models = ("--models", "naive_bayes", "transformer", "--examine", "transformer")
    assert assess(few, output, *models, *experiments, settings=QUICK) == 0
    found = json_of(output / "report.json")["experiments"]
    assert found["model"] == "transformer"
    assert [row["domain"] for row in found["leave_out"]] == sorted(DOMAINS)
    for row in found["leave_out"]:
        assert row["n"] == row["with"]["accuracy"]["n"] == row["without"]["accuracy"]["n"] > 0
        assert row["train_removed"] > 0
    assert set(found["perturb"]) == {"original", *SENTIMENTS}
    for sentiment in SENTIMENTS:
        assert sum(found["perturb"][sentiment]["distribution"]) == pytest.approx(1)
        assert found["perturb"][sentiment]["shift"]["low"] is not None
    sizes = [row["train"] for row in found["curve"]["data"]]
    assert sizes == sorted(set(sizes))
    assert all(len(row["runs"]) == 2 for row in found["curve"]["data"])
    assert [row["max_length"] for row in found["curve"]["length"]] == [8, 12, 24, 48]
    assert [row["model"] for row in found["curve"]["size"]] == ["transformer"]
    # Confusion and reliability of two models, one plot of the shift, three curves.
    counts = elements_of(output / "report.html")
    assert counts["figure"] == 2 * 2 + 1 + 3
    assert counts["table"] >= counts["figure"]
    assert "NaN" not in (output / "report.json").read_text()
    assert state_of(output)["state"] == "done"


def test_a_classical_model_can_be_examined(few: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    options = ("--models", "naive_bayes", "--leave-out", "car", "--perturb", "--curve")
    assert assess(few, output, *options, settings=QUICK) == 0
    found = json_of(output / "report.json")["experiments"]
    assert [row["domain"] for row in found["leave_out"]] == ["car"]
    assert (found["curve"]["length"], found["curve"]["size"]) == ([], [])
    assert not (output / "model").exists()


def test_a_domain_with_three_rows_has_figures_or_a_reason(tmp_path: Path) -> None:
    rows = [row | {"domain": "big"} for row in dialogue_rows(60)]
    rows += [dialogue_row(60 + n) | {"domain": "small", "split": "test", "label": n} for n in range(3)]
    rows += [dialogue_row(63) | {"domain": "unseen", "split": "train"}]
    data = write_rows(tmp_path / "data.jsonl", rows)
    options = ("--models", "naive_bayes", "--leave-out", "domain")
    assert assess(data, tmp_path / "run", *options) == 0
    big, small, unseen = json_of(tmp_path / "run" / "report.json")["experiments"]["leave_out"]
    # The drawn dialogues are all of `big`: without it, one training dialogue is left.
    assert (big["domain"], big["without"]) == ("big", None)
    assert "nothing to tell apart" in big["reason"] or "No test dialogue" in big["reason"]
    assert small["n"] == 3
    assert small["without"]["accuracy"]["value"] is not None
    assert (unseen["n"], unseen["with"], unseen["without"]) == (0, None, None)
    assert unseen["reason"] == "No test dialogue is of this domain."


def test_a_label_missing_in_test_is_said(tmp_path: Path) -> None:
    rows = [
        row | {"split": ("train", "valid", "test")[n // 3 % 3]} for n, row in enumerate(dialogue_rows(36))
    ]
    rows = [row for row in rows if (row["split"], row["label"]) != ("test", 2)]
    assert assess(write_rows(tmp_path / "data.jsonl", rows), tmp_path / "run", "--models", "naive_bayes") == 0
    report = json_of(tmp_path / "run" / "report.json")
    assert "No dialogue of the split test has the label 2." in report["notes"]
    assert report["models"]["naive_bayes"]["recalls"][2] is None


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"label": 1}, (), "nothing to tell apart"),
        ({"label": 5}, (), "must be one of 0, 1, 2"),
        ({"domain": ""}, ("--leave-out", "domain"), "No dialogue names its domain"),
        ({}, ("--leave-out", "space"), "No dialogue is of the domain space"),
        ({}, ("--examine", "gru"), "gru is not among the models"),
        ({}, ("--set", "hidden=30", "--set", "heads=4"), "must be a multiple of heads"),
        ({}, ("--device", "cuda"), "PyTorch sees none"),
    ],
)
def test_bad_input_ends_with_cause_and_remedy(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    options: tuple[str, ...],
    words: str,
) -> None:
    if options[:1] == ("--device",) and __import__("torch").cuda.is_available():
        pytest.skip("has a GPU")
    data = write_rows(tmp_path / "data.jsonl", [row | change for row in dialogue_rows(30)])
    assert assess(data, tmp_path / "run", "--models", "majority", *options) == 1
    cause, remedy = capsys.readouterr().err.strip().splitlines()[-2:]
    assert words in cause
    assert remedy


def test_a_model_that_fails_does_not_lose_the_others(few: Path, tmp_path: Path) -> None:
    output, missing = tmp_path / "run", str(tmp_path / "missing")
    assert assess(few, output, "--models", missing, "majority") == 0
    assert list(json_of(output / "metrics.json")) == ["majority"]
    assert "does not exist" in json_of(output / "report.json")["failures"][missing]
    assert state_of(output)["state"] == "done"
    assert "does not exist" in state_of(output)["message"]


def test_a_run_whose_models_all_fail_has_failed(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert assess(few, tmp_path / "run", "--models", str(tmp_path / "missing")) == 1
    assert "does not exist" in capsys.readouterr().err


def test_a_resumed_run_trains_only_what_is_missing(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []
    real = training.train_network

    def spy(network: Any, *data: Any, context: Any, **options: Any) -> list[Epoch]:
        trained.append(network.parameters)
        if len(trained) == 2:
            context.stop.ask(signal.SIGTERM, "Stopped by SIGTERM.")
        return real(network, *data, context=context, **options)

    monkeypatch.setattr(jobs, "train_network", spy)
    output, models = tmp_path / "run", ("--models", "majority", "gru", "transformer")
    assert assess(few, output, *models, settings=QUICK) == 143
    assert state_of(output)["state"] == "stopped"
    assert assess(few, output, *models, "--resume", settings=QUICK) == 0
    assert len(trained) == 3
    assert trained[1] == trained[2]
    # What a run that was never stopped gives.
    assert assess(few, tmp_path / "whole", *models, settings=QUICK) == 0
    for part, whole in zip(predictions_of(output), predictions_of(tmp_path / "whole"), strict=True):
        assert part["probabilities"] == pytest.approx(whole["probabilities"], abs=1e-6)
    assert assess(few, output, *models, "--resume", settings=QUICK) == 0
    assert len(trained) == 5


def test_another_run_is_not_overwritten(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    assert assess(few, output, "--models", "majority") == 0
    assert assess(few, output, "--models", "majority") == 1
    assert re.search("holds other files|holds another run", capsys.readouterr().err)


def test_adapters_and_bf16_give_an_ordinary_folder(few: Path, tmp_path: Path, encoder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    output = tmp_path / "run"
    options = ("--models", str(encoder), "--lora", "--save-as", "bf16")
    assert assess(few, output, *options, settings=("epochs=1",)) == 0
    weights = load_file(output / "model" / "model.safetensors")
    assert not any("lora" in name for name in weights)
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}
    assert json_of(output / "model" / "assessor.json")["recipe"]["lora_rank"] == 16
