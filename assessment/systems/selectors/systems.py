"""Finds the systems of a project, and what new ones may use."""

from collections.abc import Sequence

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.systems.models import System
from assessment.systems.selectors.corpus import corpus_dialogues
from common.refusals import NotFound
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, projects_for


def systems_of(project: Project) -> QuerySet[System]:
    """All systems of the project, retired ones last, with the number of their sessions that were not voided."""
    rows = System.objects.filter(project=project).select_related("generator", "corpus", "project")
    # By the value of the state: sessions belong to a room above.
    counted = rows.annotate(session_count=Count("sessions", filter=~Q(sessions__state="voided")))
    return counted.order_by(F("retired_at").asc(nulls_first=True), "name")


def system_in(project: Project, system_id: int) -> System:
    """A system of the project. Raises NotFound."""
    row = systems_of(project).filter(pk=system_id).first()
    if row is None:
        raise NotFound(
            _("There is no such system in this project."), _("Choose one from the list of systems.")
        )
    return row


def corpora_for(user: User) -> list[Project]:
    """Projects whose dialogues the user may read."""
    return [
        project
        for project in projects_for(user).order_by("slug")
        if Capability.READ_DIALOGUES in capabilities_of(user, project)
    ]


def corpora_with_dialogues(projects: Sequence[Project]) -> list[Project]:
    """Those of the projects that have dialogues to take replies and words from. One query."""
    chosen = Project.objects.filter(pk__in=[project.pk for project in projects])
    filled = set(chosen.filter(Exists(corpus_dialogues(OuterRef("pk")))).values_list("pk", flat=True))
    return [project for project in projects if project.pk in filled]


def is_large_enough(corpus: Project) -> bool:
    """Whether a degraded reply can be made: its words come from another dialogue than the reply."""
    return corpus_dialogues(corpus.pk)[:2].count() == 2


def may_be_corpus(corpus: Project, project: Project, actor: User | None) -> bool:
    """Participants see words of the corpus, so whoever chooses it must be allowed to read it."""
    if actor is None or corpus.pk == project.pk:
        return True
    return Capability.READ_DIALOGUES in capabilities_of(actor, corpus)
