"""Annotations that come with imported dialogues become submissions of imported annotators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

from django.utils import timezone

from accounts.models import User
from annotation import schemas
from annotation.models import (
    Assignment,
    AssignmentState,
    FinalLabel,
    LabellingSettings,
    Schema,
    Submission,
    Task,
    TaskState,
)
from annotation.schemas import Answers, Kind, Nugget, Question, Scope
from annotation.selectors.schemas import schema_of
from annotation.services.planning import place_of
from annotation.services.resolution import settle
from annotation.services.schemas import mark_used
from dialogues.models import Dialogue
from dialogues.parsing import ParsedDialogue, RowError
from projects.models import Project

NO_NUGGET = frozenset({"CNaN", "HNaN", "NAN"})
KEYS = frozenset({"annotations", "label", "reason"})  # of the metadata, that answers are made of


@dataclass(frozen=True, slots=True)
class Imported:
    """A dialogue with the answers of each of its annotators, in their order."""

    dialogue: Dialogue
    speakers: list[str]
    answers: list[Answers]


def misfit(project: Project, parsed: ParsedDialogue) -> RowError | None:
    """Why the annotations of a dialogue do not fit the project's questions; None where they do, or are none."""
    settings = settings_with_schema(project)
    if settings is None or settings.schema is None:
        return None
    schema, speakers = schema_of(settings.schema), [one.speaker for one in parsed.utterances]
    for place, given in enumerate(answers_in(schema, parsed)):
        _known, problems = schemas.check_answers(schema, given, speakers, complete=False)
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


def answers_in(schema: schemas.Schema, parsed: ParsedDialogue) -> list[Answers]:
    """What each annotator of the file answered, in the words of the schema; not checked yet."""
    metadata = parsed.metadata
    if isinstance(annotations := metadata.get("annotations"), list):
        speakers = [one.speaker for one in parsed.utterances]
        return [_dialeval(schema, one, speakers) for one in annotations]
    if metadata.get("label") is not None and "quality" in schema.by_key:
        return [_diqad(schema, metadata)]
    return []


def _dialeval(schema: schemas.Schema, given: Mapping[str, Any], speakers: Sequence[str]) -> Answers:
    quality = given.get("quality") or {}
    asked = next((one for one in schema.of_scope(Scope.UTTERANCE) if one.runs), None)
    utterances = {}
    for place, value in enumerate(given.get("nugget") or []):
        if value is not None:
            key = asked.key if asked else "nugget"
            utterances[str(place)] = {key: _nugget(asked, value, speakers[place])}
    return {"dialogue": {name: _number(value) for name, value in quality.items()}, "utterances": utterances}


def _nugget(question: Question | None, value: Any, speaker: str) -> Any:
    """As the schema calls it: what is no nugget is CNaN and HNaN in one, NAN in another."""
    if question is None or value not in NO_NUGGET:
        return value
    nothing = (one.value for one in question.options_for(speaker) if one.nugget is Nugget.NONE)
    return next(nothing, value)


def _diqad(schema: schemas.Schema, metadata: Mapping[str, Any]) -> Answers:
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
    """The released files write whole numbers as text, too."""
    return int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else value


def store_labels(project: Project, new: Sequence[tuple[Dialogue, ParsedDialogue]]) -> list[Dialogue]:
    """Store the annotations of new dialogues, in the import's transaction. Returns the dialogues without any."""
    settings = settings_with_schema(project)
    if settings is None or settings.schema is None:
        return [dialogue for dialogue, _parsed in new]
    schema = schema_of(settings.schema)
    labelled, bare = [], []
    for dialogue, parsed in new:
        speakers = [one.speaker for one in parsed.utterances]
        given = answers_in(schema, parsed)
        answers = [schemas.check_answers(schema, one, speakers, complete=False)[0] for one in given]
        if answers:
            labelled.append(Imported(dialogue, speakers, answers))
        else:
            bare.append(dialogue)
    if labelled:
        _forget_annotations([one.dialogue for one in labelled])
        _store(settings, settings.schema, schema, labelled)
    return bare


def _forget_annotations(dialogues: Sequence[Dialogue]) -> None:
    """They are submissions now. Whether numbers were written as text is kept, so that an export writes them back so."""
    for dialogue in dialogues:
        metadata = dialogue.metadata
        quality = [one.get("quality") or {} for one in metadata.get("annotations") or []]
        as_text = any(isinstance(value, str) for one in quality for value in one.values())
        dialogue.metadata = {key: value for key, value in metadata.items() if key not in KEYS}
        if as_text:
            dialogue.metadata["quality_as_text"] = True
    Dialogue.objects.bulk_update(dialogues, ["metadata"], batch_size=500)


def _store(
    settings: LabellingSettings, row: Schema, schema: schemas.Schema, labelled: Sequence[Imported]
) -> None:
    project = settings.project
    mark_used(row)
    people = imported_annotators(project, max(len(one.answers) for one in labelled))
    settled = [
        settle(settings, schema, schemas.compared(schema, one.speakers), one.answers) for one in labelled
    ]
    tasks = Task.objects.bulk_create(
        Task(
            project=project,
            dialogue=one.dialogue,
            overlap=len(one.answers),
            open_slots=0,
            place=place_of(settings, one.dialogue.pk),
            # Imported annotators cannot be asked again: where they differ, a trainer decides.
            state=TaskState.DISPUTED if result.state == TaskState.CONFIRMING else result.state,
            disagreement=result.disagreement,
        )
        for one, result in zip(labelled, settled, strict=True)
    )
    now = timezone.now()
    pairs = [
        (task, n, given)
        for task, one in zip(tasks, labelled, strict=True)
        for n, given in enumerate(one.answers)
    ]
    assignments = Assignment.objects.bulk_create(
        Assignment(
            task=task,
            project=project,
            annotator=people[n],
            dialogue=cast(Dialogue, task.dialogue),
            state=AssignmentState.SUBMITTED,
            claim_id=uuid4(),
            lease_until=now,
            served_at=now,
            submitted_at=now,
        )
        for task, n, _given in pairs
    )
    Submission.objects.bulk_create(
        Submission(
            assignment=assignment, task=task, project=project, annotator=people[n], schema=row, answers=given
        )
        for assignment, (task, n, given) in zip(assignments, pairs, strict=True)
    )
    FinalLabel.objects.bulk_create(
        FinalLabel(
            task=task,
            project=project,
            dialogue=cast(Dialogue, task.dialogue),
            schema=row,
            answers=result.final.answers,
            origin=result.origin,
            undecided=result.final.undecided,
        )
        for task, result in zip(tasks, settled, strict=True)
        if result.final is not None and result.origin is not None
    )


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
