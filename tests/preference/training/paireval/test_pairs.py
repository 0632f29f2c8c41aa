"""What is read from each format, and which pairs are drawn from it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.errors import TrainingError
from preference.training.paireval.comparisons import (
    draw_comparisons,
    read_comparisons,
    write_comparisons,
)
from preference.training.paireval.corpus import ORIGINS, Example, read_examples
from preference.training.paireval.pairs import PairSampler

ANN = {
    "dialogue_id": "ann",
    "language": "en",
    "split": "train",
    "conversation": [
        {"utterance": "Hi!"},
        {
            "utterance": "Hello, Ann.",
            "response_candidates": ["Hello.", "Bye.", "Hm."],
            "action": "revise",
            "source": 0,
        },
        {"utterance": "Tea?", "response_candidates": ["Tea?", "Rain."], "action": "select", "source": 0},
        {"utterance": "No, thanks."},
    ],
}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_snapshot_gives_what_annotators_did_not_send(tmp_path: Path) -> None:
    write(tmp_path / "dialogues.jsonl", ANN)
    revised, selected, plain = read_examples(tmp_path)
    assert (revised.history, revised.positives) == (("Hi!",), ("Hello, Ann.",))
    assert revised.negatives == {"unchosen": ("Bye.", "Hm."), "revised": ("Hello.",)}
    assert selected.negatives == {"unchosen": ("Rain.",), "revised": ()}
    assert plain.negatives == {}
    assert {example.dialogue for example in (revised, selected, plain)} == {"ann"}


def test_a_corpus_without_candidates_is_read_too(tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"conversation": [{"utterance": "Hi!"}, {"utterance": "Hello."}]})
    (example,) = read_examples(data)
    assert (example.history, example.positives, example.language) == (("Hi!",), ("Hello.",), "")


@pytest.mark.parametrize(
    "names",
    [
        ("history", "positives", "adversarial"),
        ("context", "positive_responses", "adversarial_negative_responses"),
    ],
)
def test_histories_with_adversarial_replies(tmp_path: Path, names: tuple[str, str, str]) -> None:
    history, positives, adversarial = names
    row = {"id": 7, history: ["你好"], positives: ["好", "好", ""], adversarial: ["好 ", "马"]}
    (example,) = read_examples(write(tmp_path / "a.jsonl", row))
    assert (example.id, example.language) == ("7", "zh")
    assert example.positives == ("好",)
    assert example.negatives == {"adversarial": ("马",)}


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ({"history": "Hi!", "positives": ["a"]}, "`history` must be a list of texts"),
        ({"history": ["Hi!"], "positives": [1]}, "`positives` must be a list of texts"),
        ({"history": [], "positives": ["a"]}, "holds no reply with a history|no reply with a history"),
        ({"words": 3}, "neither a `conversation`"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, row: dict[str, Any], cause: str) -> None:
    with pytest.raises(TrainingError, match=cause):
        read_examples(write(tmp_path / "a.jsonl", row))


def example(number: int, *, language: str = "en", **negatives: tuple[str, ...]) -> Example:
    return Example(str(number), str(number), ("Hi!",), (f"reply {number}",), negatives, language)


def test_a_pair_is_a_true_reply_and_a_worse_one_of_an_origin() -> None:
    examples = [
        example(n, adversarial=(f"adversarial {n}",), unchosen=(f"unchosen {n}",), revised=(f"revised {n}",))
        for n in range(200)
    ]
    pairs = PairSampler(examples, seed=1).epoch(0)
    assert len(pairs) == 200
    counts = Counter(pair.origin for pair in pairs)
    assert set(counts) == set(ORIGINS)
    assert min(counts.values()) > 30
    for pair in pairs:
        number = pair.positive.removeprefix("reply ")
        same = pair.negative.removeprefix(f"{pair.origin} ") == number
        assert same or (pair.origin == "random" and pair.negative.startswith("reply "))
    assert 70 < sum(pair.positive_first for pair in pairs) < 130


def test_the_seed_and_the_epoch_decide() -> None:
    examples = [example(n) for n in range(20)]
    first = PairSampler(examples, seed=1)
    assert first.epoch(0) == PairSampler(examples, seed=1).epoch(0)
    assert first.epoch(0) != first.epoch(1)
    assert first.epoch(0) != PairSampler(examples, seed=2).epoch(0)


def test_a_random_reply_has_the_same_language_and_another_dialogue() -> None:
    examples = [example(n, language="en" if n < 4 else "zh") for n in range(8)]
    for epoch in range(5):
        for pair in PairSampler(examples, seed=1).epoch(epoch):
            mine, other = (int(text.removeprefix("reply ")) for text in (pair.positive, pair.negative))
            assert mine != other
            assert (mine < 4) == (other < 4)


def test_only_the_origins_asked_for_are_drawn() -> None:
    examples = [example(n, unchosen=("no",)) if n % 2 else example(n) for n in range(10)]
    pairs = PairSampler(examples, seed=1, origins=("unchosen",)).epoch(0)
    assert [(pair.origin, pair.negative) for pair in pairs] == [("unchosen", "no")] * 5


def test_data_without_a_worse_reply_is_refused() -> None:
    with pytest.raises(TrainingError, match="has a worse one of the origins adversarial"):
        PairSampler([example(1), example(2)], seed=1, origins=("adversarial",))
    with pytest.raises(TrainingError, match="has a worse one"):
        PairSampler([example(1)], seed=1)


def test_comparison_examples_are_drawn_once_and_stored(tmp_path: Path) -> None:
    examples = [example(n) for n in range(9)]
    drawn = draw_comparisons(examples, 5, seed=3)
    assert drawn == draw_comparisons(examples, 5, seed=3)
    assert drawn != draw_comparisons(examples, 5, seed=4)
    assert len({one.id for one in drawn}) == 5
    write_comparisons(tmp_path / "comparisons.jsonl", drawn)
    assert read_comparisons(tmp_path / "comparisons.jsonl") == drawn


def test_comparison_examples_come_from_the_validation_split_if_there_is_one() -> None:
    held_out = [Example(f"v{n}", f"v{n}", ("Hi!",), ("Hello.",), split="valid") for n in range(2)]
    drawn = draw_comparisons([*(example(n) for n in range(9)), *held_out], 2, seed=1)
    assert {one.id for one in drawn} == {"v0", "v1"}


def test_a_corpus_too_small_for_its_examples_is_refused() -> None:
    with pytest.raises(TrainingError, match="only 2 dialogues"):
        draw_comparisons([example(1), example(2)], 3, seed=1)


def test_a_comparison_without_a_response_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "c.jsonl", {"id": "1", "history": ["Hi!"], "response": " "})
    with pytest.raises(TrainingError, match="has an empty response"):
        read_comparisons(file)
