"""Writing rows to a file, completely or not at all, with a manifest."""

import gc
import hashlib
import json
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import orjson
from django.utils import timezone

from common.release import code_version
from jobs.garbage_collection import manual_garbage_collection
from preference.data.formats.catalogue import ExportFormat, Row
from preference.data.formats.leading_turns import fit_leading_turns
from preference.data.formats.replies import DrawContext
from preference.data.models.exports import FileType, FormatName
from preference.data.selectors.frozen_dialogues import FrozenDialogues, SnapshotName
from preference.data.selectors.random_replies import DrawSettings, reply_pool_of_project, reply_pool_of_rows
from preference.data.selectors.selection import Selection
from preference.data.selectors.study import StudySelection

ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
PRIVATE = 0o600  # of files: dialogues of real people
CHUNK = 256 * 1024  # bytes that are written and hashed together
At = Callable[[int], None]
Source = Selection | FrozenDialogues | StudySelection
Data = bytes  # HashingWriter counts under that name


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in a file: enough to verify it and to write it again.

    snapshot: its source, None: the project. left_out: dialogues that the format withheld, by final label. skipped:
    turns that gave no row or no random pair, by reason. seed, epoch: of random draws, None if there were none.
    leading_assistant: one of LeadingTurns, None in formats without roles. labels: in kto, the rows with the label true
    (desirable) and false (undesirable), from which the weights of its loss follow.
    """

    format: str
    file_type: str
    schema_version: str
    project: str
    snapshot: SnapshotName | None
    filters: dict[str, Any]
    dialogues: int
    left_out: dict[str, int]
    skipped: dict[str, int]
    rows: int
    bytes: int
    sha256: str
    seed: int | None
    epoch: int | None
    leading_assistant: str | None
    labels: dict[str, int]
    code_version: str
    created_at: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def encode(row: Row) -> bytes:
    """One line. Unicode line separators need no escape: in JSON Lines only \\n ends a line."""
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # imported metadata may hold a whole number beyond 64 bits
        return ENCODER.encode(row).encode() + b"\n"


class RowWriter(Protocol):
    """Writes rows of one format in one file type."""

    rows: int

    def write(self, row: Row) -> None: ...

    def end(self) -> None: ...


@dataclass(slots=True)
class HashingWriter:
    """A file that counts and hashes what goes through it."""

    out: IO[bytes]
    bytes: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def put(self, data: Data) -> None:
        self.out.write(data)
        self.digest.update(data)
        self.bytes += len(data)


@dataclass(slots=True)
class _JsonLinesWriter:
    """JSON Lines; or, inside a frame, one JSON value. frame: the text before the first and after the last row."""

    out: HashingWriter
    frame: tuple[bytes, bytes] | None = None
    rows: int = 0
    waiting: list[bytes] = field(default_factory=list)
    waiting_bytes: int = 0

    def write(self, row: Row) -> None:
        line = encode(row)
        if self.frame:
            line = (b",\n" if self.rows else self.frame[0] + b"\n") + line[:-1]
        self.waiting.append(line)
        self.rows += 1
        self.waiting_bytes += len(line)
        if self.waiting_bytes >= CHUNK:
            self._put()

    def _put(self) -> None:
        self.out.put(b"".join(self.waiting))
        self.waiting.clear()
        self.waiting_bytes = 0

    def end(self) -> None:
        if self.frame:
            opening, closing = self.frame
            self.waiting.append((b"\n" if self.rows else opening) + closing)
        self._put()


def export(
    format: ExportFormat,
    source: Source,
    out: IO[bytes],
    at: At = lambda dialogues: None,
    *,
    file_type: str = FileType.JSONL,
    draws: DrawSettings | None = None,
) -> Manifest:
    """Write every row of a project's selection or of a snapshot.

    at: called after every page with the number of dialogues written.
    """
    file, dialogues, labels = HashingWriter(out), 0, Counter[str]()
    writer, draw_context = _writer(format, file, file_type, source), _draw_context(format, source, draws)
    source.left_out.clear()
    with manual_garbage_collection():
        for page in source.pages():
            for row in _rows(format, source, page, draw_context):
                writer.write(row)
                if format.name == FormatName.KTO:
                    labels["desirable" if row["label"] else "undesirable"] += 1
            dialogues += source.dialogue_count(page)
            at(dialogues)
            gc.collect(1)
    writer.end()
    draws_replies = format.draws and not isinstance(source, StudySelection)
    return Manifest(
        format=format.name,
        file_type=str(file_type),
        schema_version=format.version,
        project=source.project.slug,
        snapshot=source.name if isinstance(source, FrozenDialogues) else None,
        filters=source.filters.as_json(),
        dialogues=dialogues - source.left_out.total(),
        left_out=dict(sorted(source.left_out.items())),
        skipped=dict(sorted(draw_context.skipped.items())),
        rows=writer.rows,
        bytes=file.bytes,
        sha256=file.digest.hexdigest(),
        seed=draw_context.draws.seed if draws_replies else None,
        epoch=draw_context.draws.epoch if draws_replies else None,
        leading_assistant=draw_context.draws.leading_assistant if format.is_trl else None,
        labels=dict(sorted(labels.items())),
        code_version=code_version(),
        created_at=timezone.now().isoformat(),
    )


def _writer(format: ExportFormat, file: HashingWriter, file_type: str, source: Source) -> RowWriter:
    if file_type != FileType.PARQUET:
        return _JsonLinesWriter(file, _frame(format, source))
    # Imported here because web processes and most exports never need Arrow.
    from preference.data.formats.parquet import ParquetRows

    return ParquetRows(file, format.name)


def _frame(format: ExportFormat, source: Source) -> tuple[bytes, bytes] | None:
    if format.opening and isinstance(source, StudySelection):
        return b'{"metadata": ' + encode(format.opening(source))[:-1] + b',\n"data": [', b"]}\n"
    return (b"[", b"]\n") if format.is_array else None


def _draw_context(format: ExportFormat, source: Source, draws: DrawSettings | None) -> DrawContext:
    draws = draws or DrawSettings()
    if not format.draws or isinstance(source, StudySelection):
        return DrawContext(draws)
    if isinstance(source, FrozenDialogues):
        return DrawContext(draws, reply_pool_of_rows(source.rows(), source.filters.splits, draws))
    return DrawContext(draws, reply_pool_of_project(source, draws))


def _rows(format: ExportFormat, source: Source, page: list[Any], draw_context: DrawContext) -> Iterator[Row]:
    rows = _rows_of_source(format, source, page, draw_context)
    if not format.is_trl:
        return rows
    return fit_leading_turns(rows, draw_context.draws.leading_assistant, draw_context.skip)


def _rows_of_source(
    format: ExportFormat, source: Source, page: list[Any], draw_context: DrawContext
) -> Iterator[Row]:
    if isinstance(source, FrozenDialogues):
        return format.frozen_rows(page, draw_context)
    if isinstance(source, StudySelection):
        return format.rows_of_study(source, page)
    return format.live_rows(source, page, draw_context)


def write_export_file(
    path: Path,
    format: ExportFormat,
    source: Source,
    at: At = lambda dialogues: None,
    *,
    file_type: str = FileType.JSONL,
    draws: DrawSettings | None = None,
) -> Manifest:
    """Write `path` and `path`.manifest.json; older files are replaced only when the new ones are complete.

    Raises OSError and anything that `at` raises; then nothing is left behind. Partial files have unique names, so that
    a worker believed dead does not write into the file of the worker that took over.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    attempt = uuid.uuid4().hex
    partial, partial_manifest = (
        path.with_name(f".{path.name}.{attempt}.{end}") for end in ("part", "manifest")
    )
    try:
        with partial.open("wb") as out:
            os.fchmod(out.fileno(), PRIVATE)
            manifest = export(format, source, out, at, file_type=file_type, draws=draws)
            out.flush()
            os.fsync(out.fileno())
        partial_manifest.write_text(json.dumps(manifest.as_json(), ensure_ascii=False, indent=2) + "\n")
        partial_manifest.chmod(PRIVATE)
        partial.replace(path)
        partial_manifest.replace(manifest_path(path))
    finally:
        partial.unlink(missing_ok=True)
        partial_manifest.unlink(missing_ok=True)
    return manifest


def manifest_path(path: Path) -> Path:
    return path.with_name(path.name + ".manifest.json")
