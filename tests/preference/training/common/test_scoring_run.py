"""Scoring a file of replies with any evaluator."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyScore, ReplyToScore, read_replies
from preference.training.common.scoring_run import score_in_batches, score_to_file


class Length:
    """Scores a reply by its length; fails after `fails_after` replies. batches: the sizes that it was asked for."""

    name = "length"

    def __init__(self, *, unit: str = "characters", fails_after: int | None = None) -> None:
        self.unit, self.fails_after = unit, fails_after
        self.batches: list[int] = []

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        if self.fails_after is not None and sum(self.batches) >= self.fails_after:
            raise KeyboardInterrupt
        self.batches.append(len(replies))
        return [
            ReplyScore(reply.id, float(len(reply.response)), details={"unit": self.unit})
            if reply.response
            else ReplyScore(reply.id, None, "The response is empty.")
            for reply in replies
        ]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "unit": self.unit}


def replies(count: int) -> list[ReplyToScore]:
    return [ReplyToScore(str(number), ("Hi!",), "a" * number) for number in range(count)]


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_every_reply_has_a_row_in_the_order_of_the_input(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    score_to_file(
        Length(),
        replies(5),
        tmp_path / "scores.jsonl",
        data_sha256="0",
        batch=2,
        progress=lambda done, total: seen.append((done, total)),
    )
    empty, *others = rows(tmp_path / "scores.jsonl")
    assert empty == {"id": "0", "score": None, "reason": "The response is empty."}
    assert [(row["id"], row["score"]) for row in others] == [("1", 1.0), ("2", 2.0), ("3", 3.0), ("4", 4.0)]
    assert seen == [(0, 5), (2, 5), (4, 5), (5, 5)]


def test_a_stopped_run_goes_on_behind_its_last_whole_line(tmp_path: Path) -> None:
    output = tmp_path / "scores.jsonl"
    with pytest.raises(KeyboardInterrupt):
        score_to_file(Length(fails_after=4), replies(6), output, data_sha256="0", batch=2)
    with output.open("a") as file:
        file.write('{"id": "4", "sco')
    second = Length()
    score_to_file(second, replies(6), output, data_sha256="0", batch=2, resume=True)
    assert [row["id"] for row in rows(output)] == ["0", "1", "2", "3", "4", "5"]
    assert second.batches == [2]


@pytest.mark.parametrize(
    ("evaluator", "data"), [(Length(unit="words"), "0"), (Length(), "1")], ids=["evaluator", "data"]
)
def test_a_run_does_not_go_on_in_the_scores_of_another(tmp_path: Path, evaluator: Length, data: str) -> None:
    output = tmp_path / "scores.jsonl"
    score_to_file(Length(), replies(2), output, data_sha256="0")
    before = output.read_bytes()
    with pytest.raises(TrainingError, match="written by another evaluator"):
        score_to_file(evaluator, replies(2), output, data_sha256=data, resume=True)
    with pytest.raises(TrainingError, match="exists already"):
        score_to_file(Length(), replies(2), output, data_sha256="0")
    assert output.read_bytes() == before


def test_a_file_of_something_else_is_never_overwritten(tmp_path: Path) -> None:
    output = tmp_path / "thesis.txt"
    output.write_text("Chapter 1")
    with pytest.raises(TrainingError, match="written by another evaluator"):
        score_to_file(Length(), replies(2), output, data_sha256="0", resume=True)
    assert output.read_text() == "Chapter 1"


def test_batches_return_one_score_for_each_reply() -> None:
    evaluator = Length()
    assert [score.id for score in score_in_batches(evaluator, replies(5), batch=3)] == [
        "0",
        "1",
        "2",
        "3",
        "4",
    ]
    assert evaluator.batches == [3, 2]


def test_a_score_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        ReplyScore("7", float("nan"))


def test_rows_are_read_with_their_optional_columns(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(
        '{"id": 7, "history": ["Hi! "], "response": "Hello."}\n'
        '{"id": "8", "history": [], "response": "", "reference": "Yes.", "human": 4}\n'
    )
    assert read_replies(file) == [
        ReplyToScore("7", ("Hi!",), "Hello."),
        ReplyToScore("8", (), "", "Yes.", 4.0),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "a row must be a JSON object"),
        ('{"history": [], "response": "a"}', "`id` must be text or a number"),
        (
            '{"id": "2", "history": ["Hi!"], "response": "a", "speakers": ["user"]}',
            "`speakers` must name who said each text",
        ),
        ('{"id": "2", "history": "Hi!", "response": "a"}', "`history` must be a list of texts"),
        ('{"id": "2", "history": []}', "`response` must be text"),
        ('{"id": "2", "history": [], "response": "a", "human": "good"}', "`human` must be a number"),
        ('{"id": "1", "history": [], "response": "b"}', "the id 1 is used twice"),
        ('{"id": "2", ', "not valid JSON"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"id": "1", "history": [], "response": "a"}\n' + line + "\n")
    with pytest.raises(TrainingError, match=f"line 2 of .*{message}"):
        read_replies(file)


def test_a_file_without_a_row_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text("\n")
    with pytest.raises(TrainingError, match="holds no row"):
        read_replies(file)
