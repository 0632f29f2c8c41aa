"""Making projects and the tasks in them."""

from dataclasses import asdict
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import AuthoringSettings, Topic
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.services.schemas import save_schema
from annotation.project_setup.presets import PRESETS, Preset
from common.refusals import Invalid, Refusal
from projects.models import DialogueLanguage, Event, Membership, Project, Protocol, Role
from projects.transitions import record


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
    _furnish(project, chosen, actor)
    if actor is not None:
        Membership.objects.create(project=project, user=actor, roles=[Role.MANAGER])
    told = {"preset": preset, "creation_id": str(creation_id or "")}
    record(project, kind="created", project=project, actor=actor, data=told)
    return project


def _furnish(project: Project, chosen: Preset, actor: User | None) -> None:
    """What a project of the preset's protocol has from the start."""
    if chosen.protocol == Protocol.LABELLING:
        defaults = asdict(chosen.labelling) if chosen.labelling else {}
        settings = LabellingSettings.objects.create(project=project, **defaults)
        if chosen.schema is not None:
            save_schema(project=project, actor=actor, content=chosen.schema, save_id=uuid4())
            settings.refresh_from_db()
        return
    AuthoringSettings.objects.create(project=project)
    Topic.objects.bulk_create(
        Topic(project=project, language=topic.language, title=topic.title, example=topic.example)
        for topic in chosen.topics
        if project.language in (DialogueLanguage.MIXED, topic.language)
    )


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
