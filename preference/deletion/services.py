"""Exports and snapshots that contain a deleted dialogue.

An export's file can be made again, so it is removed. A snapshot's files never change, and models rest on them: the
snapshot says that a dialogue of it was deleted, and gives its files to nobody any more. Its manager removes them.
"""

import json
from collections.abc import Iterator
from typing import Any

from django.db import transaction

from common.storage.shared_files import shared_files
from dialogues.external_ids import hash_id
from dialogues.models import DeletedDialogue
from jobs.models import Job, JobState
from jobs.progress import Progress
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import DIALOGUES
from preference.data.services.exports import remove_file
from preference.data.storage import folder_of, snapshots_root

LINES_AT_ONCE = 500


def run_forget_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Remove exports and mark snapshots of the project. Safe to run again after a kill."""
    deleted = DeletedDialogue.objects.get(pk=job.parameters["deleted"])
    written = {"project": deleted.project, "created_at__lte": deleted.deleted_at}
    exports = Export.objects.filter(job__state=JobState.DONE, **written).exclude(path="")
    snapshots = Snapshot.objects.filter(**written).exclude(path="")
    progress.start(total=exports.count() + snapshots.count(), unit="files")
    removed = 0
    for export in exports:
        # If the store is away the job fails, and finds the export again when it is repeated.
        shared_files().remove(folder_of(export.pk), or_refuse=True)
        remove_file(export=export, actor=deleted.deleted_by)
        removed += 1
        progress.report(removed)
    for n, snapshot in enumerate(snapshots, start=1):
        if _contains(snapshot, deleted.id_sha256, progress, removed + n - 1):
            _mark(snapshot, deleted)
        progress.report(removed + n)
    marked = Snapshot.objects.filter(project=deleted.project, deleted__contains=[deleted.pk])
    return {"exports": removed, "snapshots": marked.count()}


def _contains(snapshot: Snapshot, digest: str, progress: Progress, done: int) -> bool:
    return any(hash_id(external_id) == digest for external_id in _external_ids(snapshot, progress, done))


def _external_ids(snapshot: Snapshot, progress: Progress, done: int) -> Iterator[str]:
    path = snapshots_root() / snapshot.path / DIALOGUES
    shared_files().fetch(path, progress.beat)
    try:
        lines = path.open(encoding="utf-8")
    except FileNotFoundError:
        return
    with lines:
        for n, line in enumerate(lines):
            if n % LINES_AT_ONCE == 0:
                progress.report(done)
            yield str(json.loads(line)["id"])


@transaction.atomic
def _mark(snapshot: Snapshot, deleted: DeletedDialogue) -> None:
    row = Snapshot.objects.select_for_update(of=("self",)).get(pk=snapshot.pk)
    if deleted.pk not in row.deleted:
        row.deleted = [*row.deleted, deleted.pk]
        row.save(update_fields=["deleted"])
