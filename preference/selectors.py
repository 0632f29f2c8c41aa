"""Reading exports."""

from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.errors import NotFound, Refusal
from accounts.models import User
from preference.models import Export
from preference.storage import exports_root
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for


def exports_of(project: Project) -> QuerySet[Export]:
    return Export.objects.filter(project=project).select_related("job", "project")


def export_for(user: User, export_id: UUID) -> Export:
    """The export, for members who may export."""
    export = Export.objects.select_related("job", "project").filter(pk=export_id).first()
    if export is None:
        raise NotFound(_("There is no such export."), _("It may have been removed."))
    project_for(user, export.project.slug, Capability.EXPORT)
    return export


def file_of(export: Export) -> Path:
    """The finished file on disk. Raises Refusal not_ready or file_gone."""
    if not export.path:
        raise Refusal("not_ready", _("This export is not finished."), _("Wait until its job is done."))
    path = exports_root() / export.path
    if not path.exists():
        raise Refusal(
            "file_gone", _("The file of this export was removed from the server."), _("Start the export again."), status=410
        )
    return path
