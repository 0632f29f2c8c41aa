"""What answers mean under a schema: which questions are shown, set or missing, and where two people differ.

Answers are {"dialogue": {question: value}, "utterances": {"3": {question: value}}}; unanswered questions are absent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from django.utils.translation import gettext as _

from annotation.labelling.schema.conditions import holds
from annotation.labelling.schema.fields import CONTROL, truncate
from annotation.labelling.schema.questions import AnswerValue, Kind, Question, QuestionSchema, Scope

Answers = dict[str, dict[str, Any]]
RawAnswers = Mapping[str, Any]  # by question, not checked yet
# A text answer of only these counts as unanswered; schema_rules.js has the same list.
BLANKS = " \t\r\n\u00a0\u3000"


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """path: "quality", or "3/nugget" for an utterance.

    code: missing, not_an_option, not_alone, not_a_number, not_text, unknown_question, unknown_utterance or malformed.
    """

    path: str
    code: str
    message: str


def is_shown(
    question: Question, answers: Mapping[str, Any], speaker: str | None = None, position: int | None = None
) -> bool:
    """Whether the question is shown under settled answers. position: of the utterance that the question is about."""
    return _is_shown(question, _visible_answers(answers, position), speaker)


def is_required(
    question: Question, answers: Mapping[str, Any], speaker: str | None = None, position: int | None = None
) -> bool:
    """Whether the question is shown and requires an answer."""
    given = _visible_answers(answers, position)
    return _is_shown(question, given, speaker) and _required(question, given, speaker)


def _visible_answers(answers: Mapping[str, Any], position: int | None) -> dict[str, Any]:
    own = answers.get("utterances", {}).get(str(position), {}) if position is not None else {}
    return {**answers.get("dialogue", {}), **own}


def _is_shown(question: Question, given: Mapping[str, Any], speaker: str | None) -> bool:
    if not question.is_for(speaker):
        return False
    return question.when is None or holds(question.when, given, speaker)


def _required(question: Question, given: Mapping[str, Any], speaker: str | None) -> bool:
    if isinstance(question.required, bool):
        return question.required
    return holds(question.required, given, speaker)


def check_answers(
    schema: QuestionSchema, answers: Any, speakers: Sequence[str], *, complete: bool
) -> tuple[Answers, list[AnswerProblem]]:
    """Settle answers and return them with the problems of what was sent.

    Drops answers to questions that are not shown, sets values implied by other answers, and orders lists.
    speakers: of the utterances, in order. complete: whether a missing required answer is a problem (not in a draft).
    """
    check = _AnswerCheck(complete)
    places = [str(position) for position in range(len(speakers))]
    dialogue, utterances = check.split(answers, frozenset(places))
    settled = check.settle(schema, Scope.DIALOGUE, dialogue, {}, None, "")
    result: Answers = {"dialogue": settled, "utterances": {}}
    if schema.of_scope(Scope.UTTERANCE):
        for place, speaker in zip(places, speakers, strict=True):
            sent = utterances.pop(place, {})
            own = check.settle(schema, Scope.UTTERANCE, sent, settled, speaker, f"{place}/")
            if own:
                result["utterances"][place] = own
    for place, sent in utterances.items():
        check.refuse_unknown(schema, Scope.UTTERANCE, sent, f"{place}/")
    return result, check.problems


@dataclass
class _AnswerCheck:
    complete: bool
    problems: list[AnswerProblem] = field(default_factory=list)

    def add(self, path: str, code: str, message: str) -> None:
        self.problems.append(AnswerProblem(path, code, message))

    def split(self, answers: Any, places: frozenset[str]) -> tuple[RawAnswers, dict[str, RawAnswers]]:
        if not isinstance(answers, Mapping) or set(answers) - {"dialogue", "utterances"}:
            self.add("", "malformed", _("Answers must be an object with “dialogue” and “utterances”."))
            return {}, {}
        dialogue, utterances = answers.get("dialogue", {}), answers.get("utterances", {})
        if not isinstance(dialogue, Mapping) or not isinstance(utterances, Mapping):
            self.add("", "malformed", _("Answers must be an object with “dialogue” and “utterances”."))
            return {}, {}
        return dialogue, dict(self._utterances(utterances, places))

    def _utterances(
        self, utterances: Mapping[Any, Any], places: frozenset[str]
    ) -> Iterator[tuple[str, RawAnswers]]:
        for place, sent in utterances.items():
            position = str(place)
            if position not in places:
                message = _("The dialogue has no utterance “%(position)s”.") % {
                    "position": truncate(position)
                }
                self.add(truncate(position), "unknown_utterance", message)
            elif not isinstance(sent, Mapping):
                self.add(position, "malformed", _("The answers of an utterance must be an object."))
            else:
                yield position, sent

    def settle(
        self,
        schema: QuestionSchema,
        scope: Scope,
        sent: RawAnswers,
        dialogue: Mapping[str, Any],
        speaker: str | None,
        prefix: str,
    ) -> dict[str, Any]:
        """Settle one scope, in the order of the schema. dialogue: its settled answers, for an utterance."""
        self.refuse_unknown(schema, scope, sent, prefix)
        given = dict(dialogue)
        settled: dict[str, Any] = {}
        for question in schema.questions_for(scope, speaker):
            if question.when is not None and not holds(question.when, given, speaker):
                continue
            value = self._value(question, sent, given, speaker, prefix)
            if value is not None:
                given[question.key] = settled[question.key] = value
        questions = schema.of_scope(scope)
        if self.complete:
            self._add_missing(questions, given, settled, speaker, prefix)
        return {question.key: settled[question.key] for question in questions if question.key in settled}

    def _value(
        self,
        question: Question,
        sent: RawAnswers,
        given: Mapping[str, Any],
        speaker: str | None,
        prefix: str,
    ) -> AnswerValue | None:
        for implied in question.sets:
            if holds(implied.when, given, speaker):
                return implied.value
        raw = sent.get(question.key)
        if raw is None:
            return None
        value, code = _check_value(question, raw)
        if code:
            named = _exclusive_in(question, raw) if code == "not_alone" else raw
            message = MESSAGES[code]() % {"value": truncate(named)}
            self.add(prefix + question.key, code, message)
        return value

    def _add_missing(
        self,
        questions: Sequence[Question],
        given: Mapping[str, Any],
        settled: Mapping[str, Any],
        speaker: str | None,
        prefix: str,
    ) -> None:
        known = {problem.path for problem in self.problems}
        for question in questions:
            path = prefix + question.key
            if question.key in settled or path in known:
                continue
            if _is_shown(question, given, speaker) and _required(question, given, speaker):
                self.add(path, "missing", _("This question has no answer yet."))

    def refuse_unknown(self, schema: QuestionSchema, scope: Scope, sent: RawAnswers, prefix: str) -> None:
        for key in sent:
            question = schema.by_key.get(key)
            if question is None or question.scope is not scope:
                message = _("There is no question “%(key)s” here.") % {"key": truncate(str(key))}
                self.add(prefix + truncate(str(key)), "unknown_question", message)


MESSAGES = {
    "not_an_option": lambda: _("“%(value)s” is not one of the options."),
    "not_alone": lambda: _("“%(value)s” cannot be combined with other options."),
    "not_a_number": lambda: _("“%(value)s” is not a whole number in the range of this slider."),
    "not_text": lambda: _("This text is too long or contains unreadable characters."),
}


def _check_value(question: Question, raw: Any) -> tuple[AnswerValue | None, str]:
    """The value in canonical form, or None, and the code of its problem or "".

    question: with only the options that are offered.
    """
    match question.kind:
        case Kind.TEXT:
            return _check_text(question, raw)
        case Kind.SLIDER:
            fits = type(raw) is int and question.min <= raw <= question.max
            return (raw, "") if fits else (None, "not_a_number")
        case Kind.CHOICES:
            return _check_list(question, raw)
        case _:
            return (raw, "") if question.offers(raw) else (None, "not_an_option")


def _check_text(question: Question, raw: Any) -> tuple[AnswerValue | None, str]:
    if not isinstance(raw, str) or len(raw) > question.max_length or CONTROL.search(raw):
        return None, "not_text"
    return (raw, "") if raw.strip(BLANKS) else (None, "")


def _check_list(question: Question, raw: Any) -> tuple[AnswerValue | None, str]:
    if not isinstance(raw, list) or not all(map(question.offers, raw)):
        return None, "not_an_option"
    chosen = [option for option in question.options if option.value in raw]
    held = [option.value for option in chosen if not option.alone or len(chosen) == 1]
    return held or None, "" if len(held) == len(chosen) else "not_alone"


def _exclusive_in(question: Question, values: Sequence[Any]) -> Any:
    return next(option.value for option in question.options if option.alone and option.value in values)


def compared_paths(schema: QuestionSchema, speakers: Sequence[str]) -> list[str]:
    """Every path on which people are compared in a dialogue with these speakers, whatever they answer."""
    compared = [question for question in schema.questions if question.agree]
    paths = [question.key for question in compared if question.scope is Scope.DIALOGUE]
    per_utterance = [question for question in compared if question.scope is Scope.UTTERANCE]
    for position, speaker in enumerate(speakers) if per_utterance else ():
        paths += [f"{position}/{question.key}" for question in per_utterance if question.is_for(speaker)]
    return paths


def differing_paths(schema: QuestionSchema, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """The compared paths on which two settled answers differ. An answer differs from no answer."""
    paths = []
    for question in schema.questions:
        if not question.agree:
            continue
        if question.scope is Scope.DIALOGUE:
            if a.get("dialogue", {}).get(question.key) != b.get("dialogue", {}).get(question.key):
                paths.append(question.key)
        else:
            paths += _differing_utterances(question.key, a.get("utterances", {}), b.get("utterances", {}))
    return paths


def count_differing_pairs(schema: QuestionSchema, answers: Sequence[Mapping[str, Any]]) -> int:
    """The sum of `differing_paths` over all pairs of people, counted path by path: 20 people are 190 pairs."""
    scopes = {
        Scope.DIALOGUE: [[person.get("dialogue", {}) for person in answers]],
        Scope.UTTERANCE: [
            [person.get("utterances", {}).get(place, {}) for person in answers]
            for place in {place for person in answers for place in person.get("utterances", {})}
        ],
    }
    return sum(
        a.get(question.key) != b.get(question.key)
        for question in schema.questions
        if question.agree
        for people in scopes[question.scope]
        for a, b in combinations(people, 2)
    )


def _differing_utterances(key: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    positions = sorted({*a, *b}, key=int)
    return [f"{at}/{key}" for at in positions if a.get(at, {}).get(key) != b.get(at, {}).get(key)]
