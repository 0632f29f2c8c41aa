"""Finds assessment projects."""

from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for


def assessment_project(user: User, slug: str, capability: Capability = Capability.SEE) -> Project:
    """The project, if the user has the capability. Raises NotFound for a project of another protocol."""
    project = project_for(user, slug, capability)
    if project.protocol != Protocol.ASSESSMENT:
        raise NotFound(
            _("“%(slug)s” is not an assessment project.") % {"slug": slug}, _("Choose an assessment project.")
        )
    return project
