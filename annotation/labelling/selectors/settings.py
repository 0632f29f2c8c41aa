"""The labelling settings of a project."""

from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
from common.refusals import NotFound
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for


def labelling_of(project: Project) -> LabellingSettings | None:
    """The settings of a labelling project; None for other protocols."""
    if project.protocol != Protocol.LABELLING:
        return None
    return LabellingSettings.objects.select_related("schema").filter(project=project).first()


def labelling_project(user: User, slug: str, capability: Capability = Capability.SEE) -> Project:
    project = project_for(user, slug, capability)
    if project.protocol != Protocol.LABELLING:
        raise NotFound(
            _("“%(slug)s” is no labelling project.") % {"slug": slug}, _("Choose a labelling project.")
        )
    return project
