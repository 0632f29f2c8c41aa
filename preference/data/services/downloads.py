"""Who took which data, and when: the project's events are its audit trail."""

from django.db import models

from accounts.models import User
from projects.models import Project
from projects.transitions import record

DOWNLOADED = "downloaded"


def record_download(*, person: User, project: Project, row: models.Model, name: str) -> None:
    """Record that a file with data of the project is downloaded. row: the export, snapshot or scoring that it is of."""
    record(row, kind=DOWNLOADED, project=project, actor=person, data={"file": name})
