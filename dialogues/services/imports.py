"""Import a file: save the upload, check all of it, then store it batch by batch.

The file is read twice. Because it is checked first, "stop" can mean that nothing at all is stored, without a
transaction that stays open while the file streams. And a dialogue of a table that begins again further down is found
before its first half is stored.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO, cast
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import User
from common.languages import is_language_code, standard_language_code
from common.refusals import Invalid, Refusal
from dialogues.import_reports import Report, refuse_import, refuse_unreadable_file
from dialogues.models import Dialogue
from dialogues.parsing.compressed import ZIP, unpacked, unpacked_head, unpacked_name
from dialogues.parsing.file_type import detect_other_type
from dialogues.parsing.format_guess import guess_format
from dialogues.parsing.formats import FORMATS, formats_of, parse
from dialogues.parsing.key_map import NAMES, BadKeyMap, parse_key_map
from dialogues.parsing.parsed_dialogue import LANGUAGE_CHARS, Limits, ParsedDialogue, ParsedRow
from dialogues.parsing.row_errors import RowError
from dialogues.parsing.unique_ids import with_unique_ids
from dialogues.services import uploads
from dialogues.services.refused_rows import RefusedRowWriter
from dialogues.services.storing import STORAGES, DialogueStorage, RowStorage
from jobs.garbage_collection import manual_garbage_collection
from jobs.models import Job, JobState
from jobs.progress import Progress
from jobs.services import start_job
from projects.models import Project
from projects.models import Protocol as ProjectProtocol
from projects.services import check_not_archived

KIND = "import"
BATCH_DIALOGUES = 500
BATCH_BYTES = 4 * 1024**2  # of the file; limits the memory for large dialogues
HEAD_BYTES = 64 * 1024  # enough to guess the format; imports.js sends this much of a large file


def guess_format_or_refuse(name: str, head: bytes) -> str:
    """The format of a file with these first bytes, packed or not. Raises Invalid if it is binary, empty or unclear."""
    content = unpacked_head(head, HEAD_BYTES)
    problem = None if content.startswith(ZIP) else detect_other_type(content)
    if problem:
        raise Invalid(problem.reason, problem.remedy, field="file")
    if format := guess_format(unpacked_name(name), content):
        return format
    if content.strip():
        raise Invalid(
            _("It is not clear where a dialogue ends in this file: it has no blank line."),
            _("Choose utterances if all of it is one dialogue; otherwise choose the format that fits."),
            field="format",
        )
    raise Invalid(_("The file is empty."), _("Choose a file that holds dialogues."), field="file")


def start_import(
    *,
    project: Project,
    actor: User | None,
    source: uploads.Readable,
    name: str,
    format: str,
    submission_id: UUID,
    on_error: str = "skip",
    run: int | None = None,
    map: str = "",
    language: str = "",
    enqueue: bool = True,
) -> Job:
    """Save the file and start its import. The same submission_id with the same request returns the first job.

    source: a file, standard input or UploadedFile. name: shown to people. on_error: "skip" refused rows, or "stop" and
    store nothing if there is one. run: for formats with runs; None for the next number. map: paths of keys, for
    formats that take them; "" to guess them. language: of the dialogues for which the file names none. enqueue=False:
    the caller runs the job. Raises Invalid (format, on_error, run, map, language, empty file), Refusal "too_large",
    "archived", "disk_full", "id_in_use".
    """
    map = checked_map(format, map)
    language = standard_language_code(language)
    if Job.objects.filter(pk=submission_id).exists():
        upload = uploads.measure_upload(source)
    else:
        _check_request(project, format, on_error, run)
        _check_language(format, language)
        uploads.delete_old_uploads()
        upload = uploads.save_upload(source, import_id=submission_id)
    parameters = {
        "name": name[:200],
        "format": format,
        "on_error": on_error,
        "run": run,
        "map": map,
        **({"language": language} if language else {}),
        **asdict(upload),
    }
    return start_job(
        id=submission_id, kind=KIND, project=project, actor=actor, parameters=parameters, enqueue=enqueue
    )


def _check_request(project: Project, format: str, on_error: str, run: int | None) -> None:
    _check_format(project, format)
    if run is not None and not (FORMATS[format].has_runs and 1 <= run < 2**31):
        raise Invalid(
            _("The format “%(format)s” takes no run %(run)d.") % {"format": format, "run": run},
            _("Leave the run out; for ratings, write a number from 1."),
            field="run",
        )
    if on_error not in {"skip", "stop"}:
        raise Invalid(
            _("On an error an import can skip or stop."), _("Write skip or stop."), field="on_error"
        )
    check_not_archived(project)


def _check_language(format: str, language: str) -> None:
    if not language:
        return
    check_language_code(language)
    if FORMATS[format].has_runs:
        raise Invalid(
            _("The format “%(format)s” takes no language: participants chose theirs.") % {"format": format},
            _("Leave the language out."),
            field="language",
        )


def check_language_code(language: str) -> None:
    """Raises Invalid if a dialogue cannot have this language."""
    if len(language) > LANGUAGE_CHARS or not is_language_code(language):
        raise Invalid(
            _("“%(code)s” names no language.") % {"code": language[:40]},
            _("Write a code such as en, zh or zh-Hans."),
            field="language",
        )


def checked_map(format: str, map: str) -> str:
    """The map in its shortest form. Raises Invalid."""
    if not map.strip() or format not in FORMATS:
        return ""
    if not FORMATS[format].read_mapped:
        raise Invalid(
            _("The format “%(format)s” takes no keys.") % {"format": format},
            _("Leave them out, or choose the format json."),
            field="map",
        )
    try:
        return str(parse_key_map(map))
    except BadKeyMap as bad:
        raise Invalid(
            _("“%(found)s” cannot be read as a path of keys.") % {"found": bad.name},
            _("Write name=path.of.keys, separated by commas, with the names %(names)s; parent needs id.")
            % {"names": ", ".join(NAMES)},
            field="map",
        ) from None


def _check_format(project: Project, format: str) -> None:
    known = ", ".join(each.name for each in formats_of(project))
    if format not in FORMATS:
        raise Invalid(
            _("There is no format “%(format)s”.") % {"format": format[:40]},
            _("Choose one of: %(known)s.") % {"known": known},
            field="format",
        )
    protocol = FORMATS[format].protocol
    if protocol not in (None, project.protocol):
        raise Invalid(
            _(
                "The format “%(format)s” needs a project of the kind “%(kind)s”; this one is of the kind “%(own)s”."
            )
            % {
                "format": format,
                "kind": ProjectProtocol(protocol).label,
                "own": ProjectProtocol(project.protocol).label,
            },
            _("Choose such a project, or one of the formats %(known)s.") % {"known": known},
            field="format",
        )


@dataclass(slots=True)
class _PositionReader:
    """Counts the bytes that were read from a file, unpacked. source: the file itself."""

    stream: BinaryIO
    source: BinaryIO
    position: int = 0

    def readline(self, size: int = -1) -> bytes:
        line = self.stream.readline(size)
        self.position += len(line)
        return line

    def read(self, size: int = -1) -> bytes:
        chunk = self.stream.read(size)
        self.position += len(chunk)
        return chunk

    @property
    def source_position(self) -> int:
        """Bytes of the file itself, of which the size is known."""
        return self.position if self.stream is self.source else self.source.tell()


def run_import_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Run an import job. Returns a Report as a dict; a Refusal has one in its details.

    Safe to run again after a kill: stored dialogues are found by their external ids.
    """
    _forget_refusal(job)
    if earlier := _find_same_import(job):
        uploads.delete_upload(job.pk)
        return asdict(
            Report(dialogues=earlier.dialogues, already_there=earlier.stored, same_as=earlier.same_as)
        )
    progress.start(total=job.parameters["size"], unit="bytes")
    uploads.fetch_upload(job.pk, progress.beat)
    if finished := _finished_report(job):
        progress.report(job.parameters["size"])
        return asdict(finished)
    try:
        with manual_garbage_collection():
            storage: RowStorage = STORAGES.get(job.parameters["format"], DialogueStorage)(job)
            report, refused_ids = _check(job, progress, storage)
            _store(job, progress, storage, report, refused_ids)
    except Refusal:
        uploads.delete_upload(job.pk)
        raise
    # The result is stored before the file is deleted, so a worker that takes over after a kill finds one of the two.
    # If another worker has taken over already, it needs the file.
    if Job.objects.filter(pk=job.pk, attempts=job.attempts).update(result=asdict(report)):
        uploads.delete_upload(job.pk)
    return asdict(report)


def _forget_refusal(job: Job) -> None:
    """The report of an attempt whose file was refused, which would explain the failure of this one too."""
    if job.result.get("is_refused"):
        job.result = {}
        Job.objects.filter(pk=job.pk, attempts=job.attempts).update(result=job.result)


def _finished_report(job: Job) -> Report | None:
    """The report of an attempt that was killed after everything was stored and the file was deleted."""
    if not job.result or uploads.upload_path(job.pk).exists():
        return None
    report = Report(**job.result)
    present = report.stored + report.already_there + report.deleted
    return report if present and present == report.dialogues else None


def _find_same_import(job: Job) -> Report | None:
    """The report of an earlier import of the same bytes, if no row was refused and every dialogue still exists."""
    if job.parameters["format"] in STORAGES:
        return None
    names = (
        ("sha256", "format", "map") if FORMATS[job.parameters["format"]].read_mapped else ("sha256", "format")
    )
    same = {f"parameters__{name}": job.parameters[name] for name in names}
    for earlier in Job.objects.filter(project=job.project, kind=KIND, state=JobState.DONE, **same):
        report = Report(**earlier.result)
        present = Dialogue.objects.filter(import_job=earlier).count()
        if not report.refused and present == report.stored == report.dialogues:
            report.same_as = str(earlier.pk)
            return report
    return None


def _results(reader: _PositionReader, job: Job) -> Iterator[ParsedRow | RowError]:
    limits = Limits(file_bytes=settings.IMPORT_MAX_BYTES)
    map = job.parameters.get("map")
    rows = parse(
        cast(BinaryIO, reader), job.parameters["format"], limits, parse_key_map(map) if map else None
    )
    language = job.parameters.get("language", "")
    # Ids are made of what the file says, so that the same file with another language brings no dialogue twice.
    results = with_unique_ids(rows)
    for count, result in enumerate(results):
        if count % BATCH_DIALOGUES == 0:
            gc.collect(1)
        if language and isinstance(result, ParsedDialogue) and not result.language:
            yield replace(result, language=language, language_given=True)
        else:
            yield result


@contextmanager
def _open(job: Job) -> Iterator[_PositionReader]:
    try:
        source = uploads.upload_path(job.pk).open("rb")
    except FileNotFoundError:
        raise Refusal(
            "file_gone", _("The file of this import is no longer there."), _("Send the file again.")
        ) from None
    with source, unpacked(source) as stream:
        yield _PositionReader(stream, source)


def _check(job: Job, progress: Progress, storage: RowStorage) -> tuple[Report, frozenset[str]]:
    """Read the whole file. Returns the report, and the ids of dialogues to leave out because a part is refused."""
    report, rows = Report(), 0
    refused_ids = set()
    with RefusedRowWriter(job) as refused_rows, _open(job) as reader:
        for result in _results(reader, job):
            error = result if isinstance(result, RowError) else storage.check(result)
            if error is None and not isinstance(result, RowError):
                rows += 1
                report.dialogues += result.dialogue_count
            elif error is not None:
                report.add_error(error)
                refused_rows.add(error)
                if error.fatal:
                    raise refuse_unreadable_file(report, error)
                if result.external_id:
                    refused_ids.add(result.external_id)
            progress.report(reader.source_position // 2)
    if (report.refused and job.parameters["on_error"] == "stop") or not rows:
        raise refuse_import(report)
    return report, frozenset(refused_ids)


def _store(
    job: Job, progress: Progress, storage: RowStorage, report: Report, refused_ids: frozenset[str]
) -> None:
    """Read the file again and store it; reports progress after every batch."""
    report.language_given = 0
    with _open(job) as reader:
        for batch in _batches(reader, job, refused_ids):
            counts = storage.store(batch)
            report.run = storage.run
            report.stored += counts.stored
            report.already_there += counts.already_there
            report.deleted += counts.deleted
            report.language_given += counts.language_given
            report.utterances += counts.utterances
            job.result = asdict(report)
            Job.objects.filter(pk=job.pk, attempts=job.attempts).update(result=job.result)
            progress.report((job.parameters["size"] + reader.source_position) // 2)
    report.dialogues = report.stored + report.already_there + report.deleted


def _batches(reader: _PositionReader, job: Job, refused_ids: frozenset[str]) -> Iterator[list[ParsedRow]]:
    batch: list[ParsedRow] = []
    batch_start = 0
    for result in _results(reader, job):
        if isinstance(result, RowError) or result.external_id in refused_ids:
            continue
        batch.append(result)
        if len(batch) == BATCH_DIALOGUES or reader.position - batch_start > BATCH_BYTES:
            yield batch
            batch, batch_start = [], reader.position
    if batch:
        yield batch
