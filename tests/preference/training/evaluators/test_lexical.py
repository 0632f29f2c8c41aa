"""The baseline that reads the reply alone."""

import json
from pathlib import Path

import pytest

from preference.training.common.errors import TrainingError
from preference.training.evaluators.table import build_evaluator
from tests.preference.training.evaluators.conftest import reply


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """People write questions; the candidates that they pass over never ask."""
    file = tmp_path / "log.jsonl"
    with file.open("w") as lines:
        for number in range(20):
            turn = {
                "utterance": f"Why number {number}, then?",
                "response_candidates": [f"It is {number}.", f"So, {number}."],
            }
            row = {
                "id": str(number),
                "split": "train",
                "language": "en",
                "conversation": [{"utterance": "Hello!"}, turn],
            }
            lines.write(json.dumps(row) + "\n")
        # Here the candidate asks: learned from, it would spoil the score.
        wrong = {"utterance": "It is so.", "response_candidates": ["Why, then?"]}
        for number in range(30):
            row = {
                "id": f"v{number}",
                "split": "valid",
                "language": "en",
                "conversation": [{"utterance": "Hi!"}, wrong],
            }
            lines.write(json.dumps(row) + "\n")
    return file


def test_it_learns_from_the_split_train_what_people_write(data: Path) -> None:
    evaluator = build_evaluator(f"lexical={data}")
    human, candidate = evaluator.score([reply(1, "Why not, then?"), reply(2, "It is not.")])
    assert human.value is not None
    assert candidate.value is not None
    assert human.value > 0 > candidate.value
    assert (human.id, candidate.id) == ("1", "2")
    assert evaluator.describe()["n_replies"] == 60
    assert evaluator.score([]) == []


def test_the_history_changes_nothing(data: Path) -> None:
    evaluator = build_evaluator(f"lexical={data},name=words")
    one, other = evaluator.score([reply(1, "Why not?", "A"), reply(2, "Why not?", "B", "C")])
    assert one.value == other.value
    assert evaluator.name == "words"


def test_data_without_a_train_split_is_refused(data: Path) -> None:
    rows = [json.loads(line) | {"split": "test"} for line in data.read_text().splitlines()]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(TrainingError, match="train"):
        build_evaluator(f"lexical={data}")
    with pytest.raises(TrainingError, match="snapshot"):
        build_evaluator("lexical")
