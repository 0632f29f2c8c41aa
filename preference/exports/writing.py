"""Writing rows to a file, whole or not at all, and its manifest."""

import gc
import hashlib
import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from django.utils import timezone

from preference.exports import ExportFormat, Row
from preference.selectors.selection import Selection

CODE = Path(__file__).resolve().parents[2]
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
At = Callable[[int], None]
Line = bytes  # _Writer counts under that name


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a file is: enough to check it and to make it again.

    left_out: dialogues that the format kept back, by their final label. seed: of what was drawn; nothing is so far.
    """

    format: str
    schema_version: str
    project: str
    filters: dict[str, Any]
    dialogues: int
    left_out: dict[str, int]
    rows: int
    bytes: int
    sha256: str
    seed: int | None
    code_version: str
    created_at: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def code_version() -> str:
    """LAPIDARY_VERSION (set in the images), or the commit of the checkout."""
    if named := os.environ.get("LAPIDARY_VERSION"):
        return named
    asked = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=CODE, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or "unknown"


def encode(row: Row) -> bytes:
    """One line. Line separators of Unicode stay as they are: JSON Lines ends a line with \\n alone."""
    return ENCODER.encode(row).encode() + b"\n"


@dataclass(slots=True)
class _Writer:
    """Counts and hashes what goes through it."""

    out: IO[bytes]
    is_array: bool = False
    rows: int = 0
    bytes: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, row: Row) -> None:
        if self.is_array:
            self.put(b",\n" if self.rows else b"[\n")
        line = encode(row)
        self.put(line[:-1] if self.is_array else line)
        self.rows += 1

    def end(self) -> None:
        if self.is_array:
            self.put(b"\n]\n" if self.rows else b"[]\n")

    def put(self, line: Line) -> None:
        self.out.write(line)
        self.digest.update(line)
        self.bytes += len(line)


@contextmanager
def _collecting_by_page() -> Iterator[Callable[[], object]]:
    """Rows hold no cycles: looking for some while they are made took a quarter of an export."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield lambda: gc.collect(1)
    finally:
        if was_on:
            gc.enable()


def export(
    format: ExportFormat, selection: Selection, out: IO[bytes], at: At = lambda dialogues: None
) -> Manifest:
    """Write every row of the selection, as JSON Lines or one array.

    at: told after every page how many dialogues are done.
    """
    writer, dialogues = _Writer(out, format.is_array), 0
    selection.left_out.clear()
    with _collecting_by_page() as collect:
        for page in selection.pages():
            for row in format.rows(selection, page):
                writer.write(row)
            dialogues += len(page)
            at(dialogues)
            collect()
    writer.end()
    return Manifest(
        format=format.name,
        schema_version=format.version,
        project=selection.project.slug,
        filters=selection.filters.as_json(),
        dialogues=dialogues - selection.left_out.total(),
        left_out=dict(sorted(selection.left_out.items())),
        rows=writer.rows,
        bytes=writer.bytes,
        sha256=writer.digest.hexdigest(),
        seed=None,
        code_version=code_version(),
        created_at=timezone.now().isoformat(),
    )


def export_to(
    path: Path, format: ExportFormat, selection: Selection, at: At = lambda dialogues: None
) -> Manifest:
    """Write `path` and `path`.manifest.json, replacing what is there only when all of it is written.

    Raises OSError, and whatever `at` raises; nothing of this attempt is then left behind. The partial files have names
    of their own, so that a worker that was believed dead does not write into the file of the one that took over.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    attempt = uuid.uuid4().hex
    partial, partial_manifest = (
        path.with_name(f".{path.name}.{attempt}.{end}") for end in ("part", "manifest")
    )
    try:
        with partial.open("wb") as out:
            manifest = export(format, selection, out, at)
            out.flush()
            os.fsync(out.fileno())
        partial_manifest.write_text(json.dumps(manifest.as_json(), ensure_ascii=False, indent=2) + "\n")
        partial.replace(path)
        partial_manifest.replace(manifest_path(path))
    finally:
        partial.unlink(missing_ok=True)
        partial_manifest.unlink(missing_ok=True)
    return manifest


def manifest_path(path: Path) -> Path:
    return path.with_name(path.name + ".manifest.json")
