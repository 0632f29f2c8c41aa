"""The comparison of the arms of joint training, on dialogues where the context alone tells which reply is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preference.training.joint.comparison.command import main
from preference.training.joint.comparison.table import RANKINGS
from tests.preference.training.conftest import TINY, write_dialogues
from tests.preference.training.joint.evaluation.test_controls import SOUNDS, animals

pytestmark = pytest.mark.slow
CHANCE = 1 / len(SOUNDS)


def arguments(data: Path, model: Path, output: Path, *settings: str) -> list[str]:
    chosen = [part for setting in (*TINY, *settings) for part in ("--set", setting)]
    return [
        "--data", str(data), "--model", str(model), "--output", str(output), "--device", "cpu", "--threads", "1",
        "--seeds", "1", "2", *chosen,
    ]  # fmt: skip


def test_arms_are_trained_once_and_compared_over_the_seeds(
    tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_dialogues(tmp_path / "animals.jsonl", animals("train", 33) + animals("test", 32))
    command = arguments(data, tiny_model, tmp_path / "out", "epochs=30")
    assert main(command) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in RANKINGS.values())
    assert "32 dialogues, 32 turns; mean of seeds 1, 2" in table

    report = json.loads((tmp_path / "out" / "comparison.json").read_text())
    rankings = report["rankings"]
    preferred = rankings["joint_preference"]["p_at_1"]
    assert preferred["value"] > 0.9
    assert preferred["value"] == pytest.approx(sum(rankings["joint_preference"]["p_at_1_by_seed"]) / 2)
    assert report["chance"]["value"] == pytest.approx(CHANCE)
    assert rankings["lexical"]["p_at_1"]["low"] <= CHANCE <= rankings["lexical"]["p_at_1"]["high"]
    assert rankings["other_contexts"]["p_at_1"]["value"] < 0.6
    for control in ("lexical", "other_contexts", "untrained_head"):
        assert report["differences"][f"joint_preference-{control}"]["p_at_1"]["low"] > 0
    recipes = {
        arm: json.loads((tmp_path / "out" / f"{arm}-2" / "training.json").read_text())["recipe"]
        for arm in ("joint", "generation")
    }
    weights = {arm: (recipe["ranking_weight"], recipe["seed"]) for arm, recipe in recipes.items()}
    assert weights == {"joint": (1.0, 2), "generation": (0.0, 2)}

    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*/model/*")}
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report
    assert {path: path.stat().st_mtime_ns for path in written} == written


def test_a_training_that_fails_is_named(
    tmp_path: Path, tiny_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = write_dialogues(tmp_path / "few.jsonl", animals("train", 1) + animals("test", 2))
    assert main(arguments(data, tiny_model, tmp_path / "out")) == 1
    shown = capfd.readouterr().err
    assert "There is only one dialogue in each language" in shown
    assert f"The training in {tmp_path / 'out' / 'joint-1'} ended with status 1." in shown
