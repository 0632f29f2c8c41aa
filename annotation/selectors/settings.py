"""A project's settings for work, whatever its protocol."""

from annotation.models import AuthoringSettings, LabellingSettings
from projects.models import Project, Protocol

Settings = AuthoringSettings | LabellingSettings


def work_settings(project: Project) -> Settings:
    """How long tasks are held and so on; read with the project where it was fetched with them."""
    return project.labelling if project.protocol == Protocol.LABELLING else project.authoring


def labelling_of(project: Project) -> LabellingSettings | None:
    """The settings of a labelling project; None for other protocols."""
    if project.protocol != Protocol.LABELLING:
        return None
    return LabellingSettings.objects.select_related("schema").filter(project=project).first()
