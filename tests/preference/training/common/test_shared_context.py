"""Trees of texts, and the stem that they stand on: what is fed, and what is computed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch

from preference.training.common.shared_context.probe import can_stand_on_stem
from preference.training.common.shared_context.rows import ROOT, Row, Tokens, collate
from preference.training.common.shared_context.stem import Stem
from preference.training.common.shared_context.trees import branches, common_length, cut, tree
from tests.preference.training.made_up import joint_model


def paths(row: Row) -> dict[Any, Tokens]:
    """The whole text that leads to every named piece."""
    found: dict[Any, Tokens] = {}
    texts: list[Tokens] = []
    for piece in row.all_pieces:
        before = texts[piece.parent] if piece.parent != ROOT else ()
        texts.append((*before, *piece.tokens))
        if piece.name is not None:
            found[piece.name] = texts[-1]
    return found


def random_texts(seed: int, count: int) -> set[Tokens]:
    """Of few different tokens, so that many begin alike, and some are the beginning of others."""
    random = Random(seed)
    return {tuple(random.choices((3, 4), k=random.randint(1, 8))) for _ in range(count)}


def test_a_tree_feeds_what_texts_share_once() -> None:
    texts = [(3, 4, 5, 6), (3, 4, 7), (3, 4), (8,)]
    row = tree(branches(texts))
    assert [tuple(piece.tokens) for piece in row.pieces] == [(3, 4), (5, 6), (7,), (8,)]
    assert row.tokens == 6
    assert paths(row) == {text: text for text in texts}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("beginnings", [[], [(3, 4, 4), (3, 3)], [(4,), (3, 4, 3, 4, 3)]])
def test_trees_hold_every_text_and_no_token_twice(seed: int, beginnings: list[Tokens]) -> None:
    texts = random_texts(seed, 40)
    stem = Stem(beginnings)
    row = tree(branches(texts, stem), stem)
    assert paths(row) == {text: text for text in texts}
    nodes = {text[:end] for text in texts for end in range(1, len(text) + 1)}
    encoded = {text[:end] for text in beginnings for end in range(1, len(text) + 1)}
    # The last token of a text is fed even if the stem has it: its end has to be read in the row.
    assert len(nodes - encoded) <= row.tokens <= len(nodes - encoded) + len(texts & encoded)


@pytest.mark.parametrize("limit", [1, 9, 20, 1000])
def test_runs_keep_to_the_limit_and_hold_every_text_once(limit: int) -> None:
    texts = random_texts(7, 40)
    runs = cut(branches(texts), limit)
    assert sorted(branch.text for run in runs for branch in run) == sorted(texts)
    assert all(tree(run).tokens <= limit or len(run) == 1 for run in runs)
    assert len(runs) == 1 or limit < 1000


def test_common_beginnings_are_measured() -> None:
    assert common_length((1, 2, 3), (1, 2, 4, 5)) == 2
    assert common_length((1, 2), (1, 2, 4)) == 2
    assert common_length((), (1,)) == common_length((1,), (2,)) == 0


def test_a_row_on_a_stem_sees_its_path_and_goes_on_in_its_positions() -> None:
    stem = Stem([(3, 4, 5), (3, 6)])
    row = tree(branches([(3, 4, 7, 8), (3, 6, 9)], stem), stem)
    inputs = collate([row], 0).inputs
    assert inputs["input_ids"].tolist() == [[7, 8, 9]]
    assert inputs["position_ids"].tolist() == [[2, 3, 2]]
    # Columns: 3 4 5 6 of the stem, 7 8 9 of the row.
    assert inputs["attention"][0].int().tolist() == [
        [1, 1, 0, 0, 1, 0, 0],
        [1, 1, 0, 0, 1, 1, 0],
        [1, 0, 0, 1, 0, 0, 1],
    ]


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
def test_a_cached_stem_changes_no_logit(shape: str) -> None:
    assert can_stand_on_stem(joint_model(shape).backbone)


def test_a_model_that_forgets_its_cache_is_found_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = joint_model("llama").backbone
    forward = backbone.model.forward

    def forget(*ids: torch.Tensor, past_key_values: Any = None, **inputs: Any) -> Any:
        return forward(*ids, **inputs)

    monkeypatch.setattr(backbone.model, "forward", forget)
    assert not can_stand_on_stem(backbone)
