"""Annotations that come with imported dialogues become submissions of imported annotators."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.utils import timezone

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabellingSettings, Schema, Stage, Submission
from annotation.labelling.schema.answers import AnswerProblem, Answers, check_answers, compared_paths
from annotation.labelling.schema.questions import Kind, Nugget, Question, QuestionSchema, Scope
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.services.planning import queue_place
from annotation.labelling.services.resolution import Outcome, resolve_answers
from annotation.labelling.services.schemas import mark_used
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from dialogues.models import Dialogue
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.parsing.readers.dialeval import check_annotations
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.services.storing import copy_rows, json_text, next_ids
from projects.models import Project

WHOLE = re.compile(r"-?[0-9]{1,9}")
NO_NUGGET = ("CNaN", "HNaN", "NAN")
KEYS = frozenset({"annotations", "label", "reason"})  # of the metadata, that answers are made of
TASK_COLUMNS = [
    "id", "project_id", "dialogue_id", "overlap", "open_slots", "priority", "place", "group", "state",
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
class Imported:
    """A dialogue with the answers of each of its annotators, in their order."""

    dialogue: Dialogue
    speakers: list[str]
    answers: list[Answers]


def annotation_error(project: Project, parsed: ParsedDialogue) -> RowError | None:
    """Why the annotations of a dialogue do not fit the project's questions; None where they do, or are none."""
    settings = settings_with_schema(project)
    if settings is None or settings.schema is None:
        return None
    if isinstance(annotations := parsed.metadata.get("annotations"), list):
        try:  # other formats than `dialeval` bring them unread
            check_annotations(annotations, len(parsed.utterances))
        except BadRow as problem:
            return problem.at(parsed.line, external_id=parsed.external_id)
    for place, (_known, problems) in enumerate(_checked(load_schema(settings.schema), parsed)):
        if problems:
            path = f"annotations[{place}].{problems[0].path}"
            params = {"path": path, "detail": problems[0].message}
            return RowError(parsed.line, "annotation_misfit", params, external_id=parsed.external_id)
    return None


def settings_with_schema(project: Project) -> LabellingSettings | None:
    """Read once for an import: the project's row is the same object for every dialogue."""
    known: LabellingSettings | None = getattr(project, "_labelling_for_import", None)
    if known is None and project.protocol == "labelling":
        known = LabellingSettings.objects.select_related("schema").filter(project=project).first()
        project._labelling_for_import = known  # type: ignore[attr-defined]
    return known


def _checked(schema: QuestionSchema, parsed: ParsedDialogue) -> Iterator[tuple[Answers, list[AnswerProblem]]]:
    speakers = [one.speaker for one in parsed.utterances]
    for given in answers_in(schema, parsed):
        yield check_answers(schema, given, speakers, complete=False)


def answers_in(schema: QuestionSchema, parsed: ParsedDialogue) -> list[Answers]:
    """What each annotator of the file answered, in the words of the schema; not checked yet."""
    metadata = parsed.metadata
    if isinstance(annotations := metadata.get("annotations"), list):
        asked = next((one for one in schema.of_scope(Scope.UTTERANCE) if one.runs), None)
        speakers = [one.speaker for one in parsed.utterances]
        return [_dialeval(asked, one, speakers) for one in annotations]
    if metadata.get("label") is not None and "quality" in schema.by_key:
        return [_diqad(schema, metadata)]
    return []


def _dialeval(asked: Question | None, given: Mapping[str, Any], speakers: Sequence[str]) -> Answers:
    quality, key = given.get("quality") or {}, asked.key if asked else "nugget"
    utterances = {}
    for place, value in enumerate(given.get("nugget") or []):
        if value is not None:
            utterances[str(place)] = {key: _nugget(asked, value, speakers[place])}
    return {"dialogue": {name: _number(value) for name, value in quality.items()}, "utterances": utterances}


def _nugget(question: Question | None, value: Any, speaker: str) -> Any:
    """As the schema calls it: what is no nugget is CNaN and HNaN in one, NAN in another."""
    if question is None or value not in NO_NUGGET:
        return value
    nothing = (one.value for one in question.options_for(speaker) if one.nugget is Nugget.NONE)
    return next(nothing, value)


def _diqad(schema: QuestionSchema, metadata: Mapping[str, Any]) -> Answers:
    dialogue: dict[str, Any] = {"quality": _number(metadata["label"])}
    reasons = metadata.get("reason") or []
    reasons = reasons if isinstance(reasons, list) else [reasons]
    question = schema.by_key.get(f"reasons_{dialogue['quality']}")
    if question is not None and question.kind is Kind.CHOICES and reasons:
        dialogue[question.key] = [_option(question, reason) for reason in reasons]
    return {"dialogue": dialogue, "utterances": {}}


def _option(question: Question, said: Any) -> Any:
    """The option that is meant: by its value, or by its words in either language."""
    for option in question.options:
        if said in (option.value, option.text.en, option.text.zh):
            return option.value
    return said


def _number(value: Any) -> Any:
    """The released files write whole numbers as text, too; what is none is left for the schema to refuse."""
    return int(value) if isinstance(value, str) and WHOLE.fullmatch(value) else value


def store_labels(project: Project, new: Sequence[tuple[Dialogue, ParsedDialogue]]) -> list[Dialogue]:
    """Store the annotations of dialogues that are about to be stored; what has become a submission leaves metadata.

    In the import's transaction. Returns the dialogues without any.
    """
    settings = settings_with_schema(project)
    if settings is None or settings.schema is None:
        return [dialogue for dialogue, _parsed in new]
    schema = load_schema(settings.schema)
    labelled, bare = [], []
    for dialogue, parsed in new:
        if answers := [answers for answers, _problems in _checked(schema, parsed)]:
            _forget_annotations(dialogue)
            labelled.append(Imported(dialogue, [one.speaker for one in parsed.utterances], answers))
        else:
            bare.append(dialogue)
    if labelled:
        _store(settings, settings.schema, schema, labelled)
    return bare


def _forget_annotations(dialogue: Dialogue) -> None:
    """Whether numbers were written as text is kept, so that an export writes them back so."""
    given = dialogue.metadata.get("annotations")
    quality = [one.get("quality") or {} for one in given] if isinstance(given, list) else []
    kept = {key: value for key, value in dialogue.metadata.items() if key not in KEYS}
    if any(isinstance(value, str) for one in quality for value in one.values()):
        kept["quality_as_text"] = True
    dialogue.metadata = kept


@dataclass(frozen=True, slots=True)
class _Rows:
    """What a batch of labelled dialogues becomes: ids of the tasks and assignments to come, what settled them.

    now: as text, since each of their rows says it, most of them several times.
    """

    tasks: list[int]
    assignments: list[list[int]]
    people: list[User]
    settled: list[Outcome]
    now: str


def _store(
    settings: LabellingSettings, row: Schema, schema: QuestionSchema, labelled: Sequence[Imported]
) -> None:
    """With COPY, as their utterances: half of an import was spent on making model instances of them."""
    mark_used(row)
    tasks = next_ids(Task, len(labelled))
    free = iter(next_ids(Assignment, sum(len(one.answers) for one in labelled)))
    rows = _Rows(
        tasks,
        [[next(free) for _answers in one.answers] for one in labelled],
        imported_annotators(settings.project, max(len(one.answers) for one in labelled)),
        [
            resolve_answers(settings, schema, compared_paths(schema, one.speakers), one.answers)
            for one in labelled
        ],
        timezone.now().isoformat(),
    )
    copy_rows(Task, TASK_COLUMNS, _tasks(settings, labelled, rows))
    copy_rows(Assignment, ASSIGNMENT_COLUMNS, _assignments(settings, labelled, rows))
    copy_rows(Submission, SUBMISSION_COLUMNS, _submissions(row, labelled, rows))
    copy_rows(FinalLabel, FINAL_COLUMNS, _finals(row, labelled, rows))


def _tasks(settings: LabellingSettings, labelled: Sequence[Imported], rows: _Rows) -> Iterator[Sequence[Any]]:
    for id, one, result in zip(rows.tasks, labelled, rows.settled, strict=True):
        # Imported annotators cannot be asked again: where they differ, a trainer decides.
        state = TaskState.DISPUTED if result.state == TaskState.CONFIRMING else result.state
        place = queue_place(settings, one.dialogue.pk)
        about = (settings.project_id, one.dialogue.pk, len(one.answers), 0, 0, place, "")
        yield id, *about, state.value, result.disagreement, rows.now


def _assignments(
    settings: LabellingSettings, labelled: Sequence[Imported], rows: _Rows
) -> Iterator[Sequence[Any]]:
    state, now = AssignmentState.SUBMITTED.value, rows.now
    for task, ids, one in zip(rows.tasks, rows.assignments, labelled, strict=True):
        for id, person in zip(ids, rows.people, strict=False):
            about = (task, settings.project_id, person.pk, one.dialogue.pk, state, uuid4())
            yield id, *about, now, now, now, now, now


def _submissions(row: Schema, labelled: Sequence[Imported], rows: _Rows) -> Iterator[Sequence[Any]]:
    for task, ids, one in zip(rows.tasks, rows.assignments, labelled, strict=True):
        for id, person, answers in zip(ids, rows.people, one.answers, strict=False):
            about = (uuid4(), id, task, row.project_id, person.pk, row.pk, 1, Stage.LABEL.value)
            yield *about, json_text(answers), "", 0, 0, "[]", rows.now


def _finals(row: Schema, labelled: Sequence[Imported], rows: _Rows) -> Iterator[Sequence[Any]]:
    for task, one, result in zip(rows.tasks, labelled, rows.settled, strict=True):
        if result.final is not None and result.origin is not None:
            about = (task, row.project_id, one.dialogue.pk, row.pk, json_text(result.final.answers))
            yield *about, result.origin.value, json_text(result.final.undecided), "", rows.now


def imported_annotators(project: Project, count: int) -> list[User]:
    """The first `count` of a project's imported annotators; nobody can sign in as one of them."""
    names = [f"imported-{project.slug}-{n}" for n in range(1, count + 1)]
    known = {user.username: user for user in User.objects.filter(username__in=names)}
    for n, name in enumerate(names, start=1):
        if name not in known:
            known[name] = User.objects.create(
                username=name, display_name=f"{project.slug} {n}", is_active=False, imported=True
            )
    return [known[name] for name in names]
