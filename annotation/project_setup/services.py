"""Creating projects from presets."""

from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from typing import Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import AuthoringSettings, Topic
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.services.schemas import save_schema
from annotation.project_setup.presets.preset import Preset
from annotation.project_setup.presets.registry import PRESETS
from common.idempotency import check_repeat
from common.model_validation import full_clean_or_refuse
from common.refusals import Invalid, Refusal
from projects.models import DialogueLanguage, Event, Membership, Project, Protocol, Role
from projects.transitions import record

LONGEST_STEM: Final = 60  # characters of a short name that is made from a title
# By protocol; higher apps add theirs when they are ready.
SETTINGS_CREATORS: dict[str, Callable[[Project], None]] = {}


@transaction.atomic
def create_project(
    *,
    slug: str = "",
    preset: str,
    actor: User | None,
    title: str = "",
    language: str = DialogueLanguage.MIXED,
    description: str = "",
    creation_id: UUID | None = None,
) -> Project:
    """Create a project from a preset, with its settings, topics and guidelines. `actor` becomes its manager.

    slug: made from the title if empty. creation_id: made by the client; the same id again returns the first project.
    Raises Invalid, or Refusal: slug_taken, id_in_use (the creation_id was sent with another request).
    """
    request = {"slug": slug, "preset": preset, "title": title or slug, "language": language}
    if creation_id and (created := _created_before(creation_id, actor, request)):
        return created
    chosen = preset_named(preset)
    slug = slug or free_slug(title)
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
    except IntegrityError as error:  # another request took the short name after the check
        raise _slug_taken(slug) from error
    _create_settings(project, chosen, actor)
    if actor is not None:
        Membership.objects.create(project=project, user=actor, roles=[Role.MANAGER])
    event_data = {**request, "creation_id": str(creation_id or "")}
    record(project, kind="created", project=project, actor=actor, data=event_data)
    return project


def _create_settings(project: Project, chosen: Preset, actor: User | None) -> None:
    """Create the settings and topics that the preset gives a new project."""
    if chosen.protocol == Protocol.LABELLING:
        defaults = asdict(chosen.labelling) if chosen.labelling else {}
        settings = LabellingSettings.objects.create(project=project, **defaults)
        if chosen.schema is not None:
            save_schema(project=project, actor=actor, content=chosen.schema, save_id=uuid4())
            settings.refresh_from_db()
        return
    if create_settings := SETTINGS_CREATORS.get(chosen.protocol):
        create_settings(project)
        return
    AuthoringSettings.objects.create(project=project)
    Topic.objects.bulk_create(
        Topic(project=project, language=topic.language, title=topic.title, example=topic.example)
        for topic in chosen.topics
        if project.language in (DialogueLanguage.MIXED, topic.language)
    )


def free_slug(title: str) -> str:
    """A short name that no project has, like “film-talk”, “film-talk-2”, or “project” without Latin letters."""
    stem = slugify(title)[:LONGEST_STEM].strip("-_") or "project"
    taken = set(Project.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    return next(slug for n in count(1) if (slug := stem if n == 1 else f"{stem}-{n}") not in taken)


def _created_before(creation_id: UUID, actor: User | None, request: dict[str, str]) -> Project | None:
    """The project that a request with this id created. Raises Refusal id_in_use if it was another request."""
    created = Event.objects.filter(
        subject_type=Project._meta.label_lower, kind="created", data__creation_id=str(creation_id)
    )
    event = created.exclude(project=None).select_related("project").first()
    if event is None or event.project is None:
        return None
    check_repeat(event, actor_id=actor.pk if actor else None)
    # Early events contain the preset only.
    check_repeat({**request, "slug": event.project.slug, **event.data}, **request)
    return event.project


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
    full_clean_or_refuse(project)


def _slug_taken(slug: str) -> Refusal:
    return Refusal(
        "slug_taken",
        _("There is already a project “%(slug)s”.") % {"slug": slug},
        _("Choose another short name."),
        details={"field": "slug"},
    )
