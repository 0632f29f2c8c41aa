"""PairEval and DirectEval by their specifications."""

import json
from pathlib import Path

import pytest

from preference.training.common.errors import TrainingError
from preference.training.evaluators.table import build_evaluator
from preference.training.meta.command import main
from preference.training.paireval.comparisons import COMPARISONS_FILE, write_comparisons
from tests.preference.training.evaluators.conftest import reply
from tests.preference.training.meta.conftest import row, write_rows
from tests.preference.training.paireval.made_up import backbone, ragged, tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs") / "model"
    backbone("llama").save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    write_comparisons(folder / COMPARISONS_FILE, ragged(1, 4))
    return folder


def test_settings_reach_the_evaluator(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    write_comparisons(other, ragged(9, 2))
    two = build_evaluator(f"paireval={model},k=2,name=two")
    others = build_evaluator(f"paireval={model},k=2,comparisons={other}")
    direct = build_evaluator(f"directeval={model}")
    assert [two.name, others.name, direct.name] == ["two", "paireval", "directeval"]
    hello = reply(1, "fine tea", "hello")
    (first,), (second,), (third,) = (each.score([hello]) for each in (two, others, direct))
    assert len(first.details["orders"]) == 2
    assert first.value != second.value
    assert "orders" not in third.details
    with pytest.raises(TrainingError, match="one of inst, chat"):
        build_evaluator(f"paireval={model},template=plain")
    with pytest.raises(TrainingError, match="no setting k"):
        build_evaluator(f"directeval={model},k=2")


def test_meta_evaluation_shows_bias_and_the_number_of_examples(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_rows(tmp_path / "judged.jsonl", [row(number) for number in range(6)])
    arguments = ["--data", str(data), "--evaluators", f"paireval={model},k=4", "--probes", "--json"]
    assert main([*arguments, "--replicates", "50"]) == 0
    report = json.loads(capsys.readouterr().out)
    found = report["evaluators"][0]["comparisons"]
    assert found["position_bias"]["n"] == 6
    assert [(each["k"], each["subsets"]) for each in found["examples"]] == [(1, 4), (2, 6), (3, 4), (4, 1)]
    whole = report["evaluators"][0]["spearman"]["value"]
    assert found["examples"][3]["spearman"]["mean"] == pytest.approx(whole)
    assert report["probes"]["paireval"]["repeated"]["noticed"]["n"] > 0
