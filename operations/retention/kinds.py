"""What may be deleted by age. Each function finds the leftovers of one kind, and deletes them unless it is a dry run.

Every deletion looks again at what it deletes, because people work meanwhile; two runs at once do no harm.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, QuerySet, Sum
from django.utils import timezone

from accounts.models import User
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import SharedFiles, shared_files, shared_models
from dialogues.services.uploads import upload_path
from generation.models import CandidateRequest, RequestState
from jobs.models import LIVE_STATES, Job, JobState
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.services.exports import remove_file
from preference.data.storage import exports_root, snapshots_root
from preference.registry.files import models_root
from preference.registry.hashing import files_in
from preference.registry.removed_copies import BEGIN_OF_ID, is_needed
from preference.registry.selectors.trained_models import REGISTRATION
from preference.registry.uploads import UPLOADS
from preference.runs.files import CHECKPOINTS, folder_of_run
from preference.runs.models import TrainingRun
from projects.models import Webhook, WebhookDelivery

STOPPED = (JobState.FAILED, JobState.CANCELLED)
FRESH = timedelta(days=1)
SCRATCH = ("evaluations", "scoring", "meta-evaluations", "tagging")


@dataclass(frozen=True, slots=True)
class Amount:
    """Rows or files of one kind, and their bytes on disk; 0 bytes for rows."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.count + other.count, self.bytes + other.bytes)


def clean_sessions(before: datetime, *, dry_run: bool) -> Amount:
    """Sessions that expired before then, and what is listed on their owners' pages of sessions."""
    expired = Session.objects.filter(expire_date__lt=before)
    live = Session.objects.filter(session_key=OuterRef("session_key"))
    listed = UserSession.objects.filter(~Exists(live) | Exists(live.filter(expire_date__lt=before)))
    # A session that has just begun may be listed before it is stored.
    listed = listed.filter(created_at__lt=before - timedelta(days=1))
    amount = Amount(expired.count())
    if not dry_run:
        listed.delete()
        expired.delete()
    return amount


def clean_uploads(before: datetime, *, dry_run: bool) -> Amount:
    """Files of imports that no live job needs, partial ones of killed web processes, and models never registered."""
    folders = [models_root() / UPLOADS / name for name in shared_models().names_in(models_root() / UPLOADS)]
    models = (
        _clean_shared(path, before, dry_run=dry_run, needed=_is_being_registered, files=shared_models())
        for path in folders
    )
    imports = _clean_shared(upload_path(UUID(int=0)).parent, before, dry_run=dry_run, needed=_is_live_job)
    return sum(models, start=imports)


def clean_exports(before: datetime, *, dry_run: bool) -> Amount:
    exports = Export.objects.filter(job__state=JobState.DONE, job__ended_at__lt=before).exclude(path="")
    amount = Amount(exports.count(), exports.aggregate(total=Sum("bytes"))["total"] or 0)
    if not dry_run:
        for export in exports:
            remove_file(export=export, actor=None)
    return amount


def clean_requests(before: datetime, *, dry_run: bool) -> Amount:
    """Requests made ahead for a draft. One that somebody waited for, or that has candidates, is part of the log."""
    ended = (RequestState.FAILED, RequestState.CANCELLED)
    requests = CandidateRequest.objects.filter(
        state__in=ended, wanted_at=None, candidate_set=None, ended_at__lt=before
    )
    return Amount(requests.count()) if dry_run else Amount(requests.delete()[0])


def clean_deliveries(before: datetime, *, dry_run: bool) -> Amount:
    """Deliveries that ended before then, and webhooks that were removed. The events themselves stay."""
    ended = WebhookDelivery.objects.filter(ended_at__lt=before)
    removed = Webhook.objects.filter(removed_at__lt=before)
    if dry_run:
        return Amount(ended.count() + removed.count())
    return Amount(ended.delete()[0] + removed.delete()[0])


def clean_scratch(before: datetime, *, dry_run: bool) -> Amount:
    """Working folders of jobs that ended without a result; a successful job deletes its own."""
    amounts = (
        _clean_paths(models_root() / name, before, dry_run=dry_run, needed=_is_live_job) for name in SCRATCH
    )
    return sum(amounts, start=Amount())


def clean_checkpoints(before: datetime, *, dry_run: bool) -> Amount:
    """A training without them can still be resumed, and then begins again."""
    return sum((_remove_checkpoints(run, dry_run=dry_run) for run in _stopped_runs(before)), start=Amount())


def clean_leftovers(before: datetime, *, dry_run: bool) -> Amount:
    """Folders of exports of deleted projects, and unfinished folders of snapshots whose worker was killed."""
    exports = _clean_shared(exports_root(), before, dry_run=dry_run, needed=_is_export)
    return exports + _clean_shared(snapshots_root(), before, dry_run=dry_run, needed=_is_snapshot)


def clean_removed(before: datetime, *, dry_run: bool) -> Amount:
    """Folders of removed models and trainings that an object store has still, because it was away at that time.

    At any age, what is fresh stays, and what is older than every account: rows of another database may name it.
    """
    first_account = User.objects.aggregate(first=Min("date_joined"))["first"]
    if not shared_models().is_remote or first_account is None:
        return Amount()
    before = min(before, timezone.now() - FRESH)
    return _clean_objects(
        shared_models(),
        models_root(),
        before,
        dry_run=dry_run,
        needed=_is_model_or_other,
        since=first_account,
    )


KINDS: dict[str, Callable[..., Amount]] = {
    "sessions": clean_sessions,
    "uploads": clean_uploads,
    "exports": clean_exports,
    "requests": clean_requests,
    "deliveries": clean_deliveries,
    "scratch": clean_scratch,
    "checkpoints": clean_checkpoints,
    "leftovers": clean_leftovers,
    "removed": clean_removed,
}


def _clean_paths(folder: Path, before: datetime, *, dry_run: bool, needed: Callable[[str], bool]) -> Amount:
    """The files and folders in `folder` whose newest file is older, unless their name says that they are needed."""
    found = Amount()
    for path, size in _old_paths(folder, before):
        if needed(path.name):
            continue
        found += Amount(1, size)
        if not dry_run:
            remove_from_disk(path)
    return found


def _clean_shared(
    folder: Path,
    before: datetime,
    *,
    dry_run: bool,
    needed: Callable[[str], bool],
    files: SharedFiles | None = None,
) -> Amount:
    """Of this host, like _clean_paths, and of the object store if there is one. files: None for shared_files()."""
    files = files or shared_files()
    found = _clean_paths(folder, before, dry_run=dry_run, needed=needed)
    return found + _clean_objects(files, folder, before, dry_run=dry_run, needed=needed)


def _clean_objects(
    files: SharedFiles,
    folder: Path,
    before: datetime,
    *,
    dry_run: bool,
    needed: Callable[[str], bool],
    since: datetime | None = None,
) -> Amount:
    """Of the object store if there is one, like _clean_paths. since: leave out what was last written earlier."""
    found = Amount()
    for path, size in _old_objects(files, folder, before, since) if files.is_remote else ():
        if needed(path.name):
            continue
        found += Amount(1, size)
        if not dry_run:
            files.remove(path)
    return found


def _old_objects(
    files: SharedFiles, folder: Path, before: datetime, since: datetime | None
) -> Iterator[tuple[Path, int]]:
    """What is directly in the folder of the store and was last written before then, with its bytes."""
    first = since.timestamp() if since else 0.0
    by_name = groupby(files.stored_in(folder), key=lambda stored: stored.path.relative_to(folder).parts[0])
    for name, group in by_name:
        stored = list(group)
        if first <= max(each.changed_at for each in stored) < before.timestamp():
            yield folder / name, sum(each.bytes for each in stored)


def _old_paths(folder: Path, before: datetime) -> Iterator[tuple[Path, int]]:
    """What is directly in the folder and was last written before then, with its bytes."""
    for path in sorted(folder.glob("*")):
        try:
            parts = [path, *path.rglob("*")] if path.is_dir() else [path]
            stats = [part.lstat() for part in parts]
        except FileNotFoundError:  # its owner deletes it
            continue
        if max(stat.st_mtime for stat in stats) < before.timestamp():
            yield (
                path,
                sum(stat.st_size for part, stat in zip(parts, stats, strict=True) if not part.is_dir()),
            )


def _is_live_job(name: str) -> bool:
    """Whether the job that a file or folder is named after waits or runs."""
    id = _uuid_of(name.partition(".")[0])
    return id is not None and Job.objects.filter(pk=id, state__in=LIVE_STATES).exists()


def _is_being_registered(name: str) -> bool:
    """Whether a job that waits or runs takes its model from the upload of this id."""
    jobs = Job.objects.filter(kind=REGISTRATION, state__in=LIVE_STATES)
    return jobs.filter(parameters__upload=name).exists()


def _is_export(name: str) -> bool:
    """Whether a folder belongs to an export that is being written or whose file is there."""
    id = _uuid_of(name)
    exports = Export.objects.filter(pk=id) if id else Export.objects.none()
    return exports.exclude(path="").exists() or exports.filter(job__state__in=LIVE_STATES).exists()


def _is_snapshot(name: str) -> bool:
    """Whether a folder is a finished snapshot, also one of a deleted project, or is being written.

    One whose row has no files was removed while the disk or the store did not answer.
    """
    if not name.startswith("."):
        if (id := _uuid_of(name)) is None:
            return True
        return not Snapshot.objects.filter(pk=id, path="").exclude(job__state__in=LIVE_STATES).exists()
    id = _uuid_of(name.removeprefix(".").partition(".")[0])
    return id is not None and Snapshot.objects.filter(pk=id, job__state__in=LIVE_STATES).exists()


def _is_model_or_other(name: str) -> bool:
    """Whether a folder below MODELS_ROOT is that of a model or of a job that makes one, or holds something else."""
    return not BEGIN_OF_ID.fullmatch(name) or is_needed(name)


def _uuid_of(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _stopped_runs(before: datetime) -> QuerySet[TrainingRun]:
    return TrainingRun.objects.filter(job__state__in=STOPPED, job__ended_at__lt=before).exclude(folder="")


def _remove_checkpoints(run: TrainingRun, *, dry_run: bool) -> Amount:
    folder = folder_of_run(run) / CHECKPOINTS
    removed = folder.with_name(f"{CHECKPOINTS}.removed")  # also what a killed run left
    amount = _set_aside(run, folder, removed if not dry_run else None)
    if not dry_run:
        shutil.rmtree(removed, ignore_errors=True)
    return amount


@transaction.atomic
def _set_aside(run: TrainingRun, folder: Path, removed: Path | None) -> Amount:
    """Rename the checkpoints while the job is locked, so that nobody resumes the training from them. None: only count.

    Deleting them takes longer than a transaction may.
    """
    job = Job.objects.select_for_update().get(pk=run.job_id)
    if job.state not in STOPPED or not folder.is_dir():
        return Amount()
    files = files_in(folder)
    if removed is not None:
        shutil.rmtree(removed, ignore_errors=True)
        folder.rename(removed)
    return Amount(len(files), sum(files.values()))
