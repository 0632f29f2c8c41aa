"""Merging several people's answers: bounds, order and invariants, on generated answers."""

from itertools import combinations, permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from annotation.labelling.models.labels import LabellingSettings, LabelOrigin, Resolution, Ties
from annotation.labelling.schema.answers import (
    check_answers,
    compared_paths,
    count_differing_pairs,
    differing_paths,
)
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.services.final_answers import merge_agreeing
from annotation.labelling.services.resolution import (
    Outcome,
    disagreement_share,
    propose_decision,
    resolve_answers,
)
from annotation.project_setup.presets.registry import PRESETS
from annotation.tasks.models.work import TaskState

SPEAKERS = ["customer", "helpdesk", "customer"]
CONTENT = PRESETS["dialeval"].schema
assert CONTENT is not None
SCHEMA = read_schema(CONTENT)
COMPARED = compared_paths(SCHEMA, SPEAKERS)


def values_at(path: str) -> st.SearchStrategy[Any]:
    place, _slash, key = path.rpartition("/")
    speaker = SPEAKERS[int(place)] if place else ""
    options = [
        option for option in SCHEMA.by_key[key].options if not option.speakers or speaker in option.speakers
    ]
    return st.sampled_from([option.value for option in options])


def unflatten(flat: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {"dialogue": {}, "utterances": {}}
    for path, value in flat.items():
        place, _slash, key = path.rpartition("/")
        scope = answers["utterances"].setdefault(place, {}) if place else answers["dialogue"]
        scope[key] = value
    return answers


ANSWERS = st.fixed_dictionaries({path: values_at(path) for path in COMPARED}).map(unflatten)
PEOPLE = st.lists(ANSWERS, min_size=1, max_size=5)


def resolve(answers: list[dict[str, Any]], resolution: Resolution, ties: Ties = Ties.TRAINER) -> Outcome:
    return resolve_answers(LabellingSettings(resolution=resolution, ties=ties), SCHEMA, COMPARED, answers)


@given(PEOPLE)
def test_generated_answers_are_valid(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        assert check_answers(SCHEMA, answer, SPEAKERS, complete=True) == (answer, [])


@given(PEOPLE)
def test_disagreement_is_a_share_and_none_for_one_person(answers: list[dict[str, Any]]) -> None:
    share = disagreement_share(SCHEMA, answers, len(COMPARED))
    assert share is None if len(answers) == 1 else share is not None and 0 <= share <= 1


@given(PEOPLE)
def test_disagreement_counts_the_differences_of_every_pair(answers: list[dict[str, Any]]) -> None:
    sparse = [*answers, {"dialogue": {}, "utterances": {}}]
    differences = [len(differing_paths(SCHEMA, mine, theirs)) for mine, theirs in combinations(sparse, 2)]
    assert count_differing_pairs(SCHEMA, sparse) == sum(differences)
    assert disagreement_share(SCHEMA, sparse, len(COMPARED)) == sum(differences) / (
        len(differences) * len(COMPARED)
    )


@given(st.lists(ANSWERS, min_size=2, max_size=3))
def test_the_order_of_people_does_not_matter(answers: list[dict[str, Any]]) -> None:
    for resolution in (Resolution.AGREEMENT, Resolution.MAJORITY):
        outcomes = [resolve(list(order), resolution) for order in permutations(answers)]
        assert all(outcome == outcomes[0] for outcome in outcomes)


@given(ANSWERS, st.integers(2, 5), st.sampled_from(Resolution))
def test_equal_answers_become_final(answers: dict[str, Any], people: int, resolution: Resolution) -> None:
    outcome = resolve([answers] * people, resolution)
    assert outcome.final is not None
    assert (outcome.final.answers, outcome.disagreement) == (answers, 0)
    if resolution != Resolution.COLLECT:
        assert outcome.origin == LabelOrigin.UNANIMOUS


@given(st.lists(ANSWERS, min_size=2, max_size=5))
def test_agreement_is_final_only_if_nobody_differs(answers: list[dict[str, Any]]) -> None:
    outcome = resolve(answers, Resolution.AGREEMENT)
    differ = any(differing_paths(SCHEMA, mine, theirs) for mine, theirs in combinations(answers, 2))
    assert outcome.state == (TaskState.CONFIRMING if differ else TaskState.FINAL)
    assert (outcome.final is None) == differ


@given(PEOPLE)
def test_a_majority_value_has_more_votes_than_any_other(answers: list[dict[str, Any]]) -> None:
    outcome = resolve(answers, Resolution.MAJORITY)
    tied = []
    for path in COMPARED:
        given_values = [answer_at(answer, path) for answer in answers]
        counts = sorted(
            ((given_values.count(value), value) for value in set(given_values)), key=lambda c: -c[0]
        )
        if len(counts) > 1 and counts[0][0] == counts[1][0]:
            tied.append(path)
        elif outcome.final is not None:
            assert answer_at(outcome.final.answers, path) == counts[0][1]
    assert (outcome.final is None) == bool(tied)
    assert outcome.state == (TaskState.DISPUTED if tied else TaskState.FINAL)


@given(PEOPLE)
def test_the_median_decides_every_scale(answers: list[dict[str, Any]]) -> None:
    outcome = resolve([{**answer, "utterances": {}} for answer in answers], Resolution.MAJORITY, Ties.MEDIAN)
    assert outcome.final is not None
    for path in ("A", "S", "E"):
        value = outcome.final.answers["dialogue"][path]
        low, high = (f(answer["dialogue"][path] for answer in answers) for f in (min, max))
        assert low <= value <= high


@given(ANSWERS)
def test_one_persons_answers_have_the_origin_single(answers: dict[str, Any]) -> None:
    for resolution in (Resolution.AGREEMENT, Resolution.MAJORITY):
        assert resolve([answers], resolution).origin == LabelOrigin.SINGLE


@given(PEOPLE)
def test_a_proposal_contains_only_what_everybody_answered(answers: list[dict[str, Any]]) -> None:
    proposal = propose_decision(LabellingSettings(resolution=Resolution.AGREEMENT), SCHEMA, SPEAKERS, answers)
    for path in COMPARED:
        values = [answer_at(answer, path) for answer in answers]
        agreed = all(value == values[0] for value in values)
        assert answer_at(proposal.answers, path) == (values[0] if agreed else None)
        assert (path in proposal.undecided) is not agreed


@given(st.lists(ANSWERS, min_size=2, max_size=5))
def test_a_proposal_contains_majorities_if_the_project_uses_them(answers: list[dict[str, Any]]) -> None:
    settings = LabellingSettings(resolution=Resolution.MAJORITY, ties=Ties.TRAINER)
    proposal = propose_decision(settings, SCHEMA, SPEAKERS, answers)
    for path in COMPARED:
        values = [answer_at(answer, path) for answer in answers]
        counts = sorted((values.count(value) for value in set(values)), reverse=True)
        tied = len(counts) > 1 and counts[0] == counts[1]
        assert (path in proposal.undecided) is tied
        assert tied or values.count(answer_at(proposal.answers, path)) == counts[0]


def test_of_a_question_that_is_not_compared_only_what_everybody_answered_is_final() -> None:
    """A is the first question of the preset; nobody is compared on anything here."""

    def final(*given: int | None) -> dict[str, Any]:
        people = [unflatten({} if value is None else {"A": value}) for value in given]
        return merge_agreeing(SCHEMA, [], people).answers["dialogue"]

    assert final(2, 2) == {"A": 2}
    assert final(2, 1) == {}
    assert final(2, None) == {}


def test_a_proposal_drops_answers_that_no_longer_fit() -> None:
    answers = {"dialogue": {"A": 99, "gone": 1}, "utterances": {}}
    proposal = propose_decision(
        LabellingSettings(resolution=Resolution.AGREEMENT), SCHEMA, SPEAKERS, [answers, answers]
    )
    assert proposal.answers == {"dialogue": {}, "utterances": {}}
