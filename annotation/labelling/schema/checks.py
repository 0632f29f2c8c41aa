"""Checks across the fields of a schema: references, cycles, and settings that only some kinds can have."""

from collections import Counter
from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from annotation.labelling.schema.conditions import Condition, Includes, OneOf, SpokenBy, leaves
from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.fields import join_names, truncate
from annotation.labelling.schema.questions import (
    WITH_OPTIONS,
    ImpliedAnswer,
    Kind,
    Question,
    Scope,
    in_dependency_order,
)


def check(questions: Sequence[Question], problems: ProblemCollector) -> None:
    """Check everything that cannot be seen in a single field."""
    _refuse_duplicate_keys(questions, problems)
    by_key = {question.key: question for question in questions}
    for n, question in enumerate(questions):
        path: Path = ("questions", n)
        _check_kind(question, path, problems)
        for implied_n, implied in enumerate(question.sets):
            _check_implied(question, implied, (*path, "sets", implied_n, "value"), problems)
        for where, condition in _conditions(question):
            _check_condition(question, condition, (*path, *where), by_key, problems)
    if not problems.found:
        _refuse_cycles(questions, problems)


def _refuse_duplicate_keys(questions: Sequence[Question], problems: ProblemCollector) -> None:
    seen = Counter[str]()
    for n, question in enumerate(questions):
        seen[question.key] += 1
        if seen[question.key] == 2:
            problems.add(
                ("questions", n, "key"),
                _("Another question already has the key “%(key)s”.") % {"key": question.key},
                _("Give every question a key of its own."),
            )


def _check_kind(question: Question, path: Path, problems: ProblemCollector) -> None:
    if question.min >= question.max:
        problems.add((*path, "max"), _("The end is not above the start."), _("Choose max greater than min."))
    if question.runs and question.kind is not Kind.CHOICE:
        problems.add(
            (*path, "runs"),
            _("Only a choice can have runs."),
            _("Leave “runs” out, or make it a choice."),
        )
    if question.sets and question.kind not in (Kind.CHOICE, Kind.SCALE, Kind.SLIDER):
        problems.add(
            (*path, "sets"),
            _("The answer of this kind of question cannot be set."),
            _("Use a choice, scale or slider."),
        )
    for n, option in enumerate(question.options):
        if option.alone and question.kind is not Kind.CHOICES:
            problems.add(
                (*path, "options", n, "alone"),
                _("Only one option can be chosen here anyway."),
                _("Leave “alone” out, or let people choose several options."),
            )
    if question.scope is Scope.DIALOGUE:
        for n, option in enumerate(question.options):
            if option.speakers:
                problems.add(
                    (*path, "options", n, "speakers"),
                    _("A question about the whole dialogue has no speaker."),
                    _("Leave “speakers” out, or ask about utterances."),
                )


def _check_implied(
    question: Question, implied: ImpliedAnswer, path: Path, problems: ProblemCollector
) -> None:
    option = next((option for option in question.options if _same(option.value, implied.value)), None)
    if question.kind is Kind.SLIDER:
        if not _can_answer(question, implied.value):
            _refuse_answer(question, implied.value, path, problems)
    elif option is None:
        _refuse_answer(question, implied.value, path, problems)
    elif option.speakers and not set(question.speakers or ("\0",)) <= set(option.speakers):
        problems.add(
            path,
            _("This option is not offered for every speaker whom the question is about."),
            _("Choose an option that is not limited to certain speakers."),
        )


def _conditions(question: Question) -> Iterator[tuple[Path, Condition]]:
    if question.when:
        yield ("when",), question.when
    if not isinstance(question.required, bool):
        yield ("required",), question.required
    for n, implied in enumerate(question.sets):
        yield ("sets", n, "when"), implied.when


def _check_condition(
    question: Question,
    condition: Condition,
    path: Path,
    by_key: dict[str, Question],
    problems: ProblemCollector,
) -> None:
    for leaf in leaves(condition):
        if isinstance(leaf, SpokenBy):
            _check_speaker_condition(question, path, problems)
        elif leaf.question == question.key:
            problems.add(
                path, _("A question cannot depend on its own answer."), _("Name another question here.")
            )
        elif leaf.question not in by_key:
            problems.add(
                path,
                _("There is no question “%(key)s”.") % {"key": leaf.question},
                _("Use one of: %(names)s.") % {"names": truncate(join_names(key for key in by_key))},
            )
        else:
            _check_reference(question, leaf, by_key[leaf.question], path, problems)


def _check_speaker_condition(question: Question, path: Path, problems: ProblemCollector) -> None:
    if question.scope is Scope.DIALOGUE:
        problems.add(
            path,
            _("A question about the whole dialogue has no speaker."),
            _("Use conditions on speakers in questions about utterances only."),
        )


def _check_reference(
    question: Question, leaf: OneOf | Includes, referenced: Question, path: Path, problems: ProblemCollector
) -> None:
    if question.scope is Scope.DIALOGUE and referenced.scope is Scope.UTTERANCE:
        problems.add(
            path,
            _("A question about the whole dialogue cannot depend on one about utterances."),
            _("Name a question about the dialogue."),
        )
    if referenced.kind is Kind.TEXT:
        problems.add(
            path,
            _("A condition cannot refer to a text answer."),
            _("Name a choice, scale or slider."),
        )
    elif isinstance(leaf, Includes) != (referenced.kind is Kind.CHOICES):
        operator = "includes" if referenced.kind is Kind.CHOICES else "in"
        problems.add(
            path,
            _("This condition does not fit the answers to “%(key)s”.") % {"key": referenced.key},
            _("Write “%(wanted)s” in the condition instead.") % {"wanted": operator},
        )
    else:
        values = leaf.values if isinstance(leaf, OneOf) else (leaf.value,)
        for value in values:
            if not _can_answer(referenced, value):
                _refuse_answer(referenced, value, path, problems)


def _can_answer(question: Question, value: int | str) -> bool:
    if question.kind in WITH_OPTIONS:
        return any(_same(option.value, value) for option in question.options)
    return isinstance(value, int) and question.min <= value <= question.max


def _same(a: int | str, b: int | str) -> bool:
    return type(a) is type(b) and a == b


def _refuse_answer(question: Question, value: int | str, path: Path, problems: ProblemCollector) -> None:
    values = join_names(option.value for option in question.options) or f"{question.min}–{question.max}"
    problems.add(
        path,
        _("“%(value)s” is not an answer to “%(key)s”.") % {"value": truncate(value), "key": question.key},
        _("Its answers are: %(values)s.") % {"values": truncate(values)},
    )


def _refuse_cycles(questions: Sequence[Question], problems: ProblemCollector) -> None:
    ordered = set(in_dependency_order(questions))
    stuck = {question.key: question for question in questions if question.key not in ordered}
    if not stuck:
        return
    cycle = _find_cycle(stuck)
    place = next(n for n, question in enumerate(questions) if question.key == cycle[0])
    problems.add(
        ("questions", place),
        _("These questions depend on each other in a circle: %(keys)s.")
        % {"keys": " → ".join([*cycle, cycle[0]])},
        _("Remove one of the conditions."),
    )


def _find_cycle(stuck: dict[str, Question]) -> list[str]:
    """One cycle. Every stuck question refers to another stuck one, so following references must return to a key."""
    visited: list[str] = []
    key = next(iter(stuck))
    while key not in visited:
        visited.append(key)
        key = min(stuck[key].value_references() & stuck.keys())
    return visited[visited.index(key) :]
