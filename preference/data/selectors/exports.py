"""Reading exports."""

from pathlib import Path, PurePath
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound, Refusal
from common.storage.shared_files import shared_files
from jobs.models import JobState
from preference.data.models.exports import Export
from preference.data.storage import exports_root
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of


def exports_of(project: Project) -> QuerySet[Export]:
    """The project's exports, the newest first."""
    return (
        Export.objects.filter(project=project)
        .select_related("job__created_by", "project")
        .order_by("-created_at", "-id")
    )


def export_for(user: User, export_id: UUID) -> Export:
    """The export, for members who may export."""
    export = (
        Export.objects.select_related("job__created_by", "project", "snapshot").filter(pk=export_id).first()
    )
    if export is None or Capability.EXPORT not in capabilities_of(user, export.project):
        raise missing_export()
    return export


def missing_export() -> NotFound:
    return NotFound(_("There is no such export."), _("It may belong to a project that you have left."))


def file_of(export: Export) -> Path:
    """Where the finished file is, on this host or in the store. Raises Refusal not_ready or file_gone."""
    if export.job.state != JobState.DONE:
        raise Refusal("not_ready", _("This export is not finished."), _("Wait until its job is done."))
    path = exports_root() / export.path
    if not export.path or not shared_files().exists_anywhere(path):
        raise Refusal(
            "file_gone",
            _("The file of this export was removed from the server."),
            _("Start the export again."),
            status=410,
        )
    return path


def content_type_of(name: str) -> str:
    """Of a file that is downloaded, by its name."""
    return {".parquet": PARQUET, ".json": "application/json", ".md": "text/markdown; charset=utf-8"}.get(
        PurePath(name).suffix, JSON_LINES
    )


JSON_LINES = "application/jsonl"


PARQUET = "application/vnd.apache.parquet"
