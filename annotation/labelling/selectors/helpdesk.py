"""UCH of a project whose schema has nugget types (DCH paper, section 4): the plain values that `measures` works on."""

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
from measures.helpdesk_collection import AnnotatedDialogue, Collection, Scores, collect
from projects.models import Project

AT_ONCE = 2000
LABELS = {
    (CUSTOMER, Nugget.TRIGGER): "CNUG0",
    (CUSTOMER, Nugget.REGULAR): "CNUG",
    (CUSTOMER, Nugget.GOAL): "CNUG*",
    (HELPDESK, Nugget.REGULAR): "HNUG",
    (HELPDESK, Nugget.GOAL): "HNUG*",
}


@dataclass(frozen=True, slots=True)
class NuggetQuestion:
    """The question that asks for nugget types, with the speakers of each side."""

    question: Question
    customers: frozenset[str]

    def side(self, speaker: str) -> str:
        return CUSTOMER if speaker in self.customers else HELPDESK

    def label(self, speaker: str, value: Any) -> str:
        """What `measures.helpdesk` calls this answer; NAN where there is none."""
        role = next(
            (option.nugget for option in self.question.options_for(speaker) if option.value == value), None
        )
        return LABELS.get((self.side(speaker), role), NAN) if role else NAN


def nugget_question(project: Project) -> NuggetQuestion | None:
    """The first utterance question whose options are nugget types; the customer is who may have a trigger."""
    row = project.labelling.schema
    for question in load_schema(row).of_scope(Scope.UTTERANCE) if row else ():
        triggers = [option for option in question.options if option.nugget is Nugget.TRIGGER]
        if triggers:
            return NuggetQuestion(question, frozenset(triggers[0].speakers) or frozenset({CUSTOMER}))
    return None


def longest_dialogue_length(project: Project) -> int:
    """L by default: characters of the project's longest dialogue, at least 1."""
    lengths = Dialogue.objects.filter(project=project).annotate(length=Sum(Length("utterances__text")))
    return lengths.aggregate(longest=Max("length"))["longest"] or 1


def labelled_dialogues(project: Project) -> QuerySet[Dialogue]:
    """Those that somebody labelled on their own, in their order."""
    own = independent_submissions(project).filter(task__dialogue=OuterRef("pk"))
    return Dialogue.objects.filter(Exists(own), project=project).order_by("id")


def nugget_collection(
    project: Project, position: Position = "start", dialogues: Sequence[int] | None = None
) -> Collection:
    """The nuggets of every dialogue that somebody labelled, or of these, in the order of the dialogues.

    Raises Invalid where the schema asks for no nuggets.
    """
    asked = nugget_question(project)
    if asked is None:
        raise Invalid(
            _("The schema of this project has no nugget types, so there is no UCH."),
            _("Use the preset dch or dialeval, or give options of an utterance question a nugget type."),
        )
    return collect((one for _key, one in annotated_dialogues(project, asked, dialogues)), position)


def annotated_dialogues(
    project: Project, asked: NuggetQuestion, dialogues: Sequence[int] | None = None
) -> Iterator[tuple[int, AnnotatedDialogue]]:
    """What people called the utterances of every labelled dialogue, or of these, with the dialogue's key."""
    given = _given(project, asked.question.key, dialogues)
    labelled = sorted(given)
    for start in range(0, len(labelled), AT_ONCE):
        ids = labelled[start : start + AT_ONCE]
        known = Dialogue.objects.filter(pk__in=ids).values_list("pk", "external_id")
        names = {pk: external or str(pk) for pk, external in known}
        for dialogue, spoken in _spoken(ids).items():
            sides = [(asked.side(speaker), length) for speaker, length in spoken]
            labellings = {
                person: [
                    asked.label(speaker, values.get(str(place)))
                    for place, (speaker, _length) in enumerate(spoken)
                ]
                for person, values in given[dialogue].items()
            }
            yield dialogue, AnnotatedDialogue(names[dialogue], sides, labellings)


def scores_by_dialogue(collection: Collection, scores: Scores) -> list[dict[str, Any]]:
    """{"id", "auch", "cuch", "spare_goals", "annotators": [{"annotator", "uc", "uh", "uch"}]}, one a dialogue."""
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


def _given(
    project: Project, key: str, dialogues: Sequence[int] | None
) -> dict[int, dict[str, Mapping[str, Any]]]:
    """Dialogue to annotator to the nugget type by position, as text."""
    found: dict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    own = independent_submissions(project).exclude(task__dialogue=None)
    if dialogues is not None:
        own = own.filter(task__dialogue__in=dialogues)
    rows = own.values_list("task__dialogue_id", "annotator__username", "answers__utterances")
    for dialogue, person, utterances in rows.iterator(chunk_size=AT_ONCE):
        found[dialogue][person] = {place: one.get(key) for place, one in (utterances or {}).items()}
    return found


def _spoken(ids: Iterable[int]) -> dict[int, list[tuple[str, int]]]:
    """Speaker and length in characters of every utterance, by dialogue."""
    spoken: dict[int, list[tuple[str, int]]] = {dialogue: [] for dialogue in ids}
    rows = Utterance.objects.filter(dialogue__in=list(spoken)).order_by("dialogue", "position")
    for dialogue, speaker, length in rows.values_list("dialogue_id", "speaker", Length("text")):
        spoken[dialogue].append((speaker, length))
    return spoken
