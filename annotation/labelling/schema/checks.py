"""What has to fit together in a schema: references, circles, and what only some kinds can have."""

from collections import Counter
from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from annotation.labelling.schema.conditions import Condition, Includes, OneOf, SpokenBy, leaves
from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.fields import brief, listed
from annotation.labelling.schema.questions import (
    WITH_OPTIONS,
    ImpliedAnswer,
    Kind,
    Question,
    Scope,
    in_dependency_order,
)


def check(questions: Sequence[Question], found: ProblemCollector) -> None:
    """Everything that cannot be seen in one field alone."""
    _refuse_same_keys(questions, found)
    by_key = {question.key: question for question in questions}
    for n, question in enumerate(questions):
        path: Path = ("questions", n)
        _check_kind(question, path, found)
        for implied_n, implied in enumerate(question.sets):
            _check_implied(question, implied, (*path, "sets", implied_n, "value"), found)
        for where, condition in _conditions(question):
            _check_condition(question, condition, (*path, *where), by_key, found)
    if not found.problems:
        _refuse_circles(questions, found)


def _refuse_same_keys(questions: Sequence[Question], found: ProblemCollector) -> None:
    seen = Counter[str]()
    for n, question in enumerate(questions):
        seen[question.key] += 1
        if seen[question.key] == 2:
            found.add(
                ("questions", n, "key"),
                _("Another question has the key “%(key)s” already.") % {"key": question.key},
                _("Give every question a key of its own."),
            )


def _check_kind(question: Question, path: Path, found: ProblemCollector) -> None:
    if question.min >= question.max:
        found.add((*path, "max"), _("The end is not above the start."), _("Choose max greater than min."))
    if question.runs and question.kind is not Kind.CHOICE:
        found.add(
            (*path, "runs"),
            _("Only a choice makes runs."),
            _("Leave “runs” out, or make it a choice."),
        )
    if question.sets and question.kind not in (Kind.CHOICE, Kind.SCALE, Kind.SLIDER):
        found.add(
            (*path, "sets"),
            _("The answer of this kind of question cannot be set."),
            _("Use a choice, scale or slider."),
        )
    if question.scope is Scope.DIALOGUE:
        for n, option in enumerate(question.options):
            if option.speakers:
                found.add(
                    (*path, "options", n, "speakers"),
                    _("A question about the whole dialogue has no speaker."),
                    _("Leave “speakers” out, or ask about utterances."),
                )


def _check_implied(question: Question, implied: ImpliedAnswer, path: Path, found: ProblemCollector) -> None:
    option = next((one for one in question.options if _same(one.value, implied.value)), None)
    if question.kind is Kind.SLIDER:
        if not _can_answer(question, implied.value):
            _refuse_answer(question, implied.value, path, found)
    elif option is None:
        _refuse_answer(question, implied.value, path, found)
    elif option.speakers and not set(question.speakers or ("\0",)) <= set(option.speakers):
        found.add(
            path,
            _("This option is not offered for every speaker that the question is asked of."),
            _("Set an option without speakers of its own."),
        )


def _conditions(question: Question) -> Iterator[tuple[Path, Condition]]:
    if question.when:
        yield ("when",), question.when
    if not isinstance(question.required, bool):
        yield ("required",), question.required
    for n, implied in enumerate(question.sets):
        yield ("sets", n, "when"), implied.when


def _check_condition(
    question: Question, condition: Condition, path: Path, by_key: dict[str, Question], found: ProblemCollector
) -> None:
    for leaf in leaves(condition):
        if isinstance(leaf, SpokenBy):
            _check_spoken(question, path, found)
        elif leaf.question == question.key:
            found.add(
                path, _("A question cannot depend on its own answer."), _("Name another question here.")
            )
        elif leaf.question not in by_key:
            found.add(
                path,
                _("There is no question “%(key)s”.") % {"key": leaf.question},
                _("Use one of: %(names)s.") % {"names": brief(listed(key for key in by_key))},
            )
        else:
            _check_reference(question, leaf, by_key[leaf.question], path, found)


def _check_spoken(question: Question, path: Path, found: ProblemCollector) -> None:
    if question.scope is Scope.DIALOGUE:
        found.add(
            path,
            _("A question about the whole dialogue has no speaker."),
            _("Use conditions on speakers in questions about utterances only."),
        )


def _check_reference(
    question: Question, leaf: OneOf | Includes, asked: Question, path: Path, found: ProblemCollector
) -> None:
    if question.scope is Scope.DIALOGUE and asked.scope is Scope.UTTERANCE:
        found.add(
            path,
            _("A question about the whole dialogue cannot depend on one about utterances."),
            _("Name a question about the dialogue."),
        )
    if asked.kind is Kind.TEXT:
        found.add(
            path,
            _("A condition cannot look at an answer in words."),
            _("Name a choice, scale or slider."),
        )
    elif isinstance(leaf, Includes) != (asked.kind is Kind.CHOICES):
        wanted = "includes" if asked.kind is Kind.CHOICES else "in"
        found.add(
            path,
            _("“%(key)s” cannot be asked about in this way.") % {"key": asked.key},
            _("Use “%(wanted)s” for it.") % {"wanted": wanted},
        )
    else:
        values = leaf.values if isinstance(leaf, OneOf) else (leaf.value,)
        for value in values:
            if not _can_answer(asked, value):
                _refuse_answer(asked, value, path, found)


def _can_answer(question: Question, value: int | str) -> bool:
    if question.kind in WITH_OPTIONS:
        return any(_same(option.value, value) for option in question.options)
    return isinstance(value, int) and question.min <= value <= question.max


def _same(one: int | str, other: int | str) -> bool:
    return type(one) is type(other) and one == other


def _refuse_answer(question: Question, value: int | str, path: Path, found: ProblemCollector) -> None:
    values = listed(option.value for option in question.options) or f"{question.min}–{question.max}"
    found.add(
        path,
        _("“%(value)s” is no answer of “%(key)s”.") % {"value": brief(value), "key": question.key},
        _("Its answers are: %(values)s.") % {"values": brief(values)},
    )


def _refuse_circles(questions: Sequence[Question], found: ProblemCollector) -> None:
    free = set(in_dependency_order(questions))
    stuck = {question.key: question for question in questions if question.key not in free}
    if not stuck:
        return
    circle = _circle(stuck)
    place = next(n for n, question in enumerate(questions) if question.key == circle[0])
    found.add(
        ("questions", place),
        _("These questions depend on each other in a circle: %(keys)s.")
        % {"keys": " → ".join([*circle, circle[0]])},
        _("Take one of the conditions away."),
    )


def _circle(stuck: dict[str, Question]) -> list[str]:
    """Going on to something that is stuck too must come round."""
    way: list[str] = []
    key = next(iter(stuck))
    while key not in way:
        way.append(key)
        key = min(stuck[key].value_references() & stuck.keys())
    return way[way.index(key) :]
