"""The folder of a trained assessor, as evaluators and pages load it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from preference.training.assessor.assessor import TrainedAssessor, load_assessor
from preference.training.assessor.data import Turn
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import Evaluator, ReplyToScore
from tests.preference.training.assessor.conftest import json_of, predictions_of
from tests.preference.training.assessor.synthetic import WORDS, dialogue_rows
from tests.sizes import ASSESSED_DIALOGUES


@pytest.fixture(scope="module")
def assessor(full_run: Path) -> TrainedAssessor:
    return load_assessor(full_run / "model", device="cpu")


def reply(name: str, response: str, *history: str) -> ReplyToScore:
    return ReplyToScore(name, history, response)


def test_it_is_an_evaluator_whose_score_is_the_expected_label(assessor: TrainedAssessor) -> None:
    evaluator: Evaluator = assessor
    replies = [reply(word, f"This is a {word} answer about the menu.", "Hi?") for word in WORDS["en"]]
    low, middle, high = evaluator.score(replies)
    assert (low.id, middle.id, high.id) == WORDS["en"]
    assert low.value is not None
    assert middle.value is not None
    assert high.value is not None
    assert 0 <= low.value < middle.value < high.value <= 2
    assert low.value == pytest.approx(np.dot(low.details["probabilities"], [0, 1, 2]))
    assert [score.details["label"] for score in (low, middle, high)] == [0, 1, 2]


def test_an_empty_reply_has_no_score_but_a_reason(assessor: TrainedAssessor) -> None:
    first, empty, last = assessor.score([reply("a", "short"), reply("b", "  "), reply("c", "详细")])
    assert (empty.value, empty.reason) == (None, "The response is empty.")
    assert first.value is not None
    assert last.value is not None
    assert assessor.score([]) == []


def test_a_score_does_not_depend_on_the_batch(assessor: TrainedAssessor) -> None:
    replies = [reply(str(n), "short " * (n + 1)) for n in range(20)]
    together = [score.value for score in assessor.score(replies)]
    alone = [assessor.score([one])[0].value for one in replies]
    assert together == pytest.approx(alone, abs=1e-5)


def test_the_saved_network_is_the_one_that_was_tested(full_run: Path, assessor: TrainedAssessor) -> None:
    rows = {row["id"]: row for row in dialogue_rows(ASSESSED_DIALOGUES)}
    name = assessor.manifest["base_model"]["name"]
    saved = [row for row in predictions_of(full_run) if row["model"] == name][:30]
    dialogues = [[Turn(**turn) for turn in rows[row["id"]]["dialogue"]] for row in saved]
    table = assessor.class_probabilities(dialogues)
    assert table == pytest.approx(np.array([row["probabilities"] for row in saved]), abs=1e-5)


def test_the_best_network_on_valid_is_published(full_run: Path, assessor: TrainedAssessor) -> None:
    models = json_of(full_run / "report.json")["models"]
    neural = {name: about for name, about in models.items() if about["parameters"]}
    best = max(neural, key=lambda name: neural[name]["valid_f1"])
    assert assessor.manifest["base_model"]["name"] == best
    assert assessor.manifest["parameters"] == neural[best]["parameters"]
    described = assessor.describe()
    assert described["task"] == {"classes": [0, 1, 2], "ordered": True, "column": "label"}
    json.dumps(described)


def test_a_decoder_without_padding_token_is_padded(decoder: Path, full_run: Path) -> None:
    from transformers import AutoTokenizer

    assert AutoTokenizer.from_pretrained(decoder).pad_token is None
    assert str(decoder) in json_of(full_run / "metrics.json")


def test_another_folder_is_refused(encoder: Path, full_run: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="is not a trained assessor"):
        load_assessor(encoder)
    changed = tmp_path / "model"
    shutil.copytree(full_run / "model", changed)
    manifest = json_of(changed / "assessor.json") | {"input_format": "Q … A …"}
    (changed / "assessor.json").write_text(json.dumps(manifest))
    with pytest.raises(TrainingError, match="another form"):
        load_assessor(changed)
