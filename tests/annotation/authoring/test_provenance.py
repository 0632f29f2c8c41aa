"""The action is derived from the text."""

import pytest

from annotation.authoring.services.provenance import clean_text, derive_provenance
from common.refusals import Invalid
from dialogues.models import Action, CandidateSet

FIRST = CandidateSet(pk=1, candidates=[{"text": "I like cats."}, {"text": "Me too!"}])
SECOND = CandidateSet(pk=2, candidates=[{"text": "Dogs are fine."}])


def test_an_unchanged_candidate_is_selected() -> None:
    provenance = derive_provenance("Me too!", [FIRST], FIRST, 1)
    assert (provenance.action, provenance.source, provenance.edit_distance) == (Action.SELECT, 1, 0)


def test_a_candidate_typed_by_hand_is_selected() -> None:
    assert derive_provenance("Me too!", [FIRST], None, None).action == Action.SELECT


def test_a_text_edited_into_another_candidate_selects_that_candidate() -> None:
    provenance = derive_provenance("I like cats.", [FIRST], FIRST, 1)
    assert (provenance.action, provenance.source) == (Action.SELECT, 0)


def test_a_candidate_of_an_earlier_set_of_the_turn_can_be_selected() -> None:
    provenance = derive_provenance("I like cats.", [FIRST, SECOND], SECOND, 0)
    assert (provenance.action, provenance.candidate_set) == (Action.SELECT, FIRST)


def test_of_two_sets_with_the_same_text_the_picked_one_is_selected() -> None:
    again = CandidateSet(pk=4, candidates=[{"text": "Parrots talk."}, {"text": "I like cats."}])
    provenance = derive_provenance("I like cats.", [FIRST, again], again, 1)
    assert (provenance.candidate_set, provenance.source) == (again, 1)


def test_a_changed_candidate_is_revised_with_its_edit_distance() -> None:
    provenance = derive_provenance("I love cats.", [FIRST], FIRST, 0)
    assert (provenance.action, provenance.source, provenance.edit_distance) == (Action.REVISE, 0, 2)


def test_each_chinese_character_counts_one() -> None:
    candidate_set = CandidateSet(pk=3, candidates=[{"text": "吃毛球，你买个化毛膏给猫吃"}])
    provenance = derive_provenance("你买个化毛膏给猫吃就好啦，问题不大", [candidate_set], candidate_set, 0)
    assert (provenance.action, provenance.edit_distance) == (Action.REVISE, 12)


def test_an_own_text_is_rewritten() -> None:
    provenance = derive_provenance("Parrots!", [FIRST], None, None)
    assert (provenance.action, provenance.candidate_set, provenance.source) == (Action.REWRITE, FIRST, None)


def test_a_rewritten_turn_names_the_set_that_was_shown_last() -> None:
    assert derive_provenance("Parrots!", [FIRST, SECOND], None, None).candidate_set == SECOND


def test_an_opening_has_no_candidates() -> None:
    provenance = derive_provenance("Hello", [], None, None)
    assert (provenance.action, provenance.candidate_set) == (Action.REWRITE, None)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("\u200b", "empty"),
        ("\ufeff \u202e", "empty"),
        ("x" * 11, "too_long"),
        ("a\0b", "control_character"),
        ("a\x1bb", "control_character"),
    ],
)
def test_a_text_that_cannot_be_stored_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        clean_text(text, limit=10)
    assert refused.value.details["reason"] == reason
    assert str(refused.value.remedy)


@pytest.mark.parametrize("text", ["שלום عالم", "<script>", "家 🐈‍⬛", "two\nlines"])
def test_other_scripts_markup_and_line_breaks_are_kept(text: str) -> None:
    assert clean_text(f"  {text}\r\n", limit=50) == text
