"""Labels of whole dialogues by a judge, and topics without training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.errors import TrainingError
from preference.training.common.judging.prompts import JudgePrompt
from preference.training.evaluators.command import main
from preference.training.evaluators.labels import build_labeller, read_dialogues_to_label
from preference.training.topics.categories import CATEGORIES

PRESETS = Path(__file__).parents[4] / "annotation" / "project_setup" / "presets"
DIQAD = f"questions={PRESETS / 'diqad.yaml'},only=quality"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = [["How is the tea?", "Two words"], ["Where are you?", "Here", "Ah"]]
    rows = [
        {
            "id": f"d{number}",
            "dialogue": [
                {"role": "B" if place % 2 else "A", "content": text} for place, text in enumerate(each)
            ],
            "label": 1,
        }
        for number, each in enumerate(texts)
    ]
    file = tmp_path / "dialogues.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def label(data: Path, output: Path, evaluator: str, *more: str) -> int:
    return main(["label", "--evaluator", evaluator, "--data", str(data), "--output", str(output), *more])


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_dialogue_gets_an_answer_that_the_assessors_table_takes(
    judge_server: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "labels.jsonl"
    judge = f"judge={judge_server}/good/v1,model=m,retries=0,{DIQAD},options=0+1+2"
    assert label(data, output, judge) == 0
    tokens = {"prompt": 100, "completion": 7}
    assert rows(output)[0] == {"id": "d0", "prediction": 2, "requests": 1, "tokens": tokens}
    assert "2 of 2 rows have a result." in capsys.readouterr().err
    output.write_text(output.read_text().splitlines()[0] + "\n")
    assert label(data, output, judge, "--resume") == 0
    assert [row["id"] for row in rows(output)] == ["d0", "d1"]


def test_topics(judge_server: str, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "topics.jsonl"
    assert label(data, output, f"judge={judge_server}/topics/v1,model=m,retries=0", "--topics") == 0
    tea, other = rows(output)
    assert (tea["prediction"], tea["topic"]) == ("food", "food")
    assert (other["prediction"], other["topic"], other["requests"]) == (None, None, 2)
    assert "weather" in other["reason"]


def test_other_categories(judge_server: str, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "categories.json"
    file.write_text(json.dumps([{"id": name, "en": name, "zh": name} for name in ("food", "weather")]))
    output = tmp_path / "topics.jsonl"
    judge = f"judge={judge_server}/topics/v1,model=m"
    assert label(data, output, judge, "--categories", str(file)) == 0
    assert [row["topic"] for row in rows(output)] == ["food", "weather"]


def test_the_prompt_shows_roles_and_names_topics_in_the_language(data: Path) -> None:
    labeller = build_labeller("judge=http://127.0.0.1:9/v1,model=m,language=zh", CATEGORIES)
    (dialogue, _other) = read_dialogues_to_label(data)
    prompt = JudgePrompt(labeller.question, dialogue.lines).messages()[1]["content"]
    assert "A: How is the tea?\nB: Two words" in prompt
    assert '"food": 美食' in prompt
    assert labeller.describe()["questions"][0]["key"] == "topic"


@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        ("length", "not a judge"),
        ("judge=http://x/v1,model=m,speed=3", "no setting speed"),
        (f"judge=http://x/v1,model=m,questions={PRESETS / 'diqad.yaml'}", "questions are several"),
        (f"judge=http://x/v1,model=m,{DIQAD},options=2+9", "fewer than two of the options 2, 9"),
    ],
)
def test_an_evaluator_that_cannot_label_is_refused(evaluator: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        build_labeller(evaluator)
    assert caught.value.remedy


def test_a_judge_that_is_down_ends_the_run(
    judge_server: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = f"judge={judge_server}/down/v1,model=m,retries=0"
    assert label(data, tmp_path / "labels.jsonl", judge) == 1
    assert "HTTP 500" in capsys.readouterr().err
