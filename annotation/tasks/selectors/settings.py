"""A project's settings for work, whatever its protocol."""

from typing import cast

from annotation.tasks.models.work import WorkSettings
from projects.models import Project, Protocol


def work_settings(project: Project) -> WorkSettings:
    """The settings that say how long tasks are held and so on; no query if they were fetched with the project."""
    settings = project.labelling if project.protocol == Protocol.LABELLING else project.authoring
    return cast(WorkSettings, settings)
