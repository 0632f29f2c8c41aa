"""The labels of a dialogue in words: for the dialogue, for each utterance, and for each person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission, Ties
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.schema.questions import (
    BilingualText,
    Nugget,
    Option,
    Question,
    QuestionSchema,
    Scope,
)
from annotation.labelling.selectors.dialogue_labels import DialogueLabels, PersonAnswers
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.services.final_answers import answered_paths

MAX_CHANGES = 12  # of a revision
COLOURS = 6
# The same classes as in static/js/labelling/questions/slot_view.js.
ROLE_COLOURS = {Nugget.TRIGGER: "c4", Nugget.REGULAR: "c1", Nugget.GOAL: "c3"}

Places = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class QuestionLabel:
    """final: the label in words; empty before that. spread: who answered what, if people differ:
    [(words, number of people, their names)], the most frequent first.
    """

    question: str
    final: str
    spread: list[tuple[str, int, str]]
    is_undecided: bool


@dataclass(frozen=True, slots=True)
class UtteranceLabels:
    """nugget: the label of the question whose runs are drawn as brackets. piece, colour: of the bracket."""

    rows: list[QuestionLabel]
    nugget: QuestionLabel | None
    piece: str
    colour: str

    @property
    def differs(self) -> bool:
        return any(row.spread for row in (*self.rows, *([self.nugget] if self.nugget else [])))


@dataclass(frozen=True, slots=True)
class Change:
    question: str
    position: int | None
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Revision:
    """changes: what the next revision changed. more: how many changes are not listed."""

    submission: Submission
    changes: list[Change]
    more: int


@dataclass(frozen=True, slots=True)
class PersonLabels:
    who: str
    is_own: bool
    submission: Submission
    answers: list[tuple[str, str]]
    utterances: int
    earlier: list[Revision]


def in_language(text: BilingualText) -> str:
    return text.zh if (get_language() or "").startswith("zh") else text.en


def answer_in_words(question: Question, value: Any) -> str:
    """An answer as the annotator reads it; the value itself if it is not an option."""
    if value is None:
        return _("not answered")
    names = {repr(option.value): in_language(option.text) for option in question.options}
    values = value if isinstance(value, list) else [value]
    return ", ".join(names.get(repr(one), str(one)) for one in values)


def describe_origin(final: FinalLabel, labels: DialogueLabels) -> str:
    """How the final label came about."""
    if final.origin == LabelOrigin.DECIDED:
        trainer = labels.names_people and final.decided_by
        return (
            _("Decided by %(name)s") % {"name": trainer.shown_name} if trainer else _("Decided by a trainer")
        )
    if final.machine:
        return _("Label of the model %(name)s, not of a person") % {"name": final.machine["model"]}
    words = {
        LabelOrigin.SINGLE: _("One person's answers"),
        LabelOrigin.UNANIMOUS: _("Everybody agreed"),
        LabelOrigin.CONFIRMED: _("Agreed after seeing each other's answers"),
        LabelOrigin.MAJORITY: _describe_majority(labels),
        LabelOrigin.COLLECTED: _("Every answer is kept; the label is what most said"),
    }
    origin = words.get(LabelOrigin(final.origin), final.get_origin_display())
    return _("Imported: %(how)s") % {"how": origin} if labels.is_imported else origin


def _describe_majority(labels: DialogueLabels) -> str:
    settings = labels.task.project.labelling
    if settings.ties == Ties.MEDIAN and labels.task.overlap % 2 == 0:
        return _("The majority; the middle answer where votes were tied")
    return _("The majority")


def name_of(person: PersonAnswers) -> str:
    if person.is_own:
        return _("You")
    return person.name or _("Annotator %(n)d") % {"n": person.number}


class LabelsInWords:
    """The labels that one reader may see, in words."""

    def __init__(self, labels: DialogueLabels, schema: QuestionSchema) -> None:
        self.labels, self.schema = labels, schema
        self.final: Places = labels.final.answers if labels.final else {"dialogue": {}, "utterances": {}}
        self.undecided = frozenset(labels.final.undecided) if labels.final else frozenset()
        self.runs = next((one for one in schema.of_scope(Scope.UTTERANCE) if one.runs), None)

    def for_dialogue(self) -> list[QuestionLabel]:
        rows = (self._question_label(one, one.key) for one in self.schema.of_scope(Scope.DIALOGUE))
        return [row for row in rows if row]

    def for_utterance(self, position: int, speakers: Sequence[str]) -> UtteranceLabels | None:
        """None if nobody answered anything. speakers: of all utterances."""
        asked = self.schema.of_scope(Scope.UTTERANCE)
        found = {one.key: self._question_label(one, f"{position}/{one.key}") for one in asked}
        nugget = found.pop(self.runs.key, None) if self.runs else None
        rows = [row for row in found.values() if row]
        if not rows and not nugget:
            return None
        return UtteranceLabels(rows, nugget, *self._bracket(position, speakers))

    def positions_with_differences(self) -> list[int]:
        given = [one.now.answers for one in self.labels.people]
        known = self.schema.by_key
        paths = answered_paths([], given) if len(given) > 1 else {}
        places = {
            int(path.partition("/")[0])
            for path in paths
            if "/" in path
            and path.rpartition("/")[2] in known
            and _differ([answer_at(one, path) for one in given])
        }
        return sorted(places)

    def people(self) -> list[PersonLabels]:
        return [_label_of_person(person) for person in self.labels.people]

    def _question_label(self, question: Question, path: str) -> QuestionLabel | None:
        values = [answer_at(one.now.answers, path) for one in self.labels.people]
        final = answer_at(self.final, path)
        is_undecided = path in self.undecided
        if final is None and not is_undecided and all(value is None for value in values):
            return None
        # Before there is a final label, show what everybody answered.
        shown = final if self.labels.final or _differ(values) else values[0] if values else None
        spread = self._spread(question, values) if _differ(values) else []
        return QuestionLabel(
            in_language(question.text),
            "" if shown is None else answer_in_words(question, shown),
            spread,
            is_undecided,
        )

    def _spread(self, question: Question, values: Sequence[Any]) -> list[tuple[str, int, str]]:
        names: dict[str, list[str]] = {}
        for person, value in zip(self.labels.people, values, strict=True):
            names.setdefault(answer_in_words(question, value), []).append(name_of(person))
        ordered = sorted(names.items(), key=lambda item: -len(item[1]))
        return [(words, len(who), ", ".join(who)) for words, who in ordered]

    def _bracket(self, position: int, speakers: Sequence[str]) -> tuple[str, str]:
        """The piece of the bracket and its colour; both empty if the utterance is not a nugget or not agreed on."""
        if self.runs is None:
            return "", ""
        options = self.runs.options_for(speakers[position])
        option = next((one for one in options if one.value == self._run_at(position)), None)
        if option is None or option.nugget is Nugget.NONE:
            return "", ""
        return _bracket_piece(self._run_at, speakers, position), _colour(options, option)

    def _run_at(self, position: int) -> Any:
        """The label that the brackets show: the final one, or else what everybody answered."""
        path = f"{position}/{self.runs.key}" if self.runs else ""
        if self.labels.final:
            return answer_at(self.final, path)
        values = [answer_at(one.now.answers, path) for one in self.labels.people]
        return values[0] if values and not _differ(values) else None


def _label_of_person(person: PersonAnswers) -> PersonLabels:
    schema = load_schema(person.now.schema)
    given = person.now.answers["dialogue"]
    answers = [
        (in_language(question.text), answer_in_words(question, given[question.key]))
        for question in schema.of_scope(Scope.DIALOGUE)
        if question.key in given
    ]
    newer = [person.now, *person.earlier]
    earlier = [_revision(row, newer[n]) for n, row in enumerate(person.earlier)]
    utterances = len(person.now.answers["utterances"])
    return PersonLabels(name_of(person), person.is_own, person.now, answers, utterances, earlier)


def _differ(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values[1:])


def _bracket_piece(label_at: Callable[[int], Any], speakers: Sequence[str], position: int) -> str:
    """Which piece of a bracket belongs at a position. pieceAt in questions/answer_sheet.js does the same."""

    def is_same_run(other: int) -> bool:
        is_same_speaker = 0 <= other < len(speakers) and speakers[other] == speakers[position]
        return bool(is_same_speaker and label_at(other) == label_at(position))

    above, below = is_same_run(position - 1), is_same_run(position + 1)
    if above and below:
        return "inner"
    return "last" if above else "first" if below else "only"


def _colour(options: Sequence[Option], option: Option) -> str:
    return ROLE_COLOURS.get(option.nugget, "") if option.nugget else f"c{options.index(option) % COLOURS + 1}"


def _revision(row: Submission, newer: Submission) -> Revision:
    """A revision with what the next one changed."""
    questions = load_schema(row.schema).by_key
    changes = []
    for path in answered_paths([], [row.answers, newer.answers]):
        place, _slash, key = path.rpartition("/")
        before, after = answer_at(row.answers, path), answer_at(newer.answers, path)
        question = questions.get(key)
        if before != after and question:
            words = (answer_in_words(question, before), answer_in_words(question, after))
            changes.append(Change(in_language(question.text), int(place) + 1 if place else None, *words))
    return Revision(row, changes[:MAX_CHANGES], max(0, len(changes) - MAX_CHANGES))
