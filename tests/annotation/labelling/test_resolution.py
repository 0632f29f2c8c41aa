"""From several people's answers to one: bounds, order, and what always holds, on generated answers."""

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
    options = [one for one in SCHEMA.by_key[key].options if not one.speakers or speaker in one.speakers]
    return st.sampled_from([one.value for one in options])


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"dialogue": {}, "utterances": {}}
    for path, value in flat.items():
        place, _slash, key = path.rpartition("/")
        scope = made["utterances"].setdefault(place, {}) if place else made["dialogue"]
        scope[key] = value
    return made


ANSWERS = st.fixed_dictionaries({path: values_at(path) for path in COMPARED}).map(nested)
PEOPLE = st.lists(ANSWERS, min_size=1, max_size=5)


def settled(answers: list[dict[str, Any]], resolution: Resolution, ties: Ties = Ties.TRAINER) -> Outcome:
    return resolve_answers(LabellingSettings(resolution=resolution, ties=ties), SCHEMA, COMPARED, answers)


@given(PEOPLE)
def test_generated_answers_are_answers(answers: list[dict[str, Any]]) -> None:
    for one in answers:
        assert check_answers(SCHEMA, one, SPEAKERS, complete=True) == (one, [])


@given(PEOPLE)
def test_disagreement_is_a_share_and_none_for_one_person(answers: list[dict[str, Any]]) -> None:
    apart = disagreement_share(SCHEMA, answers, len(COMPARED))
    assert apart is None if len(answers) == 1 else apart is not None and 0 <= apart <= 1


@given(PEOPLE)
def test_disagreement_counts_the_differences_of_every_pair(answers: list[dict[str, Any]]) -> None:
    sparse = [*answers, {"dialogue": {}, "utterances": {}}]
    found = [len(differing_paths(SCHEMA, one, other)) for one, other in combinations(sparse, 2)]
    assert count_differing_pairs(SCHEMA, sparse) == sum(found)
    assert disagreement_share(SCHEMA, sparse, len(COMPARED)) == sum(found) / (len(found) * len(COMPARED))


@given(st.lists(ANSWERS, min_size=2, max_size=3))
def test_the_order_of_people_changes_nothing(answers: list[dict[str, Any]]) -> None:
    for resolution in (Resolution.AGREEMENT, Resolution.MAJORITY):
        outcomes = [settled(list(order), resolution) for order in permutations(answers)]
        assert all(one == outcomes[0] for one in outcomes)


@given(ANSWERS, st.integers(2, 5), st.sampled_from(Resolution))
def test_equal_answers_are_the_final_ones(
    answers: dict[str, Any], people: int, resolution: Resolution
) -> None:
    outcome = settled([answers] * people, resolution)
    assert outcome.final is not None
    assert (outcome.final.answers, outcome.disagreement) == (answers, 0)
    if resolution != Resolution.COLLECT:
        assert outcome.origin == LabelOrigin.UNANIMOUS


@given(st.lists(ANSWERS, min_size=2, max_size=5))
def test_agreement_is_final_only_where_nobody_differs(answers: list[dict[str, Any]]) -> None:
    outcome = settled(answers, Resolution.AGREEMENT)
    differ = any(differing_paths(SCHEMA, one, other) for one, other in combinations(answers, 2))
    assert outcome.state == (TaskState.CONFIRMING if differ else TaskState.FINAL)
    assert (outcome.final is None) == differ


@given(PEOPLE)
def test_a_majority_is_what_more_people_gave_than_anything_else(answers: list[dict[str, Any]]) -> None:
    outcome = settled(answers, Resolution.MAJORITY)
    tied = []
    for path in COMPARED:
        given_values = [answer_at(one, path) for one in answers]
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
def test_medians_leave_no_scale_undecided(answers: list[dict[str, Any]]) -> None:
    outcome = settled([{**one, "utterances": {}} for one in answers], Resolution.MAJORITY, Ties.MEDIAN)
    assert outcome.final is not None
    for path in ("A", "S", "E"):
        value = outcome.final.answers["dialogue"][path]
        low, high = (f(one["dialogue"][path] for one in answers) for f in (min, max))
        assert low <= value <= high


@given(ANSWERS)
def test_one_person_alone_is_said_to_be_one(answers: dict[str, Any]) -> None:
    for resolution in (Resolution.AGREEMENT, Resolution.MAJORITY):
        assert settled([answers], resolution).origin == LabelOrigin.SINGLE


@given(PEOPLE)
def test_a_decision_begins_with_what_all_say_and_nothing_else(answers: list[dict[str, Any]]) -> None:
    begins = propose_decision(LabellingSettings(resolution=Resolution.AGREEMENT), SCHEMA, SPEAKERS, answers)
    for path in COMPARED:
        values = [answer_at(one, path) for one in answers]
        agreed = all(value == values[0] for value in values)
        assert answer_at(begins.answers, path) == (values[0] if agreed else None)
        assert (path in begins.undecided) is not agreed


@given(st.lists(ANSWERS, min_size=2, max_size=5))
def test_where_majorities_count_a_decision_begins_with_theirs(answers: list[dict[str, Any]]) -> None:
    settings = LabellingSettings(resolution=Resolution.MAJORITY, ties=Ties.TRAINER)
    begins = propose_decision(settings, SCHEMA, SPEAKERS, answers)
    for path in COMPARED:
        values = [answer_at(one, path) for one in answers]
        counts = sorted((values.count(value) for value in set(values)), reverse=True)
        tied = len(counts) > 1 and counts[0] == counts[1]
        assert (path in begins.undecided) is tied
        assert tied or values.count(answer_at(begins.answers, path)) == counts[0]


def test_a_decision_forgets_answers_that_no_longer_fit() -> None:
    given = {"dialogue": {"A": 99, "gone": 1}, "utterances": {}}
    begins = propose_decision(
        LabellingSettings(resolution=Resolution.AGREEMENT), SCHEMA, SPEAKERS, [given, given]
    )
    assert begins.answers == {"dialogue": {}, "utterances": {}}
