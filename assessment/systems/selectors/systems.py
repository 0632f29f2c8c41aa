"""Finds the systems of a project, and what new ones may use."""

from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.systems.models import System
from common.refusals import NotFound
from generation.models import Generator
from generation.selectors import servable_generators
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


def usable_generators() -> QuerySet[Generator]:
    """The models of this server that a system may be."""
    return servable_generators().order_by("slug")


def corpora_for(user: User) -> list[Project]:
    """Projects whose dialogues the user may read."""
    return [
        project
        for project in projects_for(user).order_by("slug")
        if Capability.READ_DIALOGUES in capabilities_of(user, project)
    ]


def may_be_corpus(corpus: Project, project: Project, actor: User | None) -> bool:
    """Participants see words of the corpus, so whoever chooses it must be allowed to read it."""
    if actor is None or corpus.pk == project.pk:
        return True
    return Capability.READ_DIALOGUES in capabilities_of(actor, corpus)
