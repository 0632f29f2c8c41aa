"""What rows may hold, how splits are drawn, and the text that models read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from preference.training.assessor.data import LabelledDialogue, Turn, read_dialogues
from preference.training.assessor.input_text import dialogue_of_reply, encode, input_text
from preference.training.assessor.splits import assign_splits, check_splits, missing_labels
from preference.training.assessor.task import QUALITY
from preference.training.common.errors import TrainingError
from tests.preference.training.assessor.synthetic import dialogue_row, dialogue_rows, write_rows

GOOD = dialogue_row(1)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"id": "x", "dialogue"', "not valid JSON"),
        ([1], "must be a JSON object"),
        (GOOD | {"id": "d0"}, "the id d0 is used twice"),
        (GOOD | {"id": None}, "`id`"),
        (GOOD | {"label": 3}, "`label` is 3, and must be one of 0, 1, 2"),
        (GOOD | {"label": -1}, "`label` is -1"),
        (GOOD | {"label": "phone"}, "`label` is 'phone'"),
        (GOOD | {"label": None}, "`label` is null, so the dialogue has no label yet"),
        (GOOD | {"label": True}, "`label` is True"),
        (GOOD | {"label": 1.5}, "`label` is 1.5"),
        (GOOD | {"dialogue": []}, "`dialogue` holds no text"),
        (GOOD | {"dialogue": [{"role": "user", "content": "  "}]}, "`dialogue` holds no text"),
        (GOOD | {"dialogue": "hello"}, "`dialogue` must be a list"),
        (GOOD | {"dialogue": [{"role": "user"}]}, "`dialogue` must be a list"),
        (GOOD | {"split": "tset"}, "`split` must be train, valid or test"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path: Path, row: Any, words: str) -> None:
    file = write_rows(tmp_path / "data.jsonl", [dialogue_row(0), row])
    with pytest.raises(TrainingError) as caught:
        read_dialogues(file, QUALITY)
    assert words in caught.value.cause
    assert "line 2" in caught.value.cause
    assert caught.value.remedy


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="holds no row"):
        read_dialogues(write_rows(tmp_path / "data.jsonl", []), QUALITY)


def test_labels_may_be_written_as_text_or_with_a_point(tmp_path: Path) -> None:
    rows = [dialogue_row(number) | {"label": label} for number, label in enumerate((2, "2", 2.0, " 2 "))]
    file = write_rows(tmp_path / "data.jsonl", rows)
    assert [dialogue.label for dialogue in read_dialogues(file, QUALITY)] == [2, 2, 2, 2]


def dialogues(count: int, **changes: Any) -> list[LabelledDialogue]:
    turns = (Turn("user", "hi"),)
    return [LabelledDialogue(f"d{n}", turns, n % 3, **changes) for n in range(count)]


def drawn(rows: list[LabelledDialogue], seed: int = 1) -> list[LabelledDialogue]:
    return assign_splits(rows, valid_share=0.1, test_share=0.2, seed=seed)


def test_drawn_splits_have_their_share_of_every_label() -> None:
    counts = Counter((one.split, one.label) for one in drawn(dialogues(300)))
    assert counts == {
        (split, label): size
        for split, size in (("train", 70), ("valid", 10), ("test", 20))
        for label in range(3)
    }


def test_drawn_splits_follow_from_seed_and_ids_alone() -> None:
    rows = dialogues(60)
    splits = {one.id: one.split for one in drawn(rows)}
    assert {one.id: one.split for one in drawn(rows[::-1])} == splits
    assert {one.id: one.split for one in drawn(rows, seed=2)} != splits


def test_given_splits_stay_and_a_missing_one_is_drawn_from_training() -> None:
    rows = [
        *dialogues(60, split="train"),
        *(one for one in dialogues(90, split="test") if int(one.id[1:]) >= 60),
    ]
    result = {one.id: one.split for one in drawn(rows)}
    assert Counter(result.values()) == {"train": 54, "valid": 6, "test": 30}
    assert all(result[f"d{number}"] == "test" for number in range(60, 90))


def test_one_label_only_is_nothing_to_learn() -> None:
    rows = drawn([LabelledDialogue(f"d{n}", (Turn("a", "hi"),), 1) for n in range(30)])
    with pytest.raises(TrainingError, match="All 21 training dialogues have the label 1"):
        check_splits(rows)


def test_too_few_dialogues_leave_a_split_empty() -> None:
    with pytest.raises(TrainingError, match="With 2 dialogues the split"):
        check_splits(drawn(dialogues(2)))


def test_missing_labels_are_listed_by_split() -> None:
    rows = [*dialogues(3, split="train"), *dialogues(3, split="valid"), *dialogues(2, split="test")]
    assert missing_labels(rows, QUALITY) == {"test": ["2"]}


@pytest.mark.parametrize(
    ("roles", "sides"),
    [
        (("user", "assistant"), ("question", "response")),
        (("assistant", "user"), ("response", "question")),
        (("Customer", "helpdesk"), ("question", "response")),
        (("Ann", "Bob"), ("question", "response")),
        (("B", "A"), ("question", "response")),
    ],
)
def test_roles_become_sides(roles: tuple[str, str], sides: tuple[str, str]) -> None:
    text = input_text([Turn(roles[0], "Hi"), Turn(roles[1], "Ho")])
    assert text == f"{sides[0]}: Hi {sides[1]}: Ho"


def test_a_reply_is_a_response_and_its_history_alternates() -> None:
    turns = dialogue_of_reply(["Hi", "", "How?"], "So.")
    assert [(turn.role, turn.content) for turn in turns] == [
        ("question", "Hi"),
        ("question", "How?"),
        ("response", "So."),
    ]


def test_a_reply_with_known_speakers_keeps_them() -> None:
    turns = dialogue_of_reply(["Hi", "", "How?"], "So.", ["user", "assistant", "assistant", "user"])
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "Hi"),
        ("assistant", "How?"),
        ("user", "So."),
    ]


def test_a_long_dialogue_loses_its_beginning_and_keeps_its_special_tokens() -> None:
    from preference.training.assessor.network import train_tokenizer

    rows = dialogue_rows(60)
    texts = [turn["content"] for row in rows for turn in row["dialogue"]]
    tokenizer: Any = train_tokenizer(texts, 400, 512)
    turns = [Turn("user", f"number {n}") for n in range(100)]
    (ids,) = encode(tokenizer, [turns], 20)
    assert len(ids) == 20
    assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    assert tokenizer.decode(ids[1:-1]).endswith("number 99")
