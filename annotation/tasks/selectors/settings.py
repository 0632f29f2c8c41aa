"""The settings that every protocol has."""

from typing import cast

from annotation.tasks.models.work import WorkSettings
from projects.models import Project, Protocol


def work_settings(project: Project) -> WorkSettings:
    """The settings of the project's protocol; no query if they were fetched with the project."""
    settings = project.labelling if project.protocol == Protocol.LABELLING else project.authoring
    return cast(WorkSettings, settings)
