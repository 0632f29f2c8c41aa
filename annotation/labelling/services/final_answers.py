"""One set of answers out of several people's. Plain values in, plain values out."""

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
    """undecided: paths without a value, as "quality" or "3/nugget"; unanimous: nobody differed on a compared one."""

    answers: Answers
    undecided: list[str]
    unanimous: bool


def merge_agreeing(
    schema: QuestionSchema, compared: Sequence[str], answers: Sequence[Mapping[str, Any]]
) -> MergedAnswers:
    """Of people who agree on every compared path: that, and of the others what all say, or the union of several."""
    return vote_by_question(schema, compared, answers, Ties.TRAINER)


def unanimous_answers(compared: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> MergedAnswers:
    """Only what all say; undecided are the compared paths on which they differ."""
    result: Answers = {"dialogue": {}, "utterances": {}}
    undecided, counted = [], set(compared)
    for path in answered_paths(compared, answers):
        first, *others = [answer_at(one, path) for one in answers]
        if any(value != first for value in others):
            undecided += [path] if path in counted else []
        elif first is not None:
            set_answer(result, path, first)
    return MergedAnswers(result, undecided, not undecided)


def vote_by_question(
    schema: QuestionSchema, compared: Sequence[str], answers: Sequence[Mapping[str, Any]], ties: str
) -> MergedAnswers:
    """By path the value that more people gave than any other; without one the median, where ties say so."""
    result: Answers = {"dialogue": {}, "utterances": {}}
    undecided, unanimous = [], True
    counted = set(compared)
    for path in answered_paths(compared, answers):
        question = schema.by_key.get(path.rpartition("/")[2])
        if question is None:
            continue
        values = [answer_at(one, path) for one in answers]
        if path not in counted:
            value = _uncompared(question, values)
        else:
            unanimous = unanimous and all(value == values[0] for value in values)
            value, decided = _elected(question, values, ties)
            if not decided:
                undecided.append(path)
        if value is not None:
            set_answer(result, path, value)
    return MergedAnswers(result, undecided, unanimous)


def answered_paths(compared: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    """Every path that is compared or answered, in a stable order."""
    paths = dict.fromkeys(compared)
    for one in answers:
        paths |= dict.fromkeys(one["dialogue"])
        for place, given in one["utterances"].items():
            paths |= dict.fromkeys(f"{place}/{key}" for key in given)
    return paths


def _elected(question: Question, values: Sequence[Any], ties: str) -> tuple[Any, bool]:
    """The value and whether there is a decision; None may win: the question was not asked of most."""
    frozen = [tuple(value) if isinstance(value, list) else value for value in values]
    if all(value == frozen[0] for value in frozen):
        return values[0], True
    # None is a vote too, so it is wrapped: `majority` answers None for a tie.
    won = majority([(value,) for value in frozen])
    if won is not None:
        [value] = won
        return (list(value) if isinstance(value, tuple) else value), True
    if ties == Ties.MEDIAN and question.kind is Kind.SCALE:
        order = sorted(option.value for option in question.options)
        return median_vote([value for value in frozen if value is not None], order), True
    return None, False


def _uncompared(question: Question, values: Sequence[Any]) -> Any:
    given = [value for value in values if value is not None]
    if not given:
        return None
    if question.kind is Kind.CHOICES:
        chosen = {value for several in given for value in several}
        return [option.value for option in question.options if option.value in chosen]
    return given[0] if all(value == given[0] for value in values) else None
