"""Importing a file: taken in whole, checked from end to end, then stored batch by batch.

The file is read twice. Checking first is what makes "stop" mean that nothing at all is stored, without a transaction
that stays open while a file streams; and a table whose dialogue begins again further down is known before its first
half would be stored.
"""

import gc
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, Literal, cast
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from common.refusals import Invalid, Refusal
from dialogues.models import Dialogue
from dialogues.parsing import FORMATS, Limits, ParsedDialogue, RowError, identified, parse
from dialogues.services import uploads
from dialogues.services.refused import RefusedRows
from dialogues.services.storing import misfit, store_batch
from jobs.garbage_collection import manual_garbage_collection
from jobs.models import Job, JobState
from jobs.progress import Progress
from jobs.services import start_job
from projects.models import Project

KIND = "import"
OnError = Literal["skip", "stop"]
BATCH_DIALOGUES = 500
BATCH_BYTES = 4 * 1024**2  # of the file, so that a batch of large dialogues needs no more memory
ERRORS_KEPT = 200


def start_import(
    *,
    project: Project,
    actor: User | None,
    source: uploads.Readable,
    name: str,
    format: str,
    submission_id: UUID,
    on_error: str = "skip",
    enqueue: bool = True,
) -> Job:
    """Take the file in and start its import; the same submission_id again returns the first job.

    source: anything that read(size) gives bytes of, an UploadedFile too. name: shown to people. on_error: "skip" the
    rows that are refused, or "stop" and store nothing when there is one. enqueue=False leaves it to the caller to run.
    Raises Invalid (format, on_error, empty file), Refusal "too_large", "archived", "disk_full", "submission_used".
    """
    if earlier := Job.objects.filter(pk=submission_id).first():
        return _same_submission(earlier, project)
    _check_request(project, format, on_error)
    uploads.forget_old()
    upload = uploads.keep(source, import_id=submission_id)
    parameters = {"name": name[:200], "format": format, "on_error": on_error, **asdict(upload)}
    job = start_job(
        id=submission_id, kind=KIND, project=project, actor=actor, parameters=parameters, enqueue=enqueue
    )
    return _same_submission(job, project)


def _same_submission(job: Job, project: Project) -> Job:
    if job.kind != KIND or job.project_id != project.pk:
        raise Refusal(
            "submission_used", _("This submission was used for something else."), _("Reload and try again.")
        )
    return job


def _check_request(project: Project, format: str, on_error: str) -> None:
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise Invalid(
            _("There is no format “%(format)s”.") % {"format": format[:40]},
            _("Choose one of: %(known)s.") % {"known": known},
            field="format",
        )
    if on_error not in {"skip", "stop"}:
        raise Invalid(
            _("On an error an import can skip or stop."), _("Write skip or stop."), field="on_error"
        )
    if project.archived_at:
        raise Refusal("archived", _("This project is archived."), _("Ask its manager to open it again."))


@dataclass(slots=True)
class Report:
    """What an import has done so far; the job's result. errors: the first ERRORS_KEPT of `refused`."""

    dialogues: int = 0
    stored: int = 0
    already_there: int = 0
    utterances: int = 0
    refused: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    same_as: str | None = None

    def refuse(self, error: RowError) -> None:
        self.refused += 1
        if len(self.errors) < ERRORS_KEPT:
            self.errors.append({"line": error.line, "code": error.code, "params": dict(error.params)})


@dataclass(slots=True)
class _Reader:
    """A file that knows how far it was read."""

    stream: BinaryIO
    position: int = 0

    def readline(self, size: int = -1) -> bytes:
        line = self.stream.readline(size)
        self.position += len(line)
        return line

    def read(self, size: int = -1) -> bytes:
        chunk = self.stream.read(size)
        self.position += len(chunk)
        return chunk


def carry_out_import(job: Job, progress: Progress) -> dict[str, Any]:
    """The work of an import job: returns a Report as a dict, raises Refusal with one in its details.

    Safe to run again after a kill: what is stored already is found by its external id.
    """
    if earlier := _imported_before(job):
        uploads.forget(job.pk)
        return asdict(
            Report(dialogues=earlier.dialogues, already_there=earlier.stored, same_as=earlier.same_as)
        )
    progress.start(total=job.parameters["size"], unit="bytes")
    if done := _stored_before(job):
        progress.report(job.parameters["size"])
        return asdict(done)
    try:
        with manual_garbage_collection():
            report, broken = _check(job, progress)
            _store(job, progress, report, broken)
    except Refusal:
        uploads.forget(job.pk)
        raise
    # The whole result is kept before the file goes: who takes over after a kill here finds one of the two. Where
    # another worker has taken over already, the file is its.
    if Job.objects.filter(pk=job.pk, attempts=job.attempts).update(result=asdict(report)):
        uploads.forget(job.pk)
    return asdict(report)


def _stored_before(job: Job) -> Report | None:
    """The report of an attempt that was killed when all was stored and the file was gone."""
    if not job.result or uploads.path_of(job.pk).exists():
        return None
    report = Report(**job.result)
    here = report.stored + report.already_there
    return report if here and here == report.dialogues else None


def _imported_before(job: Job) -> Report | None:
    """The report of an import of these very bytes, without a refused row, of which every dialogue is still there."""
    same = {f"parameters__{name}": job.parameters[name] for name in ("sha256", "format")}
    for earlier in Job.objects.filter(project=job.project, kind=KIND, state=JobState.DONE, **same):
        report = Report(**earlier.result)
        here = Dialogue.objects.filter(import_job=earlier).count()
        if not report.refused and here == report.stored == report.dialogues:
            report.same_as = str(earlier.pk)
            return report
    return None


def _results(reader: _Reader, job: Job) -> Iterator[ParsedDialogue | RowError]:
    limits = Limits(file_bytes=settings.IMPORT_MAX_BYTES)
    results = identified(parse(cast(BinaryIO, reader), job.parameters["format"], limits))
    for count, result in enumerate(results):
        if count % BATCH_DIALOGUES == 0:
            gc.collect(1)
        yield result


def _open(job: Job) -> io.BufferedReader:
    try:
        return uploads.path_of(job.pk).open("rb")
    except FileNotFoundError:
        raise Refusal(
            "file_gone", _("The file of this import is no longer there."), _("Send the file again.")
        ) from None


def _check(job: Job, progress: Progress) -> tuple[Report, frozenset[str]]:
    """Read the whole file. Returns the report so far, and ids to leave out although a part of them can be read."""
    report, project = Report(), cast(Project, job.project)
    broken = set()
    with RefusedRows(job) as refused, _open(job) as stream:
        reader = _Reader(stream)
        for result in _results(reader, job):
            error = misfit(project, result) if isinstance(result, ParsedDialogue) else result
            if error is None:
                report.dialogues += 1
            else:
                report.refuse(error)
                refused.add(error)
                if error.fatal:
                    raise _unreadable(error, report)
                if result.external_id:
                    broken.add(result.external_id)
            progress.report(reader.position // 2)
    if (report.refused and job.parameters["on_error"] == "stop") or not report.dialogues:
        raise _refused(report)
    return report, frozenset(broken)


def _unreadable(error: RowError, report: Report) -> Refusal:
    message = _("Nothing was imported. Line %(line)d: %(reason)s") % {
        "line": error.line,
        "reason": error.reason,
    }
    return Refusal("import_refused", message, error.remedy, details=asdict(report))


def _refused(report: Report) -> Refusal:
    if not report.refused:
        message, remedy = _("The file holds no dialogue."), _("Look whether it is the right file and format.")
    else:
        message = ngettext(
            "Nothing was imported: %(n)d row is refused.",
            "Nothing was imported: %(n)d rows are refused.",
            report.refused,
        ) % {"n": report.refused}
        remedy = _("Correct the rows that are listed, or import again and skip them.")
        if not report.dialogues:
            remedy = _("Correct the rows that are listed; look whether it is the right format.")
    return Refusal("import_refused", message, remedy, details=asdict(report))


def _store(job: Job, progress: Progress, report: Report, broken: frozenset[str]) -> None:
    """Read the file again and store it, saying after every batch how far it is."""
    project = cast(Project, job.project)
    with _open(job) as stream:
        reader = _Reader(stream)
        for batch in _batches(reader, job, broken):
            stored = store_batch(project=project, job=job, batch=batch)
            report.stored += stored.stored
            report.already_there += stored.already_there
            report.utterances += stored.utterances
            job.result = asdict(report)
            Job.objects.filter(pk=job.pk, attempts=job.attempts).update(result=job.result)
            progress.report((job.parameters["size"] + reader.position) // 2)
    report.dialogues = report.stored + report.already_there


def _batches(reader: _Reader, job: Job, broken: frozenset[str]) -> Iterator[list[ParsedDialogue]]:
    batch: list[ParsedDialogue] = []
    begun = 0
    for result in _results(reader, job):
        if isinstance(result, RowError) or result.external_id in broken:
            continue
        batch.append(result)
        if len(batch) == BATCH_DIALOGUES or reader.position - begun > BATCH_BYTES:
            yield batch
            batch, begun = [], reader.position
    if batch:
        yield batch
