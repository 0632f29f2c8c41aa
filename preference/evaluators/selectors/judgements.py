"""What people think of a project's replies, as rows that preference.training.meta reads.

    {"id": "77", "history": ["77"], "response": "77", "human": 2, "humans": {"p12…": 2, …}, "label": 2, "labels": {…}}

In labelling, an item is a dialogue or an utterance with a final label; persons are pseudonyms. In an assessment, an
item is a reply of a system, `system` its name, and `human` the standardised score of the system. Items of one dialogue
share their history, so that intervals resample dialogues.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from annotation.labelling.models.labels import LabelOrigin
from annotation.labelling.schema.questions import Kind, Scope
from annotation.labelling.selectors.ratings import RatedQuestion, rated_questions, rating_table
from assessment.report.selectors.run_report import project_reports
from assessment.sessions.models.conversations import Session
from assessment.setup.models import AssessmentSettings
from dialogues.models import Dialogue, Utterance
from measures.system_scores import OVERALL
from preference.data.formats.judgements import pseudonym
from preference.data.formats.labels import final_labels_on
from preference.data.selectors.selection import WITHHELD, Filters, select
from preference.data.selectors.study import SYSTEM
from preference.evaluators.models import Score, ScoringRun
from projects.models import Project, Protocol

Row = dict[str, Any]
Value = int | str
FINAL_LABELS: Final = Filters()  # in a project with batches, those of accepted ones


def judged_questions(project: Project) -> list[str]:
    """What evaluators can be compared with people on; empty in authoring, where nobody judges replies."""
    if project.protocol == Protocol.LABELLING:
        return [rated.name for rated in rated_questions(project) if rated.option is None]
    if project.protocol == Protocol.ASSESSMENT:
        statements = AssessmentSettings.objects.get(project=project).statement_list
        return [OVERALL, *(statement.name for statement in statements)]
    return []


def is_about_dialogues(project: Project, question: str) -> bool:
    """Whether the items are dialogues; otherwise they are utterances."""
    return (
        project.protocol == Protocol.LABELLING and _rated(project, question).question.scope is Scope.DIALOGUE
    )


def judged_rows(project: Project, question: str) -> Iterator[Row]:
    """One row per item that people judged. question: one of judged_questions()."""
    if project.protocol == Protocol.ASSESSMENT:
        return _rows_of_study(project, question)
    return _labelled_rows(project, _rated(project, question))


def score_rows(run: ScoringRun, *, about_dialogues: bool) -> Iterator[Row]:
    """The scores of a run by item. A dialogue has the score of its last scored reply."""
    rows = Score.objects.filter(run=run, place=None)
    columns = ("dialogue_id" if about_dialogues else "utterance_id", "value", "reason", "details")
    if about_dialogues:
        rows = rows.order_by("dialogue_id", "-utterance__position").distinct("dialogue_id")
    for item, value, reason, details in rows.values_list(*columns).iterator():
        yield {**details, "id": str(item), "score": value, "reason": reason}


def _rated(project: Project, question: str) -> RatedQuestion:
    return next(rated for rated in rated_questions(project) if rated.name == question)


def _labelled_rows(project: Project, rated: RatedQuestion) -> Iterator[Row]:
    people = _answers_of_people(project, rated)
    is_scale = rated.question.kind is not Kind.CHOICE
    for item, dialogue, value in _final_values(project, rated):
        if not is_scale and value in WITHHELD:
            continue
        given = {
            person: answer
            for person, answer in people.get(item, {}).items()
            if is_scale or answer not in WITHHELD
        }
        row: Row = {"id": str(item), "history": [str(dialogue)], "response": str(item)}
        if isinstance(value, int):
            numbers = {person: answer for person, answer in given.items() if isinstance(answer, int)}
            row |= {"human": value, "humans": numbers}
        if rated.question.kind is not Kind.SLIDER:
            row |= {"label": value, "labels": given}
        yield row


def _answers_of_people(project: Project, rated: RatedQuestion) -> Mapping[int, Mapping[str, Value]]:
    """Independent answers by item and pseudonym."""
    ratings = rating_table(project, rated).ratings
    names = [pseudonym(project.pk, int(str(rater))) for rater in ratings.raters]
    answers: dict[int, dict[str, Value]] = defaultdict(dict)
    for item, rater, code in zip(ratings.item, ratings.rater, ratings.code, strict=True):
        answers[int(str(ratings.items[item]))][names[rater]] = ratings.categories[code]
    return answers


def _final_values(project: Project, rated: RatedQuestion) -> Iterator[tuple[int, int, Value]]:
    """Item, dialogue and value of every final label of people that answers the question."""
    key = rated.question.key
    for page in select(project, FINAL_LABELS).pages():
        finals = {
            dialogue: final
            for dialogue, final in final_labels_on(page).items()
            if final.origin != LabelOrigin.MACHINE
        }
        if rated.question.scope is Scope.DIALOGUE:
            for dialogue, final in finals.items():
                value = final.answers["dialogue"].get(key)
                if value is not None:
                    yield dialogue, dialogue, value
            continue
        for utterance in _utterances(page, rated):
            final_row = finals.get(utterance.dialogue_id)
            answers = final_row.answers["utterances"].get(str(utterance.position), {}) if final_row else {}
            if answers.get(key) is not None:
                yield utterance.pk, utterance.dialogue_id, answers[key]


def _utterances(page: Sequence[Dialogue], rated: RatedQuestion) -> Iterator[Utterance]:
    rows = Utterance.objects.filter(dialogue__in=page).only("dialogue_id", "position", "speaker")
    if rated.speaker:
        rows = rows.filter(speaker=rated.speaker)
    return rows.order_by("dialogue_id", "position").iterator()


def _rows_of_study(project: Project, question: str) -> Iterator[Row]:
    scores = _system_scores(project, question)
    names = dict(
        Session.objects.filter(system__project=project, system__name__in=scores, dialogue__isnull=False)
        .values_list("dialogue_id", "system__name")
        .order_by()
    )
    replies = Utterance.objects.filter(dialogue__id__any_of=list(names), speaker=SYSTEM).order_by(
        "dialogue_id", "position"
    )
    for utterance, dialogue in replies.values_list("pk", "dialogue_id").iterator():
        system = names[dialogue]
        yield {
            "id": str(utterance),
            "history": [str(dialogue)],
            "response": str(utterance),
            "human": scores[system],
            "system": system,
        }


def _system_scores(project: Project, question: str) -> dict[str, float]:
    """The mean of a system's standardised scores over the runs that have one."""
    values: dict[str, list[float]] = defaultdict(list)
    for report in project_reports(project):
        for each in report.scores:
            value = each.value(question)
            if value is not None:
                values[each.system].append(value)
    return {system: fmean(found) for system, found in values.items()}
