"""Making projects and the tasks in them."""

from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.errors import Invalid, Refusal
from accounts.models import User
from annotation.models import AuthoringSettings, Task, Topic
from annotation.presets import PRESETS, Preset
from projects.models import DialogueLanguage, Event, Membership, Project, Role
from projects.transitions import record

MAX_PLANNED = 100_000
BATCH = 5_000


@transaction.atomic
def create_project(
    *,
    slug: str,
    preset: str,
    actor: User | None,
    title: str = "",
    language: str = DialogueLanguage.MIXED,
    description: str = "",
    creation_id: UUID | None = None,
) -> Project:
    """Make a project from a preset, with its settings, topics and guidelines; `actor` becomes its manager.

    creation_id: made by the client; the same again returns the first project.
    """
    if creation_id and (made := _made_before(creation_id, slug, actor)):
        return made
    chosen = preset_named(preset)
    project = Project(
        slug=slug,
        title=title or slug,
        description=description,
        protocol=chosen.protocol,
        preset=preset,
        language=language,
        guidelines_en=chosen.guidelines_en,
        guidelines_zh=chosen.guidelines_zh,
    )
    _check(project)
    try:
        with transaction.atomic():
            project.save()
    except IntegrityError as error:  # somebody took the short name since it was checked
        raise _slug_taken(slug) from error
    AuthoringSettings.objects.create(project=project)
    Topic.objects.bulk_create(
        Topic(project=project, language=topic.language, title=topic.title, example=topic.example)
        for topic in chosen.topics
        if language in (DialogueLanguage.MIXED, topic.language)
    )
    if actor is not None:
        Membership.objects.create(project=project, user=actor, roles=[Role.MANAGER])
    told = {"preset": preset, "creation_id": str(creation_id or "")}
    record(project, kind="created", project=project, actor=actor, data=told)
    return project


def _made_before(creation_id: UUID, slug: str, actor: User | None) -> Project | None:
    made = (
        Event.objects.filter(project__slug=slug, kind="created", actor=actor)
        .select_related("project")
        .first()
    )
    return made.project if made and made.data.get("creation_id") == str(creation_id) else None


def preset_named(name: str) -> Preset:
    if name not in PRESETS:
        raise Invalid(
            _("There is no preset “%(name)s”.") % {"name": name},
            _("Choose one of: %(names)s.") % {"names": ", ".join(PRESETS)},
            field="preset",
        )
    return PRESETS[name]


def _check(project: Project) -> None:
    if Project.objects.filter(slug=project.slug).exists():
        raise _slug_taken(project.slug)
    try:
        project.full_clean()
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(f"{field}: {' '.join(texts)}", field=field) from error


def _slug_taken(slug: str) -> Refusal:
    return Refusal(
        "slug_taken",
        _("There is already a project “%(slug)s”.") % {"slug": slug},
        _("Choose another short name."),
        details={"field": "slug"},
    )


@transaction.atomic
def plan_dialogues(
    *, project: Project, actor: User | None, count: int, plan_id: UUID, priority: int = 0
) -> int:
    """Add `count` dialogues to be written. The same plan_id again adds nothing. Returns how many tasks it made."""
    if not 1 <= count <= MAX_PLANNED:
        raise Invalid(
            _("Between 1 and %(limit)d dialogues can be planned at once.") % {"limit": MAX_PLANNED},
            field="count",
        )
    Project.objects.select_for_update().get(pk=project.pk)
    if Event.objects.filter(subject_type="annotation.plan", subject_id=str(plan_id)).exists():
        return 0
    Task.objects.bulk_create(
        [Task(project=project, priority=priority) for _n in range(count)], batch_size=BATCH
    )
    Event.objects.create(
        project=project,
        subject_type="annotation.plan",
        subject_id=str(plan_id),
        kind="planned",
        actor=actor,
        data={"count": count},
    )
    return count
