"""A dialogue's labels in words: beside the dialogue, beside each utterance, and person by person."""

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

MOST_CHANGES = 12  # of a revision
COLOURS = 6
OF_ROLE = {
    Nugget.TRIGGER: "c4",
    Nugget.REGULAR: "c1",
    Nugget.GOAL: "c3",
}  # as static/js/labelling/questions/ draws them

Places = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """One question: what holds, or "" where nothing does yet, and who answered what where they differ.

    spread: [(words, number of people, their names)], the most frequent first.
    """

    question: str
    final: str
    spread: list[tuple[str, int, str]]
    is_undecided: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """An utterance's labels. nugget: of the question whose runs are brackets, with the piece and colour to draw."""

    rows: list[Row]
    nugget: Row | None
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
    """changes: to the revision after it; more: how many are not listed."""

    sent: Submission
    changes: list[Change]
    more: int


@dataclass(frozen=True, slots=True)
class Person:
    who: str
    is_own: bool
    sent: Submission
    answers: list[tuple[str, str]]
    utterances: int
    earlier: list[Revision]


def in_language(text: BilingualText) -> str:
    return text.zh if (get_language() or "").startswith("zh") else text.en


def answer_in_words(question: Question, value: Any) -> str:
    """An answer as people read it."""
    if value is None:
        return _("not answered")
    names = {repr(option.value): in_language(option.text) for option in question.options}
    values = value if isinstance(value, list) else [value]
    return ", ".join(names.get(repr(one), str(one)) for one in values)


def how(final: FinalLabel, labels: DialogueLabels) -> str:
    """How the final label came about, as a sentence."""
    if final.origin == LabelOrigin.DECIDED:
        named = labels.names_people and final.decided_by
        return _("Decided by %(name)s") % {"name": named.shown_name} if named else _("Decided by a trainer")
    words = {
        LabelOrigin.SINGLE: _("One person's answers"),
        LabelOrigin.UNANIMOUS: _("Everybody agreed"),
        LabelOrigin.CONFIRMED: _("Agreed after seeing each other's answers"),
        LabelOrigin.MAJORITY: _majority(labels),
        LabelOrigin.COLLECTED: _("Every answer is kept; the label is what most said"),
    }
    said = words.get(LabelOrigin(final.origin), final.get_origin_display())
    return _("Imported: %(how)s") % {"how": said} if labels.is_imported else said


def _majority(labels: DialogueLabels) -> str:
    settings = labels.task.project.labelling
    if settings.ties == Ties.MEDIAN and labels.task.overlap % 2 == 0:
        return _("The majority; the middle answer where votes were tied")
    return _("The majority")


def name_of(one: PersonAnswers) -> str:
    if one.is_own:
        return _("You")
    return one.name or _("Annotator %(n)d") % {"n": one.number}


class LabelsInWords:
    """The words for one reader's DialogueLabels."""

    def __init__(self, labels: DialogueLabels, schema: QuestionSchema) -> None:
        self.labels, self.schema = labels, schema
        self.final: Places = labels.final.answers if labels.final else {"dialogue": {}, "utterances": {}}
        self.undecided = frozenset(labels.final.undecided) if labels.final else frozenset()
        self.runs = next((one for one in schema.of_scope(Scope.UTTERANCE) if one.runs), None)

    def dialogue_rows(self) -> list[Row]:
        rows = (self._row(one, one.key) for one in self.schema.of_scope(Scope.DIALOGUE))
        return [row for row in rows if row]

    def beside(self, position: int, speakers: Sequence[str]) -> Beside | None:
        """speakers: of all utterances; None where nobody answered anything."""
        asked = self.schema.of_scope(Scope.UTTERANCE)
        found = {one.key: self._row(one, f"{position}/{one.key}") for one in asked}
        nugget = found.pop(self.runs.key, None) if self.runs else None
        rows = [row for row in found.values() if row]
        if not rows and not nugget:
            return None
        return Beside(rows, nugget, *self._drawn(position, speakers))

    def differing(self) -> list[int]:
        """Positions of the utterances on which people differ."""
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

    def people(self) -> list[Person]:
        return [self._person(one) for one in self.labels.people]

    def _row(self, question: Question, path: str) -> Row | None:
        values = [answer_at(one.now.answers, path) for one in self.labels.people]
        final = answer_at(self.final, path)
        is_undecided = path in self.undecided
        if final is None and not is_undecided and all(value is None for value in values):
            return None
        # Without a final label what all say stands there.
        holds = final if self.labels.final or _differ(values) else values[0] if values else None
        spread = self._spread(question, values) if _differ(values) else []
        return Row(
            in_language(question.text),
            "" if holds is None else answer_in_words(question, holds),
            spread,
            is_undecided,
        )

    def _spread(self, question: Question, values: Sequence[Any]) -> list[tuple[str, int, str]]:
        names: dict[str, list[str]] = {}
        for one, value in zip(self.labels.people, values, strict=True):
            names.setdefault(answer_in_words(question, value), []).append(name_of(one))
        ordered = sorted(names.items(), key=lambda item: -len(item[1]))
        return [(words, len(who), ", ".join(who)) for words, who in ordered]

    def _drawn(self, position: int, speakers: Sequence[str]) -> tuple[str, str]:
        """The piece of the bracket and its colour; both empty for what is no nugget, or not agreed."""
        if self.runs is None:
            return "", ""
        options = self.runs.options_for(speakers[position])
        option = next((one for one in options if one.value == self._run_at(position)), None)
        if option is None or option.nugget is Nugget.NONE:
            return "", ""
        return _piece(self._run_at, speakers, position), _colour(options, option)

    def _run_at(self, position: int) -> Any:
        """The label at a position of the question whose runs are drawn: the final one, else what everybody says."""
        path = f"{position}/{self.runs.key}" if self.runs else ""
        if self.labels.final:
            return answer_at(self.final, path)
        values = [answer_at(one.now.answers, path) for one in self.labels.people]
        return values[0] if values and not _differ(values) else None

    def _person(self, one: PersonAnswers) -> Person:
        schema = load_schema(one.now.schema)
        given = one.now.answers["dialogue"]
        answers = [
            (in_language(question.text), answer_in_words(question, given[question.key]))
            for question in schema.of_scope(Scope.DIALOGUE)
            if question.key in given
        ]
        newer = [one.now, *one.earlier]
        earlier = [_revision(row, newer[n]) for n, row in enumerate(one.earlier)]
        return Person(name_of(one), one.is_own, one.now, answers, len(one.now.answers["utterances"]), earlier)


def _differ(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values[1:])


def _piece(label_at: Callable[[int], Any], speakers: Sequence[str], position: int) -> str:
    """Which piece of a run's bracket stands at a position (questions/nuggets.js: pieceAt)."""

    def joins(other: int) -> bool:
        is_there = 0 <= other < len(speakers) and speakers[other] == speakers[position]
        return bool(is_there and label_at(other) == label_at(position))

    above, below = joins(position - 1), joins(position + 1)
    if above and below:
        return "inner"
    return "last" if above else "first" if below else "only"


def _colour(options: Sequence[Option], option: Option) -> str:
    return OF_ROLE.get(option.nugget, "") if option.nugget else f"c{options.index(option) % COLOURS + 1}"


def _revision(row: Submission, newer: Submission) -> Revision:
    """What was answered before, where the next revision says something else."""
    questions = load_schema(row.schema).by_key
    changes = []
    for path in answered_paths([], [row.answers, newer.answers]):
        place, _slash, key = path.rpartition("/")
        before, after = answer_at(row.answers, path), answer_at(newer.answers, path)
        question = questions.get(key)
        if before != after and question:
            said = (answer_in_words(question, before), answer_in_words(question, after))
            changes.append(Change(in_language(question.text), int(place) + 1 if place else None, *said))
    return Revision(row, changes[:MOST_CHANGES], max(0, len(changes) - MOST_CHANGES))
