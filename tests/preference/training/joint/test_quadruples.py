"""Which replies a turn is learned with."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.common.errors import TrainingError
from preference.training.joint import quadruples
from preference.training.joint.quadruples import (
    SHUFFLED,
    Quadruple,
    QuadrupleSampler,
    character_f1,
    draw_quadruples,
    least_similar,
    split_into_steps,
)
from tests.preference.training.made_up import dialogue, ragged

SHOWN = ("aaaa", "aaab", "aabb", "abbb", "bbbb", "bbbc", "bbcc")


def test_character_f1_counts_characters_as_often_as_they_occur() -> None:
    # 3 of the 4 characters of "aabc" are in "aabbd", which has 5.
    assert character_f1("aabc", "aabbd") == pytest.approx(2 * 3 / (4 + 5))
    assert character_f1("你好吗", "好你吗") == 1
    assert character_f1("ab", "cd") == character_f1("", "") == 0


@given(st.text(max_size=20), st.text(max_size=20))
def test_character_f1_is_symmetric_and_a_share(one: str, other: str) -> None:
    assert character_f1(one, other) == pytest.approx(character_f1(other, one))
    assert 0 <= character_f1(one, other) <= 1


def turn(*candidates: str) -> Turn:
    return Turn(1, "aaaa", candidates, "select", "")


def test_the_model_reply_is_drawn_among_the_five_least_similar() -> None:
    """Similarities to "aaaa" fall from 1 to 0; those of equal similarity stay in displayed order."""
    assert least_similar(turn(*SHOWN), 5) == ("bbbb", "bbbc", "bbcc", "abbb", "aabb")
    assert least_similar(turn(*SHOWN), None) == SHOWN
    assert least_similar(turn(*SHOWN[:3]), 5) == SHOWN[:3]


@pytest.mark.parametrize(("similar", "expected"), [(5, set(SHOWN[2:])), (None, set(SHOWN))])
def test_every_allowed_candidate_comes_up_over_the_epochs(similar: int | None, expected: set[str]) -> None:
    words = [dialogue("x", "aaaa", candidates=SHOWN), dialogue("y", "zzzz")]
    sampler = QuadrupleSampler(words, seed=1, similar=similar)
    drawn = {one.model for epoch in range(80) for one in sampler.epoch(epoch) if one.dialogue == 0}
    assert drawn == expected


def test_an_epoch_depends_on_seed_and_number_alone() -> None:
    dialogues = ragged(1, count=10)
    assert draw_quadruples(dialogues, seed=1, epoch=2) == QuadrupleSampler(dialogues, seed=1).epoch(2)
    assert draw_quadruples(dialogues, seed=1, epoch=2) != draw_quadruples(dialogues, seed=1, epoch=3)
    assert draw_quadruples(dialogues, seed=1, epoch=2) != draw_quadruples(dialogues, seed=2, epoch=2)


@given(st.integers(0, 1000))
def test_the_random_reply_is_of_another_dialogue_and_differs(seed: int) -> None:
    dialogues = ragged(seed, count=4)
    for drawn in draw_quadruples(dialogues, seed=seed, epoch=0):
        said = dialogues[drawn.dialogue].turns[drawn.turn]
        others = [d.utterances[1:] for number, d in enumerate(dialogues) if number != drawn.dialogue]
        assert any(drawn.random in replies for replies in others)
        assert drawn.random not in (said.human, drawn.model)
        assert drawn.model in said.candidates


def dialogues_of_four_groups() -> list[TrainingDialogue]:
    """Every reply says its language, domain and number, as in "en/bank/3"."""
    return [
        dialogue(
            "opening",
            *(f"{language}/{domain}/{number}" for _turn in range(2)),
            language=language,
            domain=domain,
        )
        for language in ("en", "zh")
        for domain in ("bank", "shop")
        for number in range(4)
    ]


@given(st.integers(0, 1000))
def test_the_random_reply_speaks_the_language_of_the_dialogue(seed: int) -> None:
    dialogues = dialogues_of_four_groups()
    drawn = draw_quadruples(dialogues, seed=seed, epoch=0)
    assert len(drawn) == 32
    for one in drawn:
        assert one.random.split("/")[0] == dialogues[one.dialogue].language


def test_the_random_reply_comes_from_the_whole_language_or_from_the_domain() -> None:
    dialogues = dialogues_of_four_groups()
    for within, expected in (("language", {"bank", "shop"}), ("domain", {"bank"})):
        sampler = QuadrupleSampler(dialogues, seed=1, random_within=within)
        drawn = [one for epoch in range(9) for one in sampler.epoch(epoch) if one.dialogue == 0]
        assert {one.random.split("/")[1] for one in drawn} == expected


def test_a_domain_with_one_dialogue_borrows_from_its_language() -> None:
    words = [dialogue("a", "b", language="en", domain=name) for name in ("bank", "shop")]
    sampler = QuadrupleSampler([*words, dialogue("c", "d", language="zh")], seed=1, random_within="domain")
    # Both replies of the English dialogues are "b", so nothing differs; the Chinese one stays where it is.
    with pytest.raises(TrainingError, match="the same replies"):
        sampler.epoch(0)
    words.append(dialogue("e", "f", language="en", domain="home"))
    assert {one.random for one in QuadrupleSampler(words, seed=1, random_within="domain").epoch(0)} == {
        "b",
        "f",
    }


def test_languages_that_are_not_given_are_told_apart_by_their_characters() -> None:
    words = [dialogue(f"hello {number}", f"fine {number}") for number in range(3)]
    words += [dialogue(f"你好{number}", f"很好{number}") for number in range(3)]
    for one in draw_quadruples(words, seed=3, epoch=0):
        assert one.random.startswith("fine" if one.dialogue < 3 else "很好")


def test_one_dialogue_in_each_language_is_refused() -> None:
    words = [dialogue("hello", "fine"), dialogue("你好", "很好")]
    with pytest.raises(TrainingError, match="only one dialogue in each language"):
        draw_quadruples(words, seed=1, epoch=0)


def test_a_turn_for_which_no_other_reply_differs_is_left_out_in_every_epoch() -> None:
    """The first person's "yes" was chosen over "no", and "no" is all that was said elsewhere."""
    words = [dialogue("a", "yes", candidates=("no",)), dialogue("b", "no", candidates=("yes", "maybe"))]
    for epoch in range(10):
        assert draw_quadruples(words, seed=1, epoch=epoch) == [Quadruple(1, 0, "maybe", "yes")]


@pytest.mark.parametrize(
    ("dialogues", "cause"),
    [
        ([dialogue("a", "b")], "only one dialogue"),
        (
            [dialogue("a", "b", annotated=()), dialogue("c", "d", annotated=())],
            "No utterance has a candidate",
        ),
        ([], "No utterance has a candidate"),
        ([dialogue("a", "b"), dialogue("c")], "only one dialogue"),
        ([dialogue("a", "b"), dialogue("c", "b")], "the same replies"),
    ],
)
def test_what_cannot_be_sampled_is_refused(dialogues: list[TrainingDialogue], cause: str) -> None:
    with pytest.raises(TrainingError, match=cause) as refused:
        draw_quadruples(dialogues, seed=1, epoch=0)
    assert refused.value.remedy


def test_a_step_has_its_number_of_quadruples_and_dialogues_stay_together() -> None:
    drawn = draw_quadruples(ragged(3, count=20), seed=1, epoch=0)
    steps = split_into_steps(drawn, batch=10, seed=1, epoch=0)
    assert [len(step) for step in steps[:-1]] == [10] * (len(steps) - 1)
    flat = [one for step in steps for one in step]
    assert sorted(flat, key=drawn.index) == drawn
    assert flat != drawn
    changes = sum(one.dialogue != other.dialogue for one, other in pairwise(flat))
    assert changes == len({one.dialogue for one in drawn}) - 1


def test_turns_are_shuffled_without_regard_to_their_dialogues() -> None:
    drawn = draw_quadruples(ragged(3, count=20), seed=1, epoch=0)
    steps = split_into_steps(drawn, batch=10, seed=1, epoch=0, shuffle="turns")
    assert [len(step) for step in steps[:-1]] == [10] * (len(steps) - 1)
    flat = [one for step in steps for one in step]
    assert sorted(flat, key=drawn.index) == drawn
    together = split_into_steps(drawn, batch=10, seed=1, epoch=0)
    assert dialogues_a_step(steps) > 2 * dialogues_a_step(together)


def dialogues_a_step(steps: list[list[Quadruple]]) -> float:
    return mean(len({one.dialogue for one in step}) for step in steps)


@pytest.mark.parametrize("shuffle", SHUFFLED)
def test_the_order_changes_with_the_epoch(shuffle: str) -> None:
    drawn = draw_quadruples(ragged(3, count=20), seed=1, epoch=0)
    first, again, second = (
        split_into_steps(drawn, batch=10, seed=1, epoch=epoch, shuffle=shuffle) for epoch in (0, 0, 1)
    )
    assert first == again != second


def test_similarities_are_computed_once_for_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are most of the work: 100,000 turns with seven candidates would take seconds in every epoch."""
    shown = tuple(f"reply number {number}" for number in range(7))
    dialogues = [
        dialogue(*(f"{number} {place}" for place in range(5)), candidates=shown) for number in range(3)
    ]
    compared: list[str] = []

    def counted(counts: Counter[str], length: int, other: str) -> float:
        compared.append(other)
        return 0.0

    monkeypatch.setattr(quadruples, "_f1", counted)
    sampler = QuadrupleSampler(dialogues, seed=1)
    assert len(compared) == 3 * 4 * 7
    assert len(sampler.epoch(0)) == len(sampler.epoch(1)) == 12
    assert len(compared) == 3 * 4 * 7
