"""An export as a background job."""

import shutil
from typing import Any

from common.storage.shared_files import shared_files
from jobs.models import Job
from jobs.progress import Progress
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import Source, write_export_file
from preference.data.models.exports import Export
from preference.data.selectors.frozen_dialogues import frozen_dialogues, verify_snapshot
from preference.data.selectors.random_replies import DrawSettings
from preference.data.selectors.selection import Filters
from preference.data.selectors.sources import select_source
from preference.data.storage import exports_root, folder_of


def run_export_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the file of the job's export; running it again after a kill rewrites it."""
    export = Export.objects.select_related("project", "snapshot__project").get(job=job)
    source = source_of(export, progress)
    progress.start(total=source.count(), unit="dialogues")
    shutil.rmtree(folder_of(export.pk), ignore_errors=True)  # left by a killed worker
    created_at, extension = export.created_at, FORMATS[export.format].extension(export.file_type)
    name = f"{export.project.slug}-{export.format}-{created_at:%Y%m%d-%H%M%S}.{extension}"
    target = folder_of(export.pk) / name
    manifest = write_export_file(
        target,
        FORMATS[export.format],
        source,
        at=progress.report,
        file_type=export.file_type,
        draws=DrawSettings.of(export.draws),
    )
    progress.heartbeat()
    shared_files().hand_over(folder_of(export.pk), progress.beat)
    export.path = str(target.relative_to(exports_root()))
    export.bytes, export.manifest = manifest.bytes, manifest.as_json()
    export.save(update_fields=["path", "bytes", "manifest"])
    return {"rows": manifest.rows, "bytes": manifest.bytes, "sha256": manifest.sha256}


def source_of(export: Export, progress: Progress) -> Source:
    """The project, or the export's snapshot. Raises Refusal if the snapshot's files are gone or damaged."""
    filters = Filters.of(export.filters)
    if export.snapshot is None:
        return select_source(export.project, filters)
    verify_snapshot(export.snapshot, progress.beat)
    return frozen_dialogues(export.snapshot, filters.splits)
