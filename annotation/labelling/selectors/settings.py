"""Finds labelling projects, and what their settings ask for that they lack."""

from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import Resolution
from common.refusals import NotFound
from projects.models import Membership, Project, Protocol
from projects.roles import Capability, roles_with
from projects.selectors import project_for


def labelling_project(user: User, slug: str, capability: Capability = Capability.SEE) -> Project:
    """The project, if the user has the capability. Raises NotFound for a project of another protocol."""
    project = project_for(user, slug, capability)
    if project.protocol != Protocol.LABELLING:
        raise NotFound(
            _("“%(slug)s” is not a labelling project.") % {"slug": slug}, _("Choose a labelling project.")
        )
    return project


def lacks_trainer(project: Project) -> bool:
    """Whether disputes may arise in a labelling project, but nobody could decide them."""
    settings = project.labelling
    if settings.overlap < 2 or settings.resolution == Resolution.COLLECT:
        return False
    return not has_trainer(project)


def has_trainer(project: Project) -> bool:
    """Whether somebody who can sign in may decide disputes."""
    trainers = Membership.objects.filter(roles__overlap=roles_with(Capability.DECIDE), user__is_active=True)
    return trainers.filter(project=project).exists()
