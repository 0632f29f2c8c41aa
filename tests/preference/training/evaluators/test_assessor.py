"""The assessor by its specification."""

from pathlib import Path

import pytest

from preference.training.assessor.assessor import save_assessor
from preference.training.assessor.network import load_pretrained
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.assessor.task import PredictionTask
from preference.training.evaluators.table import build_evaluator
from tests.preference.training.assessor.synthetic import save_pretrained_model
from tests.preference.training.evaluators.conftest import reply


def test_an_assessor_scores_the_dialogue_that_a_reply_ends(tmp_path: Path) -> None:
    encoder = save_pretrained_model(tmp_path / "encoder", "bert")
    network = load_pretrained(encoder, PredictionTask((0, 1, 2), ordered=True), AssessorRecipe(max_length=48))
    save_assessor(network, tmp_path / "model", {})
    evaluator = build_evaluator(f"assessor={tmp_path / 'model'},name=quality,device=cpu")
    good, empty = evaluator.score([reply(1, "Fine."), reply(2, "")])
    assert evaluator.name == "quality"
    expected = sum(label * p for label, p in enumerate(good.details["probabilities"]))
    assert good.value == pytest.approx(expected, abs=1e-6)
    assert good.details["label"] in (0, 1, 2)
    assert empty.reason == "The response is empty."
