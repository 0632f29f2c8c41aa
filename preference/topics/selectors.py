"""The topics of a project, how often they occur, and the runs that tag dialogues."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from dialogues.models import Dialogue, DialogueState, Utterance
from dialogues.services.topics import MACHINES
from preference.evaluators.selectors.scoring import usable_models
from preference.registry.models import ModelKind, RegisteredModel
from preference.topics.models import TaggingRun, TopicList
from preference.training.topics.categories import CATEGORIES, Category
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

RELATED = ("job", "project", "model", "created_by")
READ_AT_ONCE = 400  # dialogues
MOST_MODELS = 100


def categories_of(project: Project) -> tuple[Category, ...]:
    """The topics that a dialogue of the project can have; the usual 26 unless its managers changed them."""
    own = TopicList.objects.filter(project=project).first()
    return tuple(Category(**one) for one in own.categories) if own else CATEGORIES


def category_name(category: Category) -> str:
    """In the active language."""
    return category.zh if (get_language() or "").startswith("zh") else category.en


def topic_names(project: Project) -> dict[str, str]:
    """Names in the active language by id, in the order of the list."""
    return {category.id: category_name(category) for category in categories_of(project)}


def ids_by_name(categories: Sequence[Category]) -> Mapping[str, str]:
    """Ids by every way to write a topic in a file: the id itself, or a name in either language."""
    return {text.casefold(): one.id for one in categories for text in (one.en, one.zh, one.id)}


def tagging_runs_of(project: Project) -> QuerySet[TaggingRun]:
    """The project's runs, the newest first."""
    rows = TaggingRun.objects.filter(project=project).select_related(*RELATED)
    return rows.defer("description", "categories").order_by("-created_at", "-id")


def tagging_run_for(user: User, run_id: UUID) -> TaggingRun:
    """The run, for members of its project who may train."""
    run = TaggingRun.objects.select_related(*RELATED).filter(pk=run_id).first()
    if run is None or Capability.TRAIN not in capabilities_of(user, run.project):
        raise NotFound(
            _("There is no such tagging run."), _("It may belong to a project that you have left.")
        )
    return run


def has_tags(run: TaggingRun) -> bool:
    """Whether there are topics that undoing the run would remove."""
    return Dialogue.objects.filter(topic_job=run.job_id, topic_source__in=MACHINES).exists()


def taggable_dialogues(project: Project, *, replaces: bool) -> QuerySet[Dialogue]:
    """Finished dialogues without a topic; with `replaces` also those that a machine tagged."""
    free = Q(topic_source="") | Q(topic_source__in=MACHINES) if replaces else Q(topic_source="")
    rows = Dialogue.objects.filter(free, project=project, state=DialogueState.FINISHED, utterance_count__gt=0)
    return rows.order_by("id")


def rows_to_tag(project: Project, *, replaces: bool) -> Iterator[dict[str, Any]]:
    """Rows {"id", "dialogue": [{"role", "content"}]}; dialogues without any words are left out."""
    after = 0
    taggable = taggable_dialogues(project, replaces=replaces).values_list("pk", flat=True)
    while page := list(taggable.filter(pk__gt=after)[:READ_AT_ONCE]):
        spoken: dict[int, list[dict[str, str]]] = {pk: [] for pk in page}
        rows = Utterance.objects.filter(dialogue__in=page).order_by("dialogue_id", "position")
        for dialogue, speaker, text in rows.values_list("dialogue_id", "speaker", "text"):
            spoken[dialogue].append({"role": speaker, "content": text})
        for dialogue, turns in spoken.items():
            if any(turn["content"].strip() for turn in turns):
                yield {"id": str(dialogue), "dialogue": turns}
        after = page[-1]


@dataclass(frozen=True, slots=True)
class TopicCount:
    """Dialogues with a topic. language: "" if it is not stated; topic: "" for dialogues without one."""

    topic: str
    language: str
    source: str
    dialogues: int


def count_topics(project: Project) -> list[TopicCount]:
    """Finished dialogues by topic, language and source; one query."""
    rows = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED).order_by()
    columns = ("topic", "language", "topic_source")
    return [TopicCount(*row) for row in rows.values_list(*columns).annotate(n=Count("id"))]


def count_domains(project: Project) -> dict[str, int]:
    """Finished dialogues by domain, the most frequent first; "" if it is not stated. One query."""
    rows = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED).order_by()
    return dict(rows.values_list("domain").annotate(n=Count("id")).order_by("-n", "domain"))


def topic_models(user: User, project: Project) -> list[RegisteredModel]:
    """Topic models that the person may use; the project's own first."""
    models = usable_models(user, [ModelKind.TOPICS])[:MOST_MODELS]
    return sorted(models, key=lambda model: model.project_id != project.pk)
