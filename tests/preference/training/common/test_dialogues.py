"""What is read from snapshots and files, and what is said about those that cannot be learned from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.dialogues import read_dialogues
from preference.training.common.errors import TrainingError


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def said(utterance: str, *candidates: str, **more: Any) -> dict[str, Any]:
    return {"utterance": utterance, "response_candidates": list(candidates), **more}


def talk(*turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"dialogue_id": "d1", "conversation": list(turns), **more}


def test_a_snapshot_folder_is_read(tmp_path: Path) -> None:
    row = talk(
        said("你好"),
        said("很好 ", "不好", "再见", action="revise", source=0, edit_distance=3, model_version="m@1"),
        said("thank you"),
        split="test",
        domain="tea",
        language="zh",
    )
    written(tmp_path / "dialogues.jsonl", row)
    (found,) = read_dialogues(tmp_path)
    assert (found.id, found.split, found.domain, found.language) == ("d1", "test", "tea", "zh")
    assert found.utterances == ("你好", "很好", "thank you")
    (turn,) = found.turns
    assert (turn.position, turn.human, turn.candidates) == (1, "很好", ("不好", "再见"))
    assert (turn.action, turn.model_version) == ("revise", "m@1")


def test_speakers_are_read_if_all_are_named(tmp_path: Path) -> None:
    named = talk(said("tea?", speaker="Ann"), said("yes", "no", speaker="Bob"))
    half = talk(said("tea?", speaker="Ann"), said("yes", "no"))
    found = read_dialogues(written(tmp_path / "x", named, half))
    assert [dialogue.speakers for dialogue in found] == [("Ann", "Bob"), ()]


def test_candidates_that_cannot_be_ranked_are_left_out(tmp_path: Path) -> None:
    """Empty ones, repeats, and what the person wrote, white space aside."""
    shown = ["", " ", "Yes,  I do", "no", "no ", "maybe"]
    (found,) = read_dialogues(written(tmp_path / "x", talk(said("tea?"), said("Yes, I do", *shown))))
    assert found.turns[0].candidates == ("no", "maybe")


def test_an_opening_is_not_a_turn_even_with_candidates(tmp_path: Path) -> None:
    row = talk(said("hello", "hi"), said("tea", "rain"))
    (found,) = read_dialogues(written(tmp_path / "x", row))
    assert [turn.position for turn in found.turns] == [1]


def test_an_utterance_with_blank_context_or_blank_words_is_not_a_turn(tmp_path: Path) -> None:
    row = talk(said(" "), said("tea", "rain"), said("", "walk"), said("fine", "no"))
    (found,) = read_dialogues(written(tmp_path / "x", row))
    assert [turn.position for turn in found.turns] == [3]


def test_dialogues_without_turns_are_kept_for_their_replies(tmp_path: Path) -> None:
    path = written(tmp_path / "x", talk(said("hi"), said("tea", "no")), talk(said("a"), said("b")))
    assert [len(found.turns) for found in read_dialogues(path)] == [1, 0]


def test_quadruples_of_one_dialogue_are_put_together(tmp_path: Path) -> None:
    def row(context: list[str], human: str, model: str, **more: Any) -> dict[str, Any]:
        about = {"dialogue_id": "d1", "random": "x", "model_version": "m@1", "action": "select"}
        return {"context": context, "human": human, "model": model, **about, **more}

    path = written(
        tmp_path / "x",
        row(["a"], "b", "no"),
        row(["a", "b", "c"], "d", "never", split="train"),
        row(["a"], "b", "nay"),
        row([], "b", "no", dialogue_id="d2"),
        row(["other", "words"], "c", "d"),
    )
    first, second, third = read_dialogues(path)
    assert first.utterances == ("a", "b", "c", "d")
    assert [(turn.position, turn.candidates) for turn in first.turns] == [
        (1, ("no", "nay")),
        (3, ("never",)),
    ]
    assert first.turns[0].model_version == "m@1"
    assert (second.id, second.turns) == ("d2", ())
    assert third.utterances == ("other", "words", "c")  # the same id, but another dialogue


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{", "line 2 of .* not valid JSON"),
        ("[" * 100_000, "line 2 of .* not valid JSON"),
        ("[]", "line 2 of .* neither a `conversation` nor"),
        ('{"messages": []}', "line 2 of .* neither a `conversation` nor"),
        ('{"conversation": {}}', "line 2 of .* `conversation` must be a list of objects"),
        ('{"conversation": [1]}', "line 2 of .* `conversation` must be a list of objects"),
        ('{"conversation": [{"text": "hi"}]}', "line 2 of .* `utterance` must be text"),
        ('{"conversation": [{"utterance": "x", "response_candidates": "y"}]}', "must be a list of texts"),
        ('{"conversation": [], "split": 3}', "line 2 of .* `split` must be text"),
    ],
)
def test_a_broken_line_is_named_with_its_number(tmp_path: Path, line: str, cause: str) -> None:
    path = written(tmp_path / "x", talk(said("hi"), said("tea", "no")))
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(TrainingError, match=cause) as refused:
        read_dialogues(path)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([], "has no dialogues"),
        ([talk(said("hi"), said("tea"))], "nothing to rank"),
        ([talk(said("hi"), said("tea", "tea", "", " tea "))], "nothing to rank"),
        ([{"context": [], "human": "a", "model": "b"}], "nothing to rank"),
    ],
)
def test_data_that_ranks_nothing_is_refused(tmp_path: Path, rows: list[Any], cause: str) -> None:
    with pytest.raises(TrainingError, match=cause) as refused:
        read_dialogues(written(tmp_path / "x", *rows))
    assert refused.value.remedy


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"dialogues\.jsonl cannot be read"):
        read_dialogues(tmp_path)


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes('{"conversation": ["你好"]}'.encode("gb18030"))
    with pytest.raises(TrainingError, match="not UTF-8"):
        read_dialogues(path)


def test_rows_of_two_shapes_in_one_file_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "x", {"context": ["a"], "human": "b", "model": "c"}, talk(said("hi")))
    with pytest.raises(TrainingError, match="line 2"):
        read_dialogues(path)
