"""Registering a model that was trained elsewhere, as a job: hash, copy, read the copy again, try it out, store.

The copy is made in a folder that begins with a dot and gets its name when all of it is there, so that a killed worker
leaves no half model. The job begins again from the start after a kill.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from common.database import retry_on_lost_connection
from common.refusals import Refusal
from common.storage.shared_files import shared_models
from jobs.models import LIVE_STATES, Job
from jobs.progress import JobCancelled, JobInterrupted, JobLost, Progress
from preference import child_process
from preference.evaluation.services import store_report
from preference.registry.copies import share
from preference.registry.disk_space import check_space
from preference.registry.files import models_root
from preference.registry.hashing import files_in
from preference.registry.incoming import fetch_incoming, remove_fetched_incoming
from preference.registry.models import RegisteredModel
from preference.registry.reports import check_measured, is_about
from preference.registry.services.incoming import Origin, find_origin
from preference.registry.services.model_uploads import end_upload
from preference.registry.services.trained_models import check_name
from preference.registry.upload_pieces import pieces_of_uploads
from preference.registry.uploads import upload_for
from preference.runs.copying import copy_files, hash_files
from preference.runs.files import MODEL
from preference.runs.loading import check_loads
from preference.runs.services.registration import (
    TrainingResult,
    model_with_files,
    register_elsewhere,
    slug_of_folder,
)
from projects.models import Project

PART = ".part-"  # and the hexadecimal id of the job
PASSES = 3  # over the files: hash, copy, hash of the copy; with an object store also sending it


def run_registration_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Register the folder that the job names; running it again after a kill starts over."""
    project = Project.objects.get(jobs=job)
    with _source_on_this_host(project, job, progress):
        origin = find_origin(project, job.created_by, job.parameters)
        passes = PASSES + shared_models().is_remote
        beat = _Beat(job, progress, passes * origin.folder.bytes)
        sha256 = hash_files(origin.folder.model, origin.folder.files, beat)
        model = model_with_files(project, sha256)
        if model is None:
            model = _copy_and_register(job, project, progress, origin, sha256, beat)
        store_report(model=model, report=origin.folder.evaluation)
    if "upload" in job.parameters:  # the model has its own copy
        end_upload(project=project, upload_id=UUID(job.parameters["upload"]))
    job.done = job.total or 0
    return {"model": model.slug, "sha256": model.sha256}


@contextmanager
def _source_on_this_host(project: Project, job: Job, progress: Progress) -> Iterator[None]:
    """Bring it from the object store. Raises Refusal wrong_hash for a file that then has to be sent again."""
    if "upload" in job.parameters:
        upload = upload_for(project, UUID(job.parameters["upload"]))
        pieces_of_uploads().put_together(upload, progress.beat)
        yield
        return
    folder = job.parameters["folder"]
    try:
        fetch_incoming(folder, progress.beat)
        yield
    except (JobInterrupted, JobLost):  # the job goes on, perhaps here
        raise
    except BaseException:
        remove_fetched_incoming(folder)
        raise
    remove_fetched_incoming(folder)


class _Beat:
    """Counts and reports bytes."""

    def __init__(self, job: Job, progress: Progress, total: int) -> None:
        self._job, self._progress, self._bytes = job, progress, 0
        progress.start(total=total, unit="bytes")

    def __call__(self, count: int) -> None:
        self._bytes += count
        child_process.report_if_connected(self._progress, lambda: self._bytes)
        self._progress.stop_if_worker_ends()


def _copy_and_register(
    job: Job, project: Project, progress: Progress, origin: Origin, sha256: str, beat: _Beat
) -> RegisteredModel:
    slug = job.parameters.get("model", "")
    if slug:
        check_name(slug)
    name = slug or slug_of_folder(origin.folder, project)  # of the folder, with which candidates are logged
    top = models_root() / job.pk.hex[:12]
    with _part_of(job) as part:
        check_space(origin.folder.bytes)
        copy_files(origin.folder.model, part / name / MODEL, origin.folder.files, sha256, beat)
        trained = _try_out(part / name, job, progress, origin, sha256)
        shutil.rmtree(top, ignore_errors=True)  # if an earlier attempt was killed after the next line
        part.rename(top)
    folder = f"{top.name}/{name}/{MODEL}"
    note = job.parameters.get("note", "")
    store = partial(register_elsewhere, project=project, actor=job.created_by, trained=trained, origin=origin)
    try:
        share(models_root() / folder, sha256, beat)
        model = retry_on_lost_connection(lambda: store(folder=folder, slug=slug, note=note))
    except (Refusal, JobCancelled):
        shared_models().remove(top)
        raise
    if model.folder != folder:  # another job has registered the same files meanwhile
        shared_models().remove(top)
    return model


@contextmanager
def _part_of(job: Job) -> Iterator[Path]:
    """An empty folder to copy into; removed unless it was renamed. Also removes those of jobs that have ended."""
    _remove_leftovers()
    part = models_root() / f"{PART}{job.pk.hex}"
    for leftover in part.glob("*"):
        child_process.kill_orphan(leftover)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
    except JobLost:  # another worker writes there now
        raise
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _remove_leftovers() -> None:
    """What killed processes left whose jobs nobody will continue."""
    for path in models_root().glob(f"{PART}*"):
        job_id = _job_id(path)
        if job_id is None or not Job.objects.filter(pk=job_id, state__in=LIVE_STATES).exists():
            shutil.rmtree(path, ignore_errors=True)


def _job_id(path: Path) -> UUID | None:
    try:
        return UUID(path.name.removeprefix(PART))
    except ValueError:
        return None


def _try_out(folder: Path, job: Job, progress: Progress, origin: Origin, sha256: str) -> TrainingResult:
    """Raises Refusal cannot_load, wrong_evaluation."""
    about = check_loads(folder, job, progress, remedy=_("See the log of the worker; it may lack memory."))
    if "fault" in about:
        raise Refusal("cannot_load", about["fault"], about["remedy"])
    for path in folder.iterdir():
        if path.name != MODEL:
            path.unlink()  # what the check wrote
    report = origin.folder.evaluation
    check_measured(report, about["version"])
    return TrainingResult(
        config=origin.folder.config,
        metrics=origin.folder.metrics,
        files=files_in(folder / MODEL),
        sha256=sha256,
        version=about["version"],
        report={"evaluation": report} if report and not is_about(report, origin.snapshot) else {},
    )
