"""How a project's dialogues are written."""

from django.utils.translation import gettext as _

from accounts.errors import NotFound
from annotation.models import AuthoringSettings
from projects.models import Project


def authoring_of(project: Project) -> AuthoringSettings:
    """The settings of a project of the protocol `authoring`; NotFound for other protocols."""
    settings = AuthoringSettings.objects.select_related("generator").filter(project=project).first()
    if settings is None:
        raise NotFound(_("No dialogues are written in this project."), _("Its protocol is another one."))
    return settings
