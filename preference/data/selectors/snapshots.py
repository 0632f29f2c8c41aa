"""Reading snapshots."""

from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from dialogues.models import Split
from jobs.models import Job
from preference.data.models.exports import FormatName
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import FILES, folder_of_snapshot
from preference.data.selectors.selection import Filters, Preview, preview
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

FROZEN_PROTOCOLS = (Protocol.AUTHORING, Protocol.LABELLING)


def preview_snapshot_of(project: Project, filters: Filters) -> Preview:
    """What a snapshot with these filters would take; one query."""
    return preview(project, filters, FormatName.DIQAD if project.protocol == Protocol.LABELLING else "")


def snapshots_of(project: Project) -> QuerySet[Snapshot]:
    """The project's snapshots, the newest first."""
    rows = Snapshot.objects.filter(project=project).select_related("job__created_by", "project")
    return rows.order_by("-created_at", "-id")


def usable_snapshots(project: Project) -> QuerySet[Snapshot]:
    """Snapshots whose files exist, without deleted dialogues, the newest first."""
    return snapshots_of(project).exclude(path="").exclude(sha256="").filter(deleted=[])


def snapshot_for(user: User, snapshot_id: UUID) -> Snapshot:
    """The snapshot, for members who may export."""
    snapshot = Snapshot.objects.select_related("job__created_by", "project").filter(pk=snapshot_id).first()
    if snapshot is None or Capability.EXPORT not in capabilities_of(user, snapshot.project):
        raise missing_snapshot()
    return snapshot


def missing_snapshot() -> NotFound:
    return NotFound(_("There is no such snapshot."), _("It may belong to a project that you have left."))


def snapshot_named(project: Project, name: str) -> Snapshot:
    """By its id or name, the newest of that name; for the command line. Raises NotFound."""
    for snapshot in snapshots_of(project):
        if name in (str(snapshot.pk), snapshot.name):
            return snapshot
    raise missing_snapshot()


def pushes_of(snapshot: Snapshot) -> QuerySet[Job]:
    """The jobs that push it to a Hub, the newest first."""
    rows = Job.objects.filter(project=snapshot.project, kind="push", parameters__snapshot=str(snapshot.pk))
    return rows.select_related("created_by").order_by("-created_at", "-id")


def snapshot_file(snapshot: Snapshot, name: str) -> Path:
    """One of FILES on disk. Raises NotFound for another name, Refusal not_ready or file_gone."""
    if name not in FILES:
        raise NotFound(
            _("A snapshot has no file of that name."),
            _("Choose one of: %(names)s.") % {"names": ", ".join(FILES)},
        )
    return folder_of_snapshot(snapshot) / name


def held_out_split(snapshot: Snapshot) -> str:
    """The split on which a model trained on it is evaluated; "" if nothing was held out."""
    # Dialogues without candidates have nothing to rank.
    counts = {
        column["split"]: column.get("replies", column["dialogues"])
        for column in snapshot.card.get("splits", [])
    }
    return next((split for split in (Split.TEST.value, Split.VALID.value) if counts.get(split)), "")
