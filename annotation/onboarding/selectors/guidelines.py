"""The versions of a project's guidelines, and which one a person has read."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from accounts.models import User
from annotation.onboarding.models import GuidelinesRead
from projects.models import Event, Project

VERSIONS_SHOWN = 50
FIELDS = {"en": "guidelines_en", "zh": "guidelines_zh"}


def _edits(project: Project) -> QuerySet[Event]:
    """Newest first; an event keeps the texts from before it (projects.services.update_project)."""
    changed = Q(data__changed__contains=["guidelines_en"]) | Q(data__changed__contains=["guidelines_zh"])
    rows = Event.objects.filter(
        changed, subject_type="projects.project", subject_id=str(project.pk), kind="edited"
    )
    return rows.select_related("actor").order_by("-id")


def version_of(project: Project) -> int:
    """1 for the first text, one more for every change."""
    return _edits(project).count() + 1


def is_changed_for(user: User, project: Project) -> bool:
    """Whether the guidelines were changed since the person said that they have read them."""
    read = GuidelinesRead.objects.filter(project=project, user=user).values_list("version", flat=True).first()
    return version_of(project) > (read or 1)


@dataclass(frozen=True, slots=True)
class Version:
    """One language's text, what it was before, and who changed it when."""

    number: int
    text: str
    before: str
    at: datetime
    by: str


def history_of(project: Project, language: str) -> list[Version]:
    """The changes of one language's text, newest first, the last VERSIONS_SHOWN edits."""
    name = FIELDS[language]
    text: str = getattr(project, name)
    versions, number = [], version_of(project)
    for event in _edits(project)[:VERSIONS_SHOWN]:
        before = event.data.get("before", {}).get(name)
        if before is not None:
            by = event.actor.shown_name if event.actor else ""
            versions.append(Version(number, text, before, event.at, by))
            text = before
        number -= 1
    return versions
