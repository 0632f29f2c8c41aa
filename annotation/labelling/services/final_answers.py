"""Merges several people's answers into one set. Plain values in, plain values out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.labelling.models.labels import Ties
from annotation.labelling.schema.answers import Answers
from annotation.labelling.schema.paths import answer_at, set_answer
from annotation.labelling.schema.questions import Kind, Question, QuestionSchema
from measures.voting import majority, median_vote


@dataclass(frozen=True, slots=True)
class MergedAnswers:
    """undecided: paths without a value, as "quality" or "3/nugget". unanimous: nobody differed on a compared path."""

    answers: Answers
    undecided: list[str]
    unanimous: bool


def merge_agreeing(
    schema: QuestionSchema, compared: Sequence[str], answers: Sequence[Mapping[str, Any]]
) -> MergedAnswers:
    """Merge the answers of people who agree on every compared path.

    On the other paths, keeps what everybody answered, or the union of multiple choices.
    """
    return vote_by_question(schema, compared, answers, Ties.TRAINER)


def unanimous_answers(compared: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> MergedAnswers:
    """Keep only what everybody answered; the compared paths on which they differ are undecided."""
    result: Answers = {"dialogue": {}, "utterances": {}}
    undecided, compared_set = [], set(compared)
    for path in answered_paths(compared, answers):
        first, *others = [answer_at(person, path) for person in answers]
        if any(value != first for value in others):
            undecided += [path] if path in compared_set else []
        elif first is not None:
            set_answer(result, path, first)
    return MergedAnswers(result, undecided, not undecided)


def vote_by_question(
    schema: QuestionSchema, compared: Sequence[str], answers: Sequence[Mapping[str, Any]], ties: str
) -> MergedAnswers:
    """Elect, by path, the value that more people gave than any other. ties: whether a tie becomes the median."""
    result: Answers = {"dialogue": {}, "utterances": {}}
    undecided, unanimous = [], True
    compared_set = set(compared)
    for path in answered_paths(compared, answers):
        question = schema.by_key.get(path.rpartition("/")[2])
        if question is None:
            continue
        values = [answer_at(person, path) for person in answers]
        if path not in compared_set:
            value = _merge_uncompared(question, values)
        else:
            unanimous = unanimous and all(value == values[0] for value in values)
            value, decided = _elect(question, values, ties)
            if not decided:
                undecided.append(path)
        if value is not None:
            set_answer(result, path, value)
    return MergedAnswers(result, undecided, unanimous)


def answered_paths(compared: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    """Every path that is compared or answered, in a stable order."""
    paths = dict.fromkeys(compared)
    for person in answers:
        paths |= dict.fromkeys(person["dialogue"])
        for place, values in person["utterances"].items():
            paths |= dict.fromkeys(f"{place}/{key}" for key in values)
    return paths


def _elect(question: Question, values: Sequence[Any], ties: str) -> tuple[Any, bool]:
    """The elected value and whether there is one. None can win: most people were not asked the question."""
    frozen = [tuple(value) if isinstance(value, list) else value for value in values]
    if all(value == frozen[0] for value in frozen):
        return values[0], True
    # None is a vote too, so it is wrapped: `majority` returns None for a tie.
    winner = majority([(value,) for value in frozen])
    if winner is not None:
        [value] = winner
        return (list(value) if isinstance(value, tuple) else value), True
    if ties == Ties.MEDIAN and question.kind is Kind.SCALE:
        order = sorted(option.value for option in question.options)
        return median_vote([value for value in frozen if value is not None], order), True
    return None, False


def _merge_uncompared(question: Question, values: Sequence[Any]) -> Any:
    given = [value for value in values if value is not None]
    if not given:
        return None
    if question.kind is Kind.CHOICES:
        chosen = {value for choices in given for value in choices}
        return [option.value for option in question.options if option.value in chosen]
    return given[0] if all(value == given[0] for value in values) else None
