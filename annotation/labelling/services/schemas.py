"""Saves a project's list of questions. A used version is frozen, because submissions refer to it."""

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
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.models import Event, Project, Protocol
from projects.transitions import record, record_request

SAVE = "annotation.schema_save"


@dataclass(frozen=True, slots=True)
class SavedSchema:
    """is_new: whether a version was added or its questions were replaced."""

    row: Schema
    is_new: bool


def validate_schema(content: Mapping[str, Any] | str) -> QuestionSchema:
    """Read JSON content or YAML without storing it. Raises Invalid with `details["problems"]`."""
    try:
        return read_yaml(content) if isinstance(content, str) else read_schema(content)
    except InvalidSchema as errors:
        raise schema_refusal(errors) from errors


def schema_refusal(errors: InvalidSchema) -> Invalid:
    first, count = errors.problems[0], len(errors.problems)
    location = (
        _("Line %(line)d: ") % {"line": first.line} if first.line else f"{first.path}: " * bool(first.path)
    )
    others = ngettext("%(n)d more problem.", "%(n)d more problems.", count - 1) % {"n": count - 1}
    remedy = f"{first.remedy} {others}".strip() if count > 1 else first.remedy
    problems = [problem.as_dict() for problem in errors.problems]
    return Invalid(f"{location}{first.message}", remedy, field="schema", problems=problems)


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
    """Store questions as the next version, or replace the newest version if it is not in use.

    content: as JSON data or as YAML. use: whether new work uses this version. based_on: the checksum of the newest
    version that the author has seen. Questions equal to the newest version's do not create a version; sending save_id
    again returns the first result. Raises Invalid, and Refusal `no_schema`, `id_in_use`, or `schema_newer` if somebody
    has saved another version since `based_on`.
    """
    schema = validate_schema(content)
    settings = _locked_settings(project)
    if saved_row := _find_save(save_id, project, schema):
        return SavedSchema(saved_row, is_new=False)
    newest = newest_version(project)
    if newest is not None and based_on and newest.sha256 not in (based_on, schema.sha256):
        raise _newer_schema(newest)
    if newest is not None and newest.sha256 == schema.sha256:
        saved = SavedSchema(newest, is_new=False)
    else:
        saved = SavedSchema(_store(project, actor, schema, newest), is_new=True)
    data = {"version": saved.row.version, "sha256": saved.row.sha256, "is_new": saved.is_new}
    record_request(SAVE, save_id, kind="schema_saved", project=project, actor=actor, data=data)
    if use:
        _use(settings, saved.row, actor)
    return saved


def _newer_schema(newest: Schema) -> Refusal:
    by = newest.created_by.shown_name if newest.created_by else _("Somebody")
    return Refusal(
        "schema_newer",
        _("%(name)s saved version %(n)d while you were writing.") % {"name": by, "n": newest.version},
        _("Compare the two, then save yours as the next version or keep the newer one."),
        details={"version": newest.version, "sha256": newest.sha256},
    )


def _locked_settings(project: Project) -> LabellingSettings:
    """Locked, so that two concurrent saves create two versions."""
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
            _("Create a project from a labelling preset."),
        )
    return settings


def _find_save(save_id: UUID, project: Project, schema: QuestionSchema) -> Schema | None:
    event = Event.objects.filter(subject_type=SAVE, subject_id=str(save_id)).first()
    if event is None:
        return None
    first = {**event.data, "project": event.project_id}
    check_repeat(first, project=project.pk, sha256=schema.sha256)
    return get_schema_version(project, event.data["version"])


def _store(project: Project, actor: User | None, schema: QuestionSchema, newest: Schema | None) -> Schema:
    values = {"content": schema.content, "sha256": schema.sha256}
    if newest is not None and is_replaceable(newest):
        author = {"created_by": actor, "created_at": timezone.now()}
        # A concurrent submission may freeze the version; then the next version is created.
        if Schema.objects.filter(pk=newest.pk, used_at=None).update(**values, **author):
            newest.refresh_from_db()
            return newest
    version = newest.version + 1 if newest else 1
    return Schema.objects.create(project=project, version=version, created_by=actor, **values)


def is_replaceable(row: Schema) -> bool:
    """Whether nobody has answered the version, no gold dialogue uses it, and nobody was ever assigned a dialogue.

    Any assignment counts, even an expired one: these questions may still be open on somebody's screen.
    """
    assignments = Assignment.objects.filter(project=row.project_id)
    gold = GoldDialogue.objects.filter(schema=row)
    return row.used_at is None and not assignments.exists() and not gold.exists()


@transaction.atomic
def use_schema(*, project: Project, actor: User | None, version: int) -> Schema:
    """Use this version for new work. Existing submissions keep theirs. Safe to repeat."""
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
    """Freeze a version at its first answer. Returns True if this call froze it.

    Call it in the transaction that stores the answer. Raises Refusal `schema_changed` if the questions were replaced
    since `row` was read.
    """
    if row.used_at is not None:
        return False
    now = timezone.now()
    if Schema.objects.filter(pk=row.pk, used_at=None, sha256=row.sha256).update(used_at=now):
        row.used_at = now
        return True
    if Schema.objects.filter(pk=row.pk, sha256=row.sha256).exists():
        return False  # another submission was first
    raise Refusal(
        "schema_changed",
        _("The questions were changed while you were answering."),
        _("Reload the page: your answers are kept, and you see the current questions."),
    )
