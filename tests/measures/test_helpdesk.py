"""UCH by hand (DCH paper, section 4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.helpdesk import auch, consolidate_labels, cuch, find_nuggets, uch
from measures.helpdesk_collection import (
    AnnotatedDialogue,
    build_collection,
    tau_against_alpha,
    tau_against_patience,
)

# 100 characters: a problem in two posts, a solution, a question, thanks.
TALK = [("customer", 10), ("customer", 20), ("helpdesk", 30), ("helpdesk", 20), ("customer", 20)]
LABELS = ["CNUG0", "CNUG0", "HNUG*", "HNUG", "CNUG*"]

sides = st.sampled_from(["customer", "helpdesk"])


@st.composite
def labelled(draw: st.DrawFn) -> tuple[list[tuple[str, int]], list[str]]:
    utterances = draw(st.lists(st.tuples(sides, st.integers(0, 50)), max_size=12))
    options = {"customer": ["CNUG0", "CNUG", "CNUG*", "NAN"], "helpdesk": ["HNUG", "HNUG*", "NAN"]}
    return utterances, [draw(st.sampled_from(options[side])) for side, _ in utterances]


def test_a_dialogue_by_hand() -> None:
    score = uch(TALK, LABELS, patience=100)
    # Customer: trigger 1 · (1 - 0/100), goal (1 + 1) · (1 - 80/100). Helpdesk: goal 2 · (1 - 30/100), 1 · (1 - 60/100).
    assert (score.uc, score.uh, score.uch) == pytest.approx((1.4, 1.8, 1.6))
    assert [(n.first, n.last, n.position) for n in score.nuggets] == [
        (0, 1, 0),
        (2, 2, 30),
        (3, 3, 60),
        (4, 4, 80),
    ]


def test_positions_may_be_taken_at_the_end_of_a_nugget() -> None:
    score = uch(TALK, LABELS, patience=100, position="end", alpha=0)
    assert score.uch == pytest.approx(1 * 0.7 + 2 * 0.0)


def test_only_the_first_goal_of_a_side_gains() -> None:
    utterances = [("customer", 0)] * 4
    score = uch(utterances, ["CNUG*", "NAN", "CNUG*", "CNUG"], patience=10, alpha=0)
    assert (score.uch, score.spare_goals) == (3.0, 1)


def test_average_and_consolidated_uch() -> None:
    labellings = [LABELS, LABELS, ["NAN"] * 5]
    assert auch(TALK, labellings, patience=100) == pytest.approx(3.2 / 3)
    assert cuch(TALK, labellings, patience=100) == pytest.approx(1.6)
    assert consolidate_labels([["CNUG"], ["CNUG0"]]) == ("NAN",)
    assert (auch(TALK, [], patience=1), cuch(TALK, [], patience=1)) == (None, None)


@given(labelled(), st.integers(0, 30), sides)
def test_an_utterance_without_a_nugget_at_the_end_adds_nothing(
    dialogue: tuple[list[tuple[str, int]], list[str]], length: int, side: str
) -> None:
    utterances, labels = dialogue
    before = uch(utterances, labels, patience=200)
    after = uch([*utterances, (side, length)], [*labels, "NAN"], patience=200)
    assert (before.uc, before.uh) == (after.uc, after.uh)


@given(st.lists(labelled(), min_size=1, max_size=5), st.floats(0, 1))
def test_a_collection_scores_as_its_dialogues_do(
    dialogues: list[tuple[list[tuple[str, int]], list[str]]], alpha: float
) -> None:
    held = [
        AnnotatedDialogue(str(i), u, {"ann": labels, "bob": ["NAN"] * len(u)})
        for i, (u, labels) in enumerate(dialogues)
    ]
    collection = build_collection(held)
    scores = collection.score(alpha=alpha)
    for i, (utterances, labels) in enumerate(dialogues):
        both = [labels, ["NAN"] * len(utterances)]
        expected = [f(utterances, both, patience=collection.patience, alpha=alpha) for f in (auch, cuch)]
        assert [scores.auch[i], scores.cuch[i]] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("utterances", "labels"),
    [([("customer", 1)], []), ([("robot", 1)], ["NAN"]), ([("customer", 1)], ["HNUG"])],
)
def test_labels_that_do_not_fit_are_refused(utterances: list[tuple[str, int]], labels: list[str]) -> None:
    with pytest.raises(ValueError, match=r"fit|side|nugget type"):
        find_nuggets(utterances, labels)
    with pytest.raises(ValueError, match="Dialogue d1"):
        build_collection([AnnotatedDialogue("d1", utterances, {"ann": labels})])


def test_patience_and_alpha_have_bounds() -> None:
    with pytest.raises(ValueError, match="patience"):
        uch(TALK, LABELS, patience=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        uch(TALK, LABELS, patience=1, alpha=2)


def test_empty_dialogues_and_unlabelled_ones_have_clear_scores() -> None:
    scores = build_collection(
        [AnnotatedDialogue("d1", [("customer", 0)], {"ann": ["CNUG"]}), AnnotatedDialogue("d2", [], {})]
    )
    assert (scores.score().auch, scores.score().cuch) == ((0.5, None), (0.5, None))
    assert build_collection([]).score().auch == ()


def test_sweeps_give_tau_at_every_point() -> None:
    dialogues = [
        AnnotatedDialogue(str(i), [("customer", 10), ("helpdesk", i)], {"ann": ["CNUG0", label]})
        for i, label in enumerate(["NAN", "HNUG", "HNUG*", "NAN", "HNUG"] * 6)
    ]
    collection = build_collection(dialogues)
    ratings = [0.0, 1.0, 1.0, 0.0, 1.0] * 6
    points = tau_against_alpha(collection, ratings, [0.0, 0.5, 1.0])
    assert points[0].tau.value is None  # customer's nuggets are the same everywhere
    assert points[1].tau.value == pytest.approx(1)
    assert [p.tau.n for p in tau_against_patience(collection, ratings, [10, 1000])] == [
        30,
        30,
    ]
