"""The nuggets of a project whose schema has nugget types, as plain values for `measures` (DCH paper, section 4)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, Max, OuterRef, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from annotation.labelling.schema.questions import Nugget, Question, Scope
from annotation.labelling.selectors.ratings import independent_submissions
from annotation.labelling.selectors.schemas import load_schema
from common.refusals import Invalid
from dialogues.models import Dialogue, Utterance
from measures.helpdesk import CUSTOMER, HELPDESK, NAN, Position
from measures.helpdesk_collection import AnnotatedDialogue, Collection, Scores, build_collection
from projects.models import Project

CHUNK_SIZE = 2000  # rows
LABELS = {
    (CUSTOMER, Nugget.TRIGGER): "CNUG0",
    (CUSTOMER, Nugget.REGULAR): "CNUG",
    (CUSTOMER, Nugget.GOAL): "CNUG*",
    (HELPDESK, Nugget.REGULAR): "HNUG",
    (HELPDESK, Nugget.GOAL): "HNUG*",
}


@dataclass(frozen=True, slots=True)
class NuggetQuestion:
    """The question that asks for nugget types, and the speakers who are customers."""

    question: Question
    customers: frozenset[str]

    def side(self, speaker: str) -> str:
        return CUSTOMER if speaker in self.customers else HELPDESK

    def label(self, speaker: str, value: Any) -> str:
        """The answer as a label of `measures.helpdesk`; NAN if there is no answer."""
        role = next(
            (option.nugget for option in self.question.options_for(speaker) if option.value == value), None
        )
        return LABELS.get((self.side(speaker), role), NAN) if role else NAN


def nugget_question(project: Project) -> NuggetQuestion | None:
    """The first utterance question with nugget types. Speakers who may have a trigger are customers."""
    row = project.labelling.schema
    for question in load_schema(row).of_scope(Scope.UTTERANCE) if row else ():
        triggers = [option for option in question.options if option.nugget is Nugget.TRIGGER]
        if triggers:
            return NuggetQuestion(question, frozenset(triggers[0].speakers) or frozenset({CUSTOMER}))
    return None


def longest_dialogue_length(project: Project) -> int:
    """The default L: the length of the project's longest dialogue in characters, at least 1."""
    lengths = Dialogue.objects.filter(project=project).annotate(length=Sum(Length("utterances__text")))
    return lengths.aggregate(longest=Max("length"))["longest"] or 1


def labelled_dialogues(project: Project) -> QuerySet[Dialogue]:
    """Dialogues with at least one independent submission, ordered by id."""
    independent = independent_submissions(project).filter(task__dialogue=OuterRef("pk"))
    return Dialogue.objects.filter(Exists(independent), project=project).order_by("id")


def nugget_collection(
    project: Project, position: Position = "start", dialogues: Sequence[int] | None = None
) -> Collection:
    """The nuggets of every labelled dialogue, or of these, ordered by dialogue.

    Raises Invalid if the schema has no nugget types.
    """
    question = nugget_question(project)
    if question is None:
        raise Invalid(
            _("The schema of this project has no nugget types, so there is no UCH."),
            _("Use the preset dch or dialeval, or give options of an utterance question a nugget type."),
        )
    return build_collection(
        (item for _key, item in annotated_dialogues(project, question, dialogues)), position
    )


def annotated_dialogues(
    project: Project, question: NuggetQuestion, dialogues: Sequence[int] | None = None
) -> Iterator[tuple[int, AnnotatedDialogue]]:
    """The nugget labels of every labelled dialogue, or of these, each with the dialogue's primary key."""
    answers = _nugget_answers(project, question.question.key, dialogues)
    labelled = sorted(answers)
    for start in range(0, len(labelled), CHUNK_SIZE):
        ids = labelled[start : start + CHUNK_SIZE]
        external_ids = Dialogue.objects.filter(pk__in=ids).values_list("pk", "external_id")
        names = {pk: external or str(pk) for pk, external in external_ids}
        for dialogue, utterances in _utterance_lengths(ids).items():
            sides = [(question.side(speaker), length) for speaker, length in utterances]
            labellings = {
                person: [
                    question.label(speaker, values.get(str(place)))
                    for place, (speaker, _length) in enumerate(utterances)
                ]
                for person, values in answers[dialogue].items()
            }
            yield dialogue, AnnotatedDialogue(names[dialogue], sides, labellings)


def scores_by_dialogue(collection: Collection, scores: Scores) -> list[dict[str, Any]]:
    """{"id", "auch", "cuch", "spare_goals", "annotators": [{"annotator", "uc", "uh", "uch"}]} per dialogue."""
    dialogues: list[dict[str, Any]] = [
        {"id": name, "auch": auch, "cuch": cuch, "spare_goals": 0, "annotators": []}
        for name, auch, cuch in zip(collection.ids, scores.auch, scores.cuch, strict=True)
    ]
    sides = zip(scores.uc.tolist(), scores.uh.tolist(), scores.uch.tolist(), strict=True)
    spare = collection.spare_goals.tolist()
    for (place, annotator), (uc, uh, uch), goals in zip(collection.labellings, sides, spare, strict=True):
        dialogues[place]["annotators"].append({"annotator": annotator, "uc": uc, "uh": uh, "uch": uch})
        dialogues[place]["spare_goals"] += goals
    return dialogues


def _nugget_answers(
    project: Project, key: str, dialogues: Sequence[int] | None
) -> dict[int, dict[str, Mapping[str, Any]]]:
    """Dialogue to annotator to nugget type by position (as text)."""
    answers: dict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    submissions = independent_submissions(project).exclude(task__dialogue=None)
    if dialogues is not None:
        submissions = submissions.filter(task__dialogue__in=dialogues)
    rows = submissions.values_list("task__dialogue_id", "annotator__username", "answers__utterances")
    for dialogue, person, utterances in rows.iterator(chunk_size=CHUNK_SIZE):
        answers[dialogue][person] = {place: values.get(key) for place, values in (utterances or {}).items()}
    return answers


def _utterance_lengths(ids: Iterable[int]) -> dict[int, list[tuple[str, int]]]:
    """Speaker and length in characters of every utterance, by dialogue."""
    lengths: dict[int, list[tuple[str, int]]] = {dialogue: [] for dialogue in ids}
    rows = Utterance.objects.filter(dialogue__in=list(lengths)).order_by("dialogue", "position")
    for dialogue, speaker, length in rows.values_list("dialogue_id", "speaker", Length("text")):
        lengths[dialogue].append((speaker, length))
    return lengths
