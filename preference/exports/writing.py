"""Writing rows to a file, whole or not at all, and its manifest."""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from django.utils import timezone

from preference.exports import ExportFormat, Row
from preference.exports.selection import Selection

CODE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a file is: enough to check it and to make it again."""

    format: str
    schema_version: str
    project: str
    filters: dict[str, Any]
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
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=CODE, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def encode(row: Row) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write_rows(rows: Iterator[Row], out: IO[bytes], at: Callable[[int], None]) -> tuple[int, int, str]:
    """Write one JSON line per row; `at` is told the rows so far. Returns rows, bytes, SHA-256."""
    digest, written, count = hashlib.sha256(), 0, 0
    for count, row in enumerate(rows, start=1):
        line = encode(row)
        out.write(line)
        digest.update(line)
        written += len(line)
        at(count)
    return count, written, digest.hexdigest()


def export(
    format: ExportFormat, selection: Selection, out: IO[bytes], at: Callable[[int], None] = lambda rows: None
) -> Manifest:
    rows, written, sha256 = write_rows(format.rows(selection), out, at)
    return Manifest(
        format=format.name,
        schema_version=format.version,
        project=selection.project.slug,
        filters=selection.filters.as_json(),
        rows=rows,
        bytes=written,
        sha256=sha256,
        seed=None,
        code_version=code_version(),
        created_at=timezone.now().isoformat(),
    )


def export_to(
    path: Path, format: ExportFormat, selection: Selection, at: Callable[[int], None] = lambda rows: None
) -> Manifest:
    """Write `path` and `path`.manifest.json. A full disk or a kill leaves no data file of this name behind.

    Raises OSError; the partial file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as out:
            manifest = export(format, selection, out, at)
            out.flush()
            os.fsync(out.fileno())
        manifest_path(path).write_text(json.dumps(manifest.as_json(), ensure_ascii=False, indent=2) + "\n")
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return manifest


def manifest_path(path: Path) -> Path:
    return path.with_name(path.name + ".manifest.json")
