"""The language of imported dialogues whose file names none."""

from collections.abc import Callable
from typing import cast

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from common.languages import standard_language_code
from dialogues.models import Dialogue
from dialogues.services.imports import check_language_code
from jobs.models import Job
from projects.locking import lock_project
from projects.models import Project
from projects.services import check_not_archived
from projects.transitions import record

# Higher apps add what follows from the language of these dialogues when they are ready. They run before the dialogues
# change, because tasks are locked before dialogues.
BEFORE_LANGUAGE_SET: list[Callable[[Project, QuerySet[Dialogue], str], None]] = []


def without_language(job: Job) -> QuerySet[Dialogue]:
    """The dialogues of an import that have no language."""
    return Dialogue.objects.filter(import_job=job, language="").order_by()


@transaction.atomic
def set_missing_language(*, job: Job, actor: User | None, language: str) -> int:
    """Give a language to the dialogues of the import that have none; returns their number. Safe to repeat.

    Raises Invalid (language), Refusal "archived".
    """
    check_language_code(language)
    language = standard_language_code(language)
    project = lock_project(cast(Project, job.project).pk)
    check_not_archived(project)
    rows = without_language(job)
    for follow in BEFORE_LANGUAGE_SET:
        follow(project, rows, language)
    changed = rows.update(language=language)
    if changed:
        data = {"name": job.parameters["name"], "count": changed, "language": language}
        record(job, kind="language_set", project=project, actor=actor, data=data)
    return changed
