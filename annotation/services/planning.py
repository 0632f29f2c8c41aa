"""Making projects and the tasks in them."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from random import Random
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.errors import Invalid, Refusal
from accounts.models import User
from annotation.models import AuthoringSettings, LabellingSettings, Order, Task, Topic
from annotation.models.work import PRIORITY_STEP
from annotation.presets import PRESETS, Preset
from annotation.services.assignment import came_free
from annotation.services.schemas import save_schema
from dialogues.models import Dialogue, DialogueState
from projects.models import DialogueLanguage, Event, Membership, Project, Protocol, Role
from projects.transitions import record

PLAN = "annotation.plan"
MAX_PLANNED = 100_000
BATCH = 5_000
MAX_OVERLAP = 99


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
    if project.protocol != Protocol.AUTHORING:
        raise Refusal(
            "wrong_protocol",
            _("Only authoring projects plan dialogues that are not written yet."),
            _("Import dialogues, then plan them to be labelled."),
        )
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if _is_planned(plan_id, project):
        return 0
    Task.objects.bulk_create(
        [Task(project=project, priority=priority) for _n in range(count)], batch_size=BATCH
    )
    came_free(project)
    Event.objects.create(
        project=project,
        subject_type=PLAN,
        subject_id=str(plan_id),
        kind="planned",
        actor=actor,
        data={"count": count},
    )
    return count


def _is_planned(plan_id: UUID, project: Project) -> bool:
    """Whether this very plan was carried out before."""
    plan = Event.objects.filter(subject_type=PLAN, subject_id=str(plan_id)).first()
    if plan and plan.project_id != project.pk:
        raise Refusal("id_in_use", _("This id belongs to another plan."), _("Send it with a new one."))
    return plan is not None


@transaction.atomic
def plan_labelling(
    *,
    project: Project,
    actor: User | None,
    plan_id: UUID,
    overlap: int | None = None,
    group: str = "",
    priority: int = 0,
    dialogue_ids: Collection[int] | None = None,
) -> int:
    """Make tasks of the project's dialogues that have none. The same plan_id again adds nothing. Returns how many.

    overlap: how many people label each (the project's, where it is None). group: only these annotators; "": anybody.
    dialogue_ids: of these dialogues only.
    """
    settings = LabellingSettings.objects.select_for_update().filter(project=project).first()
    if settings is None:
        raise Refusal("wrong_protocol", _("Only labelling projects plan dialogues to be labelled."))
    people = settings.overlap if overlap is None else overlap
    if not 1 <= people <= MAX_OVERLAP:
        raise Invalid(
            _("Between 1 and %(limit)d people can label a dialogue.") % {"limit": MAX_OVERLAP},
            field="overlap",
        )
    if _is_planned(plan_id, project):
        return 0
    waiting = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED, tasks=None).order_by(
        "id"
    )
    if dialogue_ids is not None:
        waiting = waiting.filter(pk__in=dialogue_ids)
    made = _make_tasks(settings, list(waiting.values_list("pk", flat=True)), people, group.strip(), priority)
    Event.objects.create(
        project=project,
        subject_type=PLAN,
        subject_id=str(plan_id),
        kind="planned",
        actor=actor,
        data={"count": made, "overlap": people, "group": group, "priority": priority},
    )
    return made


def plan_new(project: Project, dialogues: Sequence[Dialogue]) -> None:
    """Imported dialogues of a labelling project become tasks, where it is set so; inside the import's transaction."""
    settings = LabellingSettings.objects.filter(project=project).first()
    if settings is not None and settings.plan_imported:
        _make_tasks(settings, [dialogue.pk for dialogue in dialogues], settings.overlap, "", 0)


def _make_tasks(
    settings: LabellingSettings, dialogues: Sequence[int], overlap: int, group: str, priority: int
) -> int:
    project = settings.project
    Task.objects.bulk_create(
        (
            Task(
                project=project,
                dialogue_id=dialogue,
                overlap=overlap,
                open_slots=overlap,
                group=group,
                priority=priority,
                place=place_of(settings, dialogue),
            )
            for dialogue in dialogues
        ),
        batch_size=BATCH,
    )
    if dialogues:
        came_free(project)
    return len(dialogues)


def place_of(settings: LabellingSettings, dialogue: int) -> int:
    """Where the dialogue stands: by its id as imported, or drawn from the id, so that it is the same every time."""
    if settings.order == Order.GIVEN:
        return dialogue % PRIORITY_STEP
    return Random(f"{settings.project_id}/{dialogue}").randrange(PRIORITY_STEP)
