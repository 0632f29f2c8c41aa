"""`xlsx`: the first sheet of an Excel file, with the columns of `csv`."""

import datetime
import tempfile
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from dialogues.parsing.compressed import ZIP
from dialogues.parsing.csv_rows import Row
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue
from dialogues.parsing.readers.csv_tsv import read_table
from dialogues.parsing.row_errors import BadRow, RowError

PACKED_BYTES = 64 * 1024**2
UNPACKED_BYTES = 512 * 1024**2  # of the whole file
TEXTS_BYTES = 128 * 1024**2  # of the table of texts, which is held in memory
IN_MEMORY = 4 * 1024**2
CHUNK = 1024**2
COLUMNS = 200
FILES = 1000
TEXTS = "xl/sharedStrings.xml"


def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
    """The dialogues of the sheet; a line is a row of it."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        try:
            _copy(stream, file, limits)
            _check_archive(file)
            yield from read_table(_rows(file), limits)
        except BadRow as problem:
            yield RowError(1, problem.code, problem.params, fatal=True)


def _copy(stream: BinaryIO, file: Any, limits: Limits) -> None:
    """A ZIP file cannot be read from front to back."""
    most = min(PACKED_BYTES, limits.file_bytes)
    while chunk := stream.read(CHUNK):
        file.write(chunk)
        if file.tell() > most:
            raise BadRow("file_too_large", limit=most)
    file.seek(0)


def _check_archive(file: Any) -> None:
    """Refuse a file that would fill the memory or the disk when unpacked.

    The sizes in its directory can be trusted: zipfile never reads beyond them.
    """
    if not zipfile.is_zipfile(file):
        raise BadRow("xlsx_cut_off" if _is_zip(file) else "not_xlsx")
    try:
        entries = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise BadRow("not_xlsx") from None
    if not any(entry.filename.startswith("xl/") for entry in entries):
        raise BadRow("zip_not_xlsx")
    if len(entries) > FILES or sum(entry.file_size for entry in entries) > UNPACKED_BYTES:
        raise BadRow("file_too_large", limit=UNPACKED_BYTES)
    if any(entry.filename == TEXTS and entry.file_size > TEXTS_BYTES for entry in entries):
        raise BadRow("file_too_large", limit=TEXTS_BYTES)


def _is_zip(file: Any) -> bool:
    file.seek(0)
    return bool(file.read(len(ZIP)) == ZIP)


def _rows(file: Any) -> Iterator[Row | RowError]:
    """The rows that are not blank; each is padded to the columns that the first one names."""
    from openpyxl import load_workbook  # 0.2 s to import, which every process would take to start

    width = 0
    try:
        sheet = load_workbook(file, read_only=True, data_only=True, keep_links=False).worksheets[0]
        sheet.reset_dimensions()
        for number, cells in enumerate(sheet.iter_rows(max_col=COLUMNS, values_only=True), start=1):
            fields = [_text(cell) for cell in cells]
            while len(fields) > width and not fields[-1].strip():
                fields.pop()
            if any(field.strip() for field in fields):
                width = width or len(fields)
                yield number, fields + [""] * (width - len(fields))
    except Exception:  # openpyxl raises a dozen kinds for damaged files
        raise BadRow("not_xlsx") from None


def _text(cell: Any) -> str:
    """The cell as text: whole numbers without a point, times as ISO 8601."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, (datetime.datetime, datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)
