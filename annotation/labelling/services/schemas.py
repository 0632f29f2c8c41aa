"""Writing a project's list of questions. A version that was used is frozen: submissions keep theirs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.labelling.schema.errors import InvalidSchema
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.schema.yaml_text import read_yaml
from annotation.labelling.selectors.schemas import get_schema_version, newest_version
from annotation.tasks.models.work import Assignment
from common.refusals import Invalid, Refusal
from projects.models import Event, Project, Protocol
from projects.transitions import record

SAVE = "annotation.schema_save"


@dataclass(frozen=True, slots=True)
class SavedSchema:
    """is_new: a version was added or its questions replaced; False where nothing changed."""

    row: Schema
    is_new: bool


def validate_schema(content: Mapping[str, Any] | str) -> QuestionSchema:
    """The schema that content or YAML describes; raises Invalid with `details["problems"]`. Stores nothing."""
    try:
        return read_yaml(content) if isinstance(content, str) else read_schema(content)
    except InvalidSchema as errors:
        raise schema_refusal(errors) from errors


def schema_refusal(errors: InvalidSchema) -> Invalid:
    first, count = errors.problems[0], len(errors.problems)
    where = (
        _("Line %(line)d: ") % {"line": first.line} if first.line else f"{first.path}: " * bool(first.path)
    )
    others = ngettext("%(n)d more problem.", "%(n)d more problems.", count - 1) % {"n": count - 1}
    remedy = f"{first.remedy} {others}".strip() if count > 1 else first.remedy
    problems = [problem.as_dict() for problem in errors.problems]
    return Invalid(f"{where}{first.message}", remedy, field="schema", problems=problems)


@transaction.atomic
def save_schema(
    *,
    project: Project,
    actor: User | None,
    content: Mapping[str, Any] | str,
    save_id: UUID,
    use: bool = True,
    based_on: str = "",
) -> SavedSchema:
    """Store questions as the newest version: the next one, or in place of the newest where that is not in use.

    content: as data, or as YAML. use: new work is done under it from now on. The same save_id again returns the first
    result; questions equal to the newest version's make no other one. based_on: the sum of the newest version that the
    writer knew; where somebody saved another one since, "schema_newer" is raised.
    """
    schema = validate_schema(content)
    settings = _locked_settings(project)
    if again := _saved_before(project, save_id):
        return SavedSchema(again, is_new=False)
    newest = newest_version(project)
    if newest is not None and based_on and newest.sha256 not in (based_on, schema.sha256):
        raise _newer(newest)
    if newest is not None and newest.sha256 == schema.sha256:
        saved = SavedSchema(newest, is_new=False)
    else:
        saved = SavedSchema(_store(project, actor, schema, newest), is_new=True)
    Event.objects.create(
        project=project,
        subject_type=SAVE,
        subject_id=str(save_id),
        kind="schema_saved",
        actor=actor,
        data={"version": saved.row.version, "sha256": saved.row.sha256, "is_new": saved.is_new},
    )
    if use:
        _use(settings, saved.row, actor)
    return saved


def _newer(newest: Schema) -> Refusal:
    by = newest.created_by.shown_name if newest.created_by else _("Somebody")
    return Refusal(
        "schema_newer",
        _("%(name)s saved version %(n)d while you wrote.") % {"name": by, "n": newest.version},
        _("Compare the two; then save yours as the next version, or take the newer one."),
        details={"version": newest.version, "sha256": newest.sha256},
    )


def _locked_settings(project: Project) -> LabellingSettings:
    """Locked, so that two people who save at once get two versions."""
    settings = (
        LabellingSettings.objects.select_for_update(of=("self",))
        .select_related("schema", "project")
        .filter(project=project)
        .first()
    )
    if settings is None or settings.project.protocol != Protocol.LABELLING:
        raise Refusal(
            "no_schema",
            _("Only labelling projects have questions."),
            _("Make a project from a labelling preset."),
        )
    return settings


def _saved_before(project: Project, save_id: UUID) -> Schema | None:
    event = Event.objects.filter(subject_type=SAVE, subject_id=str(save_id)).first()
    if event is None:
        return None
    if event.project_id != project.pk:
        raise Refusal("id_in_use", _("This id belongs to another save."), _("Use a new one."))
    return get_schema_version(project, event.data["version"])


def _store(project: Project, actor: User | None, schema: QuestionSchema, newest: Schema | None) -> Schema:
    values = {"content": schema.content, "sha256": schema.sha256}
    if newest is not None and is_replaceable(newest):
        made = {"created_by": actor, "created_at": timezone.now()}
        # A submission may be using it at this instant; then it is frozen, and the next version is made.
        if Schema.objects.filter(pk=newest.pk, used_at=None).update(**values, **made):
            newest.refresh_from_db()
            return newest
    version = newest.version + 1 if newest else 1
    return Schema.objects.create(project=project, version=version, created_by=actor, **values)


def is_replaceable(row: Schema) -> bool:
    """Nobody has answered it, for a gold dialogue either, and nobody was given a dialogue: what has expired, or was
    sent under an earlier version, may lie open on somebody's screen with these questions."""
    taken = Assignment.objects.filter(project=row.project_id)
    gold = GoldDialogue.objects.filter(schema=row)
    return row.used_at is None and not taken.exists() and not gold.exists()


@transaction.atomic
def use_schema(*, project: Project, actor: User | None, version: int) -> Schema:
    """Do new work under this version. What was submitted keeps its own. Safe to repeat."""
    settings = _locked_settings(project)
    row = get_schema_version(project, version)
    _use(settings, row, actor)
    return row


def _use(settings: LabellingSettings, row: Schema, actor: User | None) -> None:
    before = settings.schema
    if before is not None and before.pk == row.pk:
        return
    settings.schema = row
    settings.save(update_fields=["schema"])
    data = {"before": before.version if before else None, "after": row.version}
    record(row, kind="schema_used", project=settings.project, actor=actor, data=data)


def mark_used(row: Schema) -> bool:
    """Freeze a version at its first answer; True where this call did it. Call it in the transaction that stores that.

    Raises Refusal "schema_changed" where the questions were replaced since `row` was read.
    """
    if row.used_at is not None:
        return False
    now = timezone.now()
    if Schema.objects.filter(pk=row.pk, used_at=None, sha256=row.sha256).update(used_at=now):
        row.used_at = now
        return True
    if Schema.objects.filter(pk=row.pk, sha256=row.sha256).exists():
        return False  # somebody else's submission was first
    raise Refusal(
        "schema_changed",
        _("The questions were changed while you answered."),
        _("Reload the page: your answers stay, and you see the questions as they are now."),
    )
