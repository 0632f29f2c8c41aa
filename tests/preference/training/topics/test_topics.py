"""Topics: the categories, training on a labelled column, tagging a file."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from preference.training.assessor.assessor import load_assessor
from preference.training.common.errors import TrainingError
from preference.training.topics.categories import CATEGORIES, read_categories, topic_task
from preference.training.topics.command import main
from tests.preference.training.assessor.conftest import SMALL, json_of
from tests.preference.training.assessor.synthetic import write_rows
from tests.preference.training.conftest import handlers_kept

TEXTS = {"food": "Which noodles are best?", "travel": "Where do we go by train?", "pets": "我家的猫不吃饭。"}


def topic_rows(count: int) -> list[dict[str, Any]]:
    random = Random(4)
    topics = [list(TEXTS)[number % len(TEXTS)] for number in range(count)]
    return [
        {
            "id": f"t{number}",
            "dialogue": [{"role": "user", "content": f"{TEXTS[topic]} {random.choice('abcdef')}"}],
            "topic": topic,
        }
        for number, topic in enumerate(topics)
    ]


def test_there_are_26_categories_with_a_name_in_both_languages() -> None:
    assert len({one.id for one in CATEGORIES}) == len({one.zh for one in CATEGORIES}) == 26
    assert all(one.en and one.zh for one in CATEGORIES)


def test_data_may_name_a_topic_in_either_language() -> None:
    task = topic_task(CATEGORIES, "topic")
    assert [task.parse(name) for name in ("food", "Food and drink", "美食")] == ["food"] * 3
    assert task.parse("cooking") is None


def test_a_tagger_is_trained_and_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_rows(tmp_path / "data.jsonl", topic_rows(90))
    settings = [part for setting in (*SMALL, "epochs=3") for part in ("--set", setting)]
    run = tmp_path / "run"
    options = ["--data", str(data), "--output", str(run), "--models", "gru", "--device", "cpu", "--quiet"]
    with handlers_kept():
        assert main(["train", *options, *settings]) == 0
    figures = json_of(run / "metrics.json")["gru"]
    assert figures["accuracy"]["value"] == 1
    assert figures["pearson"]["value"] is None
    assert (run / "report.html").is_file()
    tagged = tmp_path / "tagged.jsonl"
    assert main(["tag", "--data", str(data), "--model", str(run / "model"), "--output", str(tagged)]) == 0
    rows = [json.loads(line) for line in tagged.read_text().splitlines()]
    assert [row["topic"] for row in rows] == [row["topic"] for row in topic_rows(90)]
    assert "food" in capsys.readouterr().out
    tagger = load_assessor(run / "model", device="cpu")
    with pytest.raises(TrainingError, match="are not ordered"):
        tagger.score([])


def test_categories_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "categories.json"
    file.write_text(json.dumps([{"id": "a", "en": "A", "zh": "甲"}, {"id": "b", "en": "B", "zh": "乙"}]))
    assert [one.zh for one in read_categories(file)] == ["甲", "乙"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ('[{"id": "a", "en": "A", "zh": "甲"}]', "at least two"),
        ('[{"id": "a", "en": "A"}, {"id": "b", "en": "B"}]', "at least two"),
        ('[{"id": "a", "en": "A", "zh": "甲"}, {"id": "a", "en": "B", "zh": "乙"}]', "the same id"),
    ],
)
def test_wrong_categories_are_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "categories.json"
    file.write_text(text)
    with pytest.raises(TrainingError, match=words):
        read_categories(file)


def test_tagging_with_another_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_rows(tmp_path / "data.jsonl", topic_rows(3))
    output = tmp_path / "tagged.jsonl"
    assert main(["tag", "--data", str(data), "--model", str(tmp_path), "--output", str(output)]) == 1
    assert "is not a trained assessor" in capsys.readouterr().err
