"""Exports as background jobs."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.errors import Invalid
from accounts.models import User
from dialogues.models import Split
from jobs.models import Job
from jobs.progress import Progress
from jobs.registry import carries_out
from jobs.services import start_job
from preference.exports import format_named
from preference.exports.selection import Filters, select
from preference.exports.writing import export_to
from preference.models import Export
from preference.storage import exports_root
from projects.models import Project


def checked_filters(splits: Sequence[str], include_unreviewed: bool) -> Filters:
    """No split named means all of them."""
    unknown = set(splits) - set(Split.values)
    if unknown:
        raise Invalid(
            _("There is no split “%(split)s”.") % {"split": min(unknown)},
            _("Choose among: %(splits)s.") % {"splits": ", ".join(Split.values)},
            field="splits",
        )
    chosen = tuple(split for split in Split.values if split in splits) or tuple(Split.values)
    return Filters(splits=chosen, include_unreviewed=include_unreviewed)


@transaction.atomic
def start_export(
    *,
    export_id: UUID,
    project: Project,
    actor: User,
    format: str,
    splits: Sequence[str] = (),
    include_unreviewed: bool = False,
) -> Export:
    """Export in the background. The same export_id again returns the first export."""
    if earlier := Export.objects.filter(pk=export_id, project=project).first():
        return earlier
    name = format_named(format).name
    filters = checked_filters(splits, include_unreviewed).as_json()
    job = start_job(id=export_id, kind="export", project=project, actor=actor, parameters={"format": name})
    return Export.objects.create(id=export_id, project=project, job=job, format=name, filters=filters)


@carries_out("export")
def run_export(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the file of the job's export; running again after a kill writes it anew."""
    export = Export.objects.select_related("project").get(job=job)
    filters = Filters(splits=tuple(export.filters["splits"]), include_unreviewed=export.filters["include_unreviewed"])
    selection = select(export.project, filters)
    progress.start(total=None, unit="rows")
    name = f"{export.project.slug}-{export.format}-{export.created_at:%Y%m%d-%H%M%S}.jsonl"
    target = exports_root() / str(export.pk) / name
    manifest = export_to(target, format_named(export.format), selection, at=progress.at)
    export.path = str(target.relative_to(exports_root()))
    export.bytes, export.manifest = manifest.bytes, manifest.as_json()
    export.save(update_fields=["path", "bytes", "manifest"])
    return {"rows": manifest.rows, "bytes": manifest.bytes, "sha256": manifest.sha256}
