"""An export as a background job."""

import shutil
from typing import Any

from jobs.models import Job
from jobs.progress import Progress
from preference.exports import FORMATS
from preference.exports.writing import export_to
from preference.models import Export
from preference.selectors.selection import Filters, select
from preference.storage import exports_root, folder_of


def carry_out_export(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the file of the job's export; running again after a kill writes it anew."""
    export = Export.objects.select_related("project").get(job=job)
    selection = select(export.project, Filters.of(export.filters))
    progress.start(total=selection.dialogues().count(), unit="dialogues")
    shutil.rmtree(folder_of(export.pk), ignore_errors=True)  # what a killed worker left
    made, extension = export.created_at, FORMATS[export.format].extension
    name = f"{export.project.slug}-{export.format}-{made:%Y%m%d-%H%M%S}.{extension}"
    target = folder_of(export.pk) / name
    manifest = export_to(target, FORMATS[export.format], selection, at=progress.at)
    progress.check()
    export.path = str(target.relative_to(exports_root()))
    export.bytes, export.manifest = manifest.bytes, manifest.as_json()
    export.save(update_fields=["path", "bytes", "manifest"])
    return {"rows": manifest.rows, "bytes": manifest.bytes, "sha256": manifest.sha256}
