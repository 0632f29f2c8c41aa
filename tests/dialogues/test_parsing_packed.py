"""Excel files and gzip: read, limited, and refused with a reason."""

import datetime
import gzip
import io
import zipfile

import pytest

from dialogues.parsing.compressed import unpacked, unpacked_head
from dialogues.parsing.formats import parse
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue
from dialogues.parsing.readers import xlsx
from dialogues.parsing.row_errors import RowError
from tests.dialogues.reading import dialogue, error, messages, read, texts, workbook

COLUMNS = ["dialogue_id", "speaker", "text"]


def test_a_sheet_is_read_row_by_row_with_its_own_line_numbers() -> None:
    data = workbook(
        [*COLUMNS, "time"],
        ["d1", "A", "one\ntwo", datetime.datetime(2026, 5, 1, 10, 0)],
        [],
        ["d1", "B", 3.0],
        ["d2", "A", None],
    )
    first, problem = read(data, "xlsx")
    assert isinstance(first, ParsedDialogue)
    assert isinstance(problem, RowError)
    assert (texts(first), first.utterances[0].time) == (["one\ntwo", "3"], "2026-05-01T10:00:00")
    assert (problem.line, problem.code) == (5, "empty")


def test_a_cell_beside_the_columns_is_named() -> None:
    assert error(workbook(COLUMNS, ["d1", "A", "Hi", "more"]), "xlsx").code == "wrong_columns"


@pytest.mark.parametrize("data", [b"", b"dialogue_id\n"])
def test_another_file_than_a_workbook_is_refused(data: bytes) -> None:
    problem = error(data, "xlsx")
    assert (problem.code, problem.fatal) == ("not_xlsx", True)


def test_a_workbook_that_unpacks_to_too_much_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "UNPACKED_BYTES", 1024**2)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2 * 1024**2))
    assert error(out.getvalue(), "xlsx").code == "file_too_large"
    assert error(workbook(COLUMNS), "xlsx", file_bytes=100).code == "file_too_large"


def packed(data: bytes) -> io.BytesIO:
    return io.BytesIO(gzip.compress(data))


def test_gzip_is_unpacked_while_it_is_read() -> None:
    (row,) = parse(unpacked(packed(messages("Hi").encode())), "messages")
    assert row == dialogue(messages("Hi"), "messages")


def test_what_comes_out_of_gzip_is_limited() -> None:
    limits = Limits(file_bytes=1024**2, line_bytes=64 * 1024)
    *_, problem = parse(unpacked(packed(b"x" * 64 * 1024**2)), "messages", limits)
    assert isinstance(problem, RowError)
    assert (problem.code, problem.fatal) == ("file_too_large", True)


def test_a_packed_file_that_breaks_off_is_refused() -> None:
    whole = gzip.compress(messages(*(str(number) for number in range(500))).encode())
    *_, problem = parse(unpacked(io.BytesIO(whole[:-20])), "messages")
    assert isinstance(problem, RowError)
    assert (problem.code, problem.fatal) == ("archive_cut_off", True)


def test_the_head_of_a_packed_file_is_limited() -> None:
    assert unpacked_head(gzip.compress(b"x" * 1024**2)[:500], 100) == b"x" * 100
    assert unpacked_head(b"\x1f\x8bno", 100) == b"\x1f\x8bno"
