"""The versions of a project's guidelines, and which one a person has read."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from accounts.models import User
from annotation.onboarding.models import GuidelinesRead
from projects.models import Event, Project

MAX_VERSIONS = 50
FIELDS = {"en": "guidelines_en", "zh": "guidelines_zh"}


def _edits(project: Project) -> QuerySet[Event]:
    """Newest first. Each event has the texts from before it (projects.services.update_project)."""
    changed = Q(data__changed__contains=["guidelines_en"]) | Q(data__changed__contains=["guidelines_zh"])
    rows = Event.objects.filter(
        changed, subject_type="projects.project", subject_id=str(project.pk), kind="edited"
    )
    return rows.select_related("actor").order_by("-id")


def guidelines_version(project: Project) -> int:
    """1 for the first text, one more for every change."""
    return _edits(project).count() + 1


def changed_since_read(user: User, project: Project) -> bool:
    """Whether the guidelines changed since the person last confirmed that they have read them."""
    read = GuidelinesRead.objects.filter(project=project, user=user).values_list("version", flat=True).first()
    return guidelines_version(project) > (read or 1)


@dataclass(frozen=True, slots=True)
class GuidelinesVersion:
    """One language's text after a change, the text before it, and who changed it when."""

    number: int
    text: str
    before: str
    at: datetime
    by: str


def guidelines_versions(project: Project, language: str) -> list[GuidelinesVersion]:
    """The changes of one language's text among the last MAX_VERSIONS edits, newest first."""
    name = FIELDS[language]
    text: str = getattr(project, name)
    versions, number = [], guidelines_version(project)
    for event in _edits(project)[:MAX_VERSIONS]:
        before = event.data.get("before", {}).get(name)
        if before is not None:
            by = event.actor.shown_name if event.actor else ""
            versions.append(GuidelinesVersion(number, text, before, event.at, by))
            text = before
        number -= 1
    return versions
