"""The settings of an authoring project."""

from django.utils.translation import gettext as _

from annotation.authoring.models import AuthoringSettings
from common.refusals import NotFound
from dialogues.models import CandidateSet
from projects.models import Project


def authoring_settings_of(project: Project) -> AuthoringSettings:
    """The settings of a project of the protocol `authoring`; NotFound for other protocols."""
    settings = (
        AuthoringSettings.objects.select_related("generator", "second_generator")
        .filter(project=project)
        .first()
    )
    if settings is None:
        raise NotFound(_("This project is not an authoring project."), _("Choose an authoring project."))
    return settings


def latest_order(project: Project) -> str:
    """The display order of the project's newest candidate set; "" if no order is logged."""
    newest = CandidateSet.objects.filter(dialogue__project=project).order_by("-pk").first()
    return str(newest.sampling.get("order", "")) if newest else ""
