"""Copies a project: its settings, questions and guidelines, not its dialogues; people only if asked."""

from collections.abc import Callable, Collection
from itertools import chain, count
from uuid import UUID, uuid4

from django.db import models, transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import AuthoringSettings, Topic
from annotation.batch_review.models import BatchPlan
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.services.schemas import save_schema
from annotation.onboarding.models import AdmissionTest
from annotation.project_setup.services import create_project
from projects.models import Membership, Project, Protocol
from projects.transitions import record

TITLE_KEPT = 180  # characters of a title, which leaves room for the number of the copy
COPIED_TEXTS = ("description", "guidelines_en", "guidelines_zh")
# By protocol; higher apps add theirs when they are ready.
SETTINGS_COPIERS: dict[str, Callable[[Project, Project], None]] = {}


def suggest_copy_title(source: Project, taken: Collection[str]) -> str:
    """A title for a copy that none of the others has: "QA (copy)", then "QA (copy 2)"."""
    title = source.title[:TITLE_KEPT]
    first = _("%(title)s (copy)") % {"title": title}
    numbered = (_("%(title)s (copy %(n)d)") % {"title": title, "n": n} for n in count(2))
    return next(one for one in chain([first], numbered) if one not in taken)


@transaction.atomic
def copy_project(
    *,
    source: Project,
    actor: User,
    slug: str = "",
    title: str,
    with_people: bool = False,
    creation_id: UUID | None = None,
) -> Project:
    """Create a project like `source`, without dialogues. `actor` becomes its manager. Safe to repeat by creation_id.

    with_people: members with their roles and groups come along. An admission test is copied switched off, because its
    examples are dialogues. Raises what create_project raises.
    """
    preset = source.preset or _blank_preset(source)
    made = create_project(
        slug=slug, preset=preset, actor=actor, title=title, language=source.language, creation_id=creation_id
    )
    if made.events.filter(kind="copied").exists():
        return made
    for name in COPIED_TEXTS:
        setattr(made, name, getattr(source, name))
    made.save(update_fields=COPIED_TEXTS)
    _copy_settings(source, made, actor)
    if with_people:
        _copy_people(source, made, actor)
    data = {"slug": source.slug, "with_people": with_people}
    record(made, kind="copied", project=made, actor=actor, data=data)
    return made


def _blank_preset(source: Project) -> str:
    return {
        Protocol.LABELLING: "blank-labelling",
        Protocol.AUTHORING: "blank-authoring",
        Protocol.ASSESSMENT: "live-assessment",
    }[Protocol(source.protocol)]


def _copy_settings(source: Project, made: Project, actor: User) -> None:
    if source.protocol == Protocol.LABELLING:
        copy_row(source.labelling, LabellingSettings, made, leave_out=("schema", "epoch"))
        if source.labelling.schema is not None:
            save_schema(project=made, actor=actor, content=source.labelling.schema.content, save_id=uuid4())
    elif source.protocol == Protocol.AUTHORING:
        copy_row(source.authoring, AuthoringSettings, made, leave_out=("epoch", *_own_models(source)))
        Topic.objects.filter(project=made).delete()
        topics = Topic.objects.filter(project=source).values("language", "title", "example")
        Topic.objects.bulk_create(Topic(project=made, **topic) for topic in topics)
    elif copier := SETTINGS_COPIERS.get(source.protocol):
        copier(source, made)
    if plan := BatchPlan.objects.filter(project=source).first():
        copy_row(plan, BatchPlan, made)
    if test := AdmissionTest.objects.filter(project=source).first():
        copy_row(test, AdmissionTest, made, leave_out=("is_on", "edition"))


def _own_models(source: Project) -> list[str]:
    """The settings that name a model of the source project, which other projects may not use."""
    settings = source.authoring
    named = {"generator": settings.generator, "second_generator": settings.second_generator}
    return [name for name, generator in named.items() if generator is not None and generator.project_id]


def copy_row(
    row: models.Model, model: type[models.Model], made: Project, leave_out: tuple[str, ...] = ()
) -> None:
    """Give the project the values of another one's row, which has the project as its key."""
    fields = [field for field in model._meta.concrete_fields if field.name not in ("project", *leave_out)]
    values = {field.attname: getattr(row, field.attname) for field in fields}
    model._default_manager.update_or_create(project=made, defaults=values)


def _copy_people(source: Project, made: Project, actor: User) -> None:
    rows = Membership.objects.filter(project=source, user__is_active=True).exclude(user=actor)
    Membership.objects.bulk_create(
        (Membership(project=made, user_id=row.user_id, roles=row.roles, group=row.group) for row in rows),
        ignore_conflicts=True,
    )
    if own := Membership.objects.filter(project=source, user=actor).first():
        # Whoever copies a project manages the copy, besides their other roles.
        roles = list(dict.fromkeys([*own.roles, "manager"]))
        Membership.objects.filter(project=made, user=actor).update(roles=roles, group=own.group)
