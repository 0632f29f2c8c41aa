"""What a recipe is, and what it refuses."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from generation.backends.dialogue_format import DialogueFormat
from preference.training.common.errors import TrainingError
from preference.training.common.recipes import differences, with_settings
from preference.training.joint.command import build_recipe, parser
from preference.training.joint.recipe import (
    BEFORE,
    FREE,
    LORA_RATE,
    JointRecipe,
    diamante,
    quick,
    with_lora,
)


def test_the_default_is_the_papers() -> None:
    recipe = diamante()
    assert (recipe.context, recipe.reply, recipe.batch, recipe.epochs) == (384, 128, 168, 5)
    assert (recipe.peak_lr, recipe.warmup, recipe.similar) == (2e-6, 500, 5)
    assert (recipe.clip, recipe.lora_rank) == (0.0, 0)


def test_one_of_the_losses_needs_a_weight() -> None:
    assert JointRecipe(ranking_weight=0).nll_weight == 1
    with pytest.raises(TrainingError, match="nothing would be learned"):
        JointRecipe(nll_weight=0, ranking_weight=0)


def test_patience_needs_validations_of_which_one_is_the_best() -> None:
    assert JointRecipe(validate_every=0, patience=2).best_by == "loss"
    with pytest.raises(TrainingError, match="the run is never validated") as refused:
        JointRecipe(patience=2)
    assert "validate_every=0" in refused.value.remedy
    with pytest.raises(TrainingError, match="no validation is better than another") as refused:
        JointRecipe(validate_every=5, patience=2, best_by="last")
    assert "p_at_1" in refused.value.remedy


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({}, "without adapters all weights are trained"),
        ({"lora_rank": 8, "precision": "fp32"}, "computed in bf16, but precision is fp32"),
        ({"lora_rank": 8, "sharding": "fsdp"}, "fsdp spreads weights of one kind only"),
    ],
)
def test_rounded_weights_are_frozen_and_computed_in_bf16(changes: dict[str, Any], cause: str) -> None:
    with pytest.raises(TrainingError, match=cause) as refused:
        JointRecipe(frozen_weights="4bit", **changes)
    assert refused.value.remedy
    assert JointRecipe(frozen_weights="4bit", lora_rank=8).precision == "auto"


def test_a_recipe_cannot_be_edited() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        diamante().batch = 3  # type: ignore[misc]


def test_the_rate_rises_to_the_peak_and_falls_with_the_inverse_square_root() -> None:
    factor = JointRecipe(warmup=500).rate_factor
    assert factor(1) == 1 / 500
    assert factor(250) == 0.5
    assert factor(500) == 1
    assert factor(2000) == pytest.approx(math.sqrt(500 / 2000))


def test_no_warmup_begins_at_the_peak() -> None:
    assert [JointRecipe(warmup=0).rate_factor(step) for step in (1, 4)] == [1, 0.5]


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("context", 3, "context is 3, and must be at least 8."),
        ("batch", 0, "batch is 0, and must be at least 1."),
        ("epochs", 0, "epochs is 0, and must be at least 1."),
        ("similar", 0, "similar is 0, and must be at least 1."),
        ("clip", -1.0, "clip is -1.0, and must be at least 0."),
        ("clip", math.nan, "clip is nan, and must be at least 0."),
        ("peak_lr", 0.0, "peak_lr is 0.0, and must be greater than 0, and finite."),
        ("head_lr", 0.0, "head_lr is 0.0, and must be greater than 0, and finite."),
        ("peak_lr", math.inf, "peak_lr is inf, and must be greater than 0, and finite."),
        ("beta2", 1.0, "beta2 is 1.0, and must be at least 0 and less than 1."),
        ("lora_dropout", 1.5, "lora_dropout is 1.5, and must be at least 0 and less than 1."),
        ("ranking_weight", -1.0, "ranking_weight is -1.0, and must be at least 0."),
        ("nll_weight", math.inf, "nll_weight is inf, and must be finite."),
        ("weight_decay", 1.0, "weight_decay is 1.0, and must be at least 0 and less than 1."),
        ("random_within", "topic", "random_within is 'topic', and must be one of language, domain."),
        ("shuffle", "words", "shuffle is 'words', and must be one of dialogues, turns."),
        ("validate_every", -1, "validate_every is -1, and must be at least 0."),
        ("validation_turns", 0, "validation_turns is 0, and must be at least 1."),
        ("validation_turns", 10**9, "validation_turns is 1000000000, and must be at most 1000000."),
        ("patience", -1, "patience is -1, and must be at least 0."),
        ("best_by", "mrr", "best_by is 'mrr', and must be one of loss, p_at_1, last."),
        ("precision", "fp8", "precision is 'fp8', and must be one of auto, fp32, bf16."),
        ("layout", "tree", "layout is 'tree', and must be one of auto, naive, packed, trees."),
        ("loss_chunk", 0, "loss_chunk is 0, and must be at least 1."),
        ("frozen_weights", "8bit", "frozen_weights is '8bit', and must be one of fp32, bf16, 4bit."),
        ("sharding", "zero", "sharding is 'zero', and must be one of auto, fsdp, deepspeed."),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(name: str, value: Any, said: str) -> None:
    with pytest.raises(TrainingError) as refused:
        dataclasses.replace(diamante(), **{name: value})
    assert refused.value.cause == said
    assert refused.value.remedy == f"Correct it: --set {name}=…"


def test_settings_are_read_as_what_they_are() -> None:
    recipe = with_settings(
        quick(), ["batch = 4", "peak_lr=1e-3", "similar=none", "recompute=TRUE", "token_budget=64"]
    )
    assert (recipe.batch, recipe.peak_lr, recipe.similar) == (4, 1e-3, None)
    assert (recipe.recompute, recipe.token_budget) == (True, 64)


@pytest.mark.parametrize(
    "setting, said",
    [
        ("batch", "'batch' is not a setting."),
        ("bach=3", "A recipe has no setting 'bach'."),
        ("batch=many", "batch is 'many', and must be a whole number."),
        ("similar=few", "similar is 'few', and must be a whole number."),
        ("peak_lr=high", "peak_lr is 'high', and must be a number."),
        ("recompute=1", "recompute is '1', and must be true or false."),
    ],
)
def test_a_wrong_setting_is_refused_in_a_sentence(setting: str, said: str) -> None:
    with pytest.raises(TrainingError) as refused:
        with_settings(diamante(), [setting])
    assert refused.value.cause == said
    assert refused.value.remedy


def test_a_template_or_marks_say_who_speaks_but_not_both() -> None:
    recipe = with_settings(diamante(), ["chat_template=true"])
    assert recipe.dialogue_format == DialogueFormat(chat_template=True)
    with pytest.raises(TrainingError, match="chat_template and speaker_marks are both true") as refused:
        with_settings(recipe, ["speaker_marks=true"])
    assert refused.value.remedy
    options = parser().parse_args(["--data", "x", "--model", "y", "--output", "z", "--chat-template"])
    assert build_recipe(options) == recipe


def test_adapters_get_a_rate_of_their_own_unless_it_is_set() -> None:
    recipe = with_lora(diamante())
    assert (recipe.lora_rank, recipe.peak_lr) == (16, LORA_RATE)
    assert with_settings(recipe, ["peak_lr=1e-5", "lora_rank=4"]).peak_lr == 1e-5


def test_what_changes_memory_only_may_differ_on_resuming() -> None:
    mine = with_settings(diamante(), ["token_budget=512", "precision=fp32"]).as_dict()
    assert differences(mine, diamante().as_dict(), free=FREE) == []
    assert differences(with_settings(diamante(), ["batch=8"]).as_dict(), diamante().as_dict(), free=FREE) == [
        "batch: 168 → 8"
    ]


def test_a_run_that_is_older_than_a_setting_goes_on_if_it_did_the_same() -> None:
    older = diamante().as_dict()
    for name in ("weight_decay", "validate_every", "patience", "shuffle"):
        del older[name]
    assert differences(diamante().as_dict(), older, free=FREE, before=BEFORE) == []
    changed = with_settings(diamante(), ["weight_decay=0.01", "shuffle=turns"]).as_dict()
    assert differences(changed, older, free=FREE, before=BEFORE) == [
        "shuffle: dialogues → turns",
        "weight_decay: 0.0 → 0.01",
    ]


def test_a_run_that_drew_random_replies_from_the_whole_project_is_another_run() -> None:
    older = diamante().as_dict()
    del older["random_within"]
    assert differences(diamante().as_dict(), older, free=FREE, before=BEFORE) == [
        "random_within: project → language"
    ]
