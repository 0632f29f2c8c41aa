"""How the demo model's replies were judged: the shipped file is whole, and its table counts what is in it."""

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from generation.demo_model.corpus import HERE, LANGUAGES
from generation.scripts import BY_LANGUAGE, scripts_in
from preference.training.demo_model.judgements import (
    JudgedReply,
    draw_replies,
    judgement_table,
    openings,
    read_judgements,
    write_replies,
)

MODEL = HERE.parent / "model"


def test_half_of_the_openings_of_each_language_are_outside_the_topics() -> None:
    groups = Counter((language, topics) for language, topics, _ in openings())
    assert groups == {(language, topics): 20 for language in LANGUAGES for topics in ("inside", "outside")}


def test_seven_replies_of_every_opening_are_judged_twice() -> None:
    rows = read_judgements()
    assert Counter((row.language, row.topics, row.opening) for row in rows) == dict.fromkeys(openings(), 7)
    assert len(set(rows)) == len(rows)


def test_no_reply_has_a_foreign_script() -> None:
    assert [
        row for row in read_judgements() if not scripts_in(row.reply) <= set(BY_LANGUAGE[row.language])
    ] == []


def test_the_judged_replies_are_those_that_the_shipped_model_gives() -> None:
    drawn = list(islice(draw_replies(MODEL), 14))
    assert [(row.opening, row.reply) for row in drawn] == [
        (row.opening, row.reply) for row in read_judgements()[:14]
    ]


def test_the_table_counts_both_judges() -> None:
    rows = [
        JudgedReply("en", "inside", "Hello!", "Hi.", "yes", "yes"),
        JudgedReply("en", "inside", "Hello!", "No.", "yes", "no"),
        JudgedReply("en", "inside", "It rained.", "Great!", "no", "no"),
        JudgedReply("en", "inside", "It rained.", "Again?", "yes", "yes"),
        *(JudgedReply("en", "outside", "A whale!", "Where?", "yes", "yes") for _ in range(2)),
        *(JudgedReply("zh", topics, "你好！", "你好。", "yes", "no") for topics in ("inside", "outside")),
    ]
    lines = judgement_table(rows)
    assert lines[2] == "| en, inside | 4 | 75%, 50% | 50% | 2 of 2 | 0.50 |"
    assert lines[3] == "| en, outside | 2 | 100%, 100% | 100% | 1 of 1 | - |"
    assert lines[-1].startswith("| all | 8 | 88%, 50% | 50% | 3 of 4 |")


def test_a_judgement_is_yes_or_no(tmp_path: Path) -> None:
    write_replies([JudgedReply("en", "inside", "Hello!", "Hi.", "yes", "perhaps")], tmp_path / "judged.csv")
    with pytest.raises(ValueError, match=r"'Hi\.' is not judged yes or no by both"):
        read_judgements(tmp_path / "judged.csv")
