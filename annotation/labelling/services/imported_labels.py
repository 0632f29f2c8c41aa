"""Turns the annotations of imported dialogues into submissions of imported annotators."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.utils import timezone

from accounts.models import User
from annotation.labelling.models.labels import (
    FinalLabel,
    LabellingSettings,
    LabelOrigin,
    Schema,
    Stage,
    Submission,
)
from annotation.labelling.schema.answers import AnswerProblem, Answers, check_answers, compared_paths
from annotation.labelling.schema.questions import Kind, Nugget, Question, QuestionSchema, Scope
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.services.planning import queue_place
from annotation.labelling.services.resolution import Outcome, resolve_answers
from annotation.labelling.services.schemas import mark_used
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from common.languages import primary_language
from dialogues.models import Dialogue
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.parsing.readers.dialeval import check_annotations
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.services.storing import copy_rows, json_text, next_ids
from projects.models import Project

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
NO_NUGGET_LABELS = ("CNaN", "HNaN", "NAN")
ANNOTATION_KEYS = frozenset({"annotations", "label", "reason"})  # the metadata that become answers
TASK_COLUMNS = [
    "id", "project_id", "dialogue_id", "overlap", "open_slots", "priority", "place", "group", "language", "state",
    "disagreement", "created_at",
]  # fmt: skip
ASSIGNMENT_COLUMNS = [
    "id", "task_id", "project_id", "annotator_id", "dialogue_id", "state", "claim_id",
    "lease_until", "claimed_at", "touched_at", "served_at", "submitted_at",
]  # fmt: skip
SUBMISSION_COLUMNS = [
    "id", "assignment_id", "task_id", "project_id", "annotator_id", "schema_id", "revision", "stage", "answers",
    "note", "active_ms", "idle_ms", "trace", "stored_at",
]  # fmt: skip
FINAL_COLUMNS = [
    "task_id", "project_id", "dialogue_id", "schema_id", "answers", "origin", "undecided", "reason", "decided_at",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelledDialogue:
    """A dialogue with the answers of each of its annotators, in order."""

    dialogue: Dialogue
    speakers: list[str]
    answers: list[Answers]


def annotation_error(project: Project, parsed: ParsedDialogue) -> RowError | None:
    """The error if a dialogue's annotations do not fit the project's questions; None if they fit or there are none."""
    settings = settings_with_schema(project)
    if settings is None or settings.schema is None:
        return None
    if isinstance(annotations := parsed.metadata.get("annotations"), list):
        try:  # formats other than `dialeval` have not checked them
            check_annotations(annotations, len(parsed.utterances))
        except BadRow as problem:
            return problem.at(parsed.line, external_id=parsed.external_id)
    for place, (_known, problems) in enumerate(_check_annotations(load_schema(settings.schema), parsed)):
        if problems:
            path = f"annotations[{place}].{problems[0].path}"
            params = {"path": path, "detail": problems[0].message}
            return RowError(parsed.line, "annotation_misfit", params, external_id=parsed.external_id)
    return None


def settings_with_schema(project: Project) -> LabellingSettings | None:
    """Cached on the project, which is the same object for every dialogue of an import."""
    settings: LabellingSettings | None = getattr(project, "_labelling_for_import", None)
    if settings is None and project.protocol == "labelling":
        settings = LabellingSettings.objects.select_related("schema").filter(project=project).first()
        project._labelling_for_import = settings  # type: ignore[attr-defined]
    return settings


def _check_annotations(
    schema: QuestionSchema, parsed: ParsedDialogue
) -> Iterator[tuple[Answers, list[AnswerProblem]]]:
    speakers = [utterance.speaker for utterance in parsed.utterances]
    for answers in answers_in(schema, parsed):
        yield check_answers(schema, answers, speakers, complete=False)


def answers_in(schema: QuestionSchema, parsed: ParsedDialogue) -> list[Answers]:
    """Each annotator's answers in the file, translated to the schema's values; not checked yet."""
    metadata = parsed.metadata
    if isinstance(annotations := metadata.get("annotations"), list):
        question = next((item for item in schema.of_scope(Scope.UTTERANCE) if item.runs), None)
        speakers = [utterance.speaker for utterance in parsed.utterances]
        return [_dialeval_answers(question, annotation, speakers) for annotation in annotations]
    is_machine = metadata.get("origin") == LabelOrigin.MACHINE  # exported by another installation
    if metadata.get("label") is not None and not is_machine and "quality" in schema.by_key:
        return [_diqad_answers(schema, metadata)]
    return []


def _dialeval_answers(
    question: Question | None, annotation: Mapping[str, Any], speakers: Sequence[str]
) -> Answers:
    quality, key = annotation.get("quality") or {}, question.key if question else "nugget"
    utterances = {}
    for place, value in enumerate(annotation.get("nugget") or []):
        if value is not None:
            utterances[str(place)] = {key: _nugget_value(question, value, speakers[place])}
    return {
        "dialogue": {name: _whole_number(value) for name, value in quality.items()},
        "utterances": utterances,
    }


def _nugget_value(question: Question | None, value: Any, speaker: str) -> Any:
    """The schema's own value: files write “no nugget” as CNaN, HNaN or NAN."""
    if question is None or value not in NO_NUGGET_LABELS:
        return value
    no_nugget = (option.value for option in question.options_for(speaker) if option.nugget is Nugget.NONE)
    return next(no_nugget, value)


def _diqad_answers(schema: QuestionSchema, metadata: Mapping[str, Any]) -> Answers:
    dialogue: dict[str, Any] = {"quality": _whole_number(metadata["label"])}
    reasons = metadata.get("reason") or []
    reasons = reasons if isinstance(reasons, list) else [reasons]
    question = schema.by_key.get(f"reasons_{dialogue['quality']}")
    if question is not None and question.kind is Kind.CHOICES and reasons:
        dialogue[question.key] = [_option_value(question, reason) for reason in reasons]
    return {"dialogue": dialogue, "utterances": {}}


def _option_value(question: Question, label: Any) -> Any:
    """The value of the option with this value or text, in either language; the label itself if no option matches."""
    for option in question.options:
        if label in (option.value, option.text.en, option.text.zh):
            return option.value
    return label


def _whole_number(value: Any) -> Any:
    """Convert a whole number written as text, as in the released files. The schema refuses other values later."""
    return int(value) if isinstance(value, str) and WHOLE_NUMBER.fullmatch(value) else value


def store_labels(project: Project, new: Sequence[tuple[Dialogue, ParsedDialogue]]) -> list[Dialogue]:
    """Store the annotations of new dialogues as submissions and remove them from the metadata.

    Call it in the import's transaction, before the dialogues are stored. Returns the dialogues without annotations.
    """
    settings = settings_with_schema(project)
    if settings is None or settings.schema is None:
        return [dialogue for dialogue, _parsed in new]
    schema = load_schema(settings.schema)
    labelled, unlabelled = [], []
    for dialogue, parsed in new:
        if answers := [answers for answers, _problems in _check_annotations(schema, parsed)]:
            _remove_annotations(dialogue)
            speakers = [utterance.speaker for utterance in parsed.utterances]
            labelled.append(LabelledDialogue(dialogue, speakers, answers))
        else:
            unlabelled.append(dialogue)
    if labelled:
        _store(settings, settings.schema, schema, labelled)
    return unlabelled


def _remove_annotations(dialogue: Dialogue) -> None:
    """Remember whether numbers were written as text, so that an export writes them the same way."""
    annotations = dialogue.metadata.get("annotations")
    quality = [row.get("quality") or {} for row in annotations] if isinstance(annotations, list) else []
    metadata = {key: value for key, value in dialogue.metadata.items() if key not in ANNOTATION_KEYS}
    if any(isinstance(value, str) for values in quality for value in values.values()):
        metadata["quality_as_text"] = True
    dialogue.metadata = metadata


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows for a batch of labelled dialogues: ids of new tasks and assignments, and how each task was resolved.

    now: as text, because every row contains it, most of them several times.
    """

    tasks: list[int]
    assignments: list[list[int]]
    people: list[User]
    outcomes: list[Outcome]
    now: str


def _store(
    settings: LabellingSettings, row: Schema, schema: QuestionSchema, labelled: Sequence[LabelledDialogue]
) -> None:
    """Use COPY: creating model instances took half of an import's time."""
    mark_used(row)
    tasks = next_ids(Task, len(labelled))
    free = iter(next_ids(Assignment, sum(len(item.answers) for item in labelled)))
    rows = _Rows(
        tasks,
        [[next(free) for _answers in item.answers] for item in labelled],
        imported_annotators(settings.project, max(len(item.answers) for item in labelled)),
        [
            resolve_answers(settings, schema, compared_paths(schema, item.speakers), item.answers)
            for item in labelled
        ],
        timezone.now().isoformat(),
    )
    copy_rows(Task, TASK_COLUMNS, _tasks(settings, labelled, rows))
    copy_rows(Assignment, ASSIGNMENT_COLUMNS, _assignments(settings, labelled, rows))
    copy_rows(Submission, SUBMISSION_COLUMNS, _submissions(row, labelled, rows))
    copy_rows(FinalLabel, FINAL_COLUMNS, _finals(row, labelled, rows))


def _tasks(
    settings: LabellingSettings, labelled: Sequence[LabelledDialogue], rows: _Rows
) -> Iterator[Sequence[Any]]:
    for id, item, outcome in zip(rows.tasks, labelled, rows.outcomes, strict=True):
        # Imported annotators cannot confirm: if they differ, a trainer decides.
        state = TaskState.DISPUTED if outcome.state == TaskState.CONFIRMING else outcome.state
        place = queue_place(settings, item.dialogue.pk)
        columns = (settings.project_id, item.dialogue.pk, len(item.answers), 0, 0, place, "")
        language = primary_language(item.dialogue.language)
        yield id, *columns, language, state.value, outcome.disagreement, rows.now


def _assignments(
    settings: LabellingSettings, labelled: Sequence[LabelledDialogue], rows: _Rows
) -> Iterator[Sequence[Any]]:
    state, now = AssignmentState.SUBMITTED.value, rows.now
    for task, ids, item in zip(rows.tasks, rows.assignments, labelled, strict=True):
        for id, person in zip(ids, rows.people, strict=False):
            columns = (task, settings.project_id, person.pk, item.dialogue.pk, state, uuid4())
            yield id, *columns, now, now, now, now, now


def _submissions(row: Schema, labelled: Sequence[LabelledDialogue], rows: _Rows) -> Iterator[Sequence[Any]]:
    for task, ids, item in zip(rows.tasks, rows.assignments, labelled, strict=True):
        for id, person, answers in zip(ids, rows.people, item.answers, strict=False):
            columns = (uuid4(), id, task, row.project_id, person.pk, row.pk, 1, Stage.LABEL.value)
            yield *columns, json_text(answers), "", 0, 0, "[]", rows.now


def _finals(row: Schema, labelled: Sequence[LabelledDialogue], rows: _Rows) -> Iterator[Sequence[Any]]:
    for task, item, outcome in zip(rows.tasks, labelled, rows.outcomes, strict=True):
        if outcome.final is not None and outcome.origin is not None:
            columns = (task, row.project_id, item.dialogue.pk, row.pk, json_text(outcome.final.answers))
            yield *columns, outcome.origin.value, json_text(outcome.final.undecided), "", rows.now


def imported_annotators(project: Project, count: int) -> list[User]:
    """Get or create the first `count` imported annotators of a project. Nobody can sign in as one of them."""
    names = [f"imported-{project.slug}-{n}" for n in range(1, count + 1)]
    users = {user.username: user for user in User.objects.filter(username__in=names)}
    for n, name in enumerate(names, start=1):
        if name not in users:
            users[name] = User.objects.create(
                username=name, display_name=f"{project.slug} {n}", is_active=False, imported=True
            )
    return [users[name] for name in names]
