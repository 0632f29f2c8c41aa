"""Files that are broken as people's files are: each names its line, its cause and its remedy."""

import gzip
import io
import json
import random
import zipfile

import pytest

from common.refusals import Invalid
from dialogues.parsing.compressed import unpacked
from dialogues.parsing.formats import parse
from dialogues.parsing.json_mistakes import explain_json_error
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.parsing.row_errors import RowError
from dialogues.services.imports import guess_format_or_refuse
from tests.dialogues.reading import HEADER, messages, read, workbook

GOOD = messages("你好", "Hello").strip()
LINES = "\n".join(json.dumps({"messages": [{"role": "user", "content": text}]}) for text in "abc")
ARRAY = json.dumps([{"turns": [{"who": "A", "text": str(n)}]} for n in range(3)], indent=1)
PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(2000)
CUT_OFF = "The file ends in the middle of a record."


def row(value: str) -> str:
    """A row of `messages` with this text as its first message."""
    return f'{{"messages": [{value}]}}\n'


BROKEN_FILES = [
    # cut off
    ("json", ARRAY[: ARRAY.rindex('"text"') + 10], 22, CUT_OFF),
    ("json", ARRAY[: ARRAY.rindex('"text"') + 3], 22, CUT_OFF),
    ("json", ARRAY[:30], 5, CUT_OFF),
    ("json", ARRAY.rstrip("]\n"), 25, CUT_OFF),
    ("json", ARRAY.replace("0", "你").encode()[: ARRAY.index("0") + 1], 6, CUT_OFF),
    ("dialeval", '[{"id": "a"', 1, CUT_OFF),
    ("messages", LINES[:-9], 3, CUT_OFF),
    ("messages", LINES + '\n{"messages": [{"role": "user", "content": "\\u4f', 4, CUT_OFF),
    ("messages", (LINES + "\n" + row('{"role": "user", "content": "你')).encode()[:-5], 4, CUT_OFF),
    ("messages", LINES + '\n{"messages": [{"role": "user", "content": "\\', 4, CUT_OFF),
    ("messages", LINES + '\n{"messages": [{"role": "user", "content": "\\u', 4, CUT_OFF),
    ("messages", f'{{"messages": [{{"role": "user",\n{LINES}', 1, "The line ends in the middle of a record."),
    ("eou", "Hello __eou__ 你".encode()[:-1], 1, CUT_OFF),
    ("csv", (HEADER + "d1,A,你").encode()[:-1], 2, CUT_OFF),
    # quotation marks
    (
        "messages",
        row('{"role": "user, "content": "Hi"}'),
        1,
        "This is not valid JSON: a quotation mark is missing after “user” (character 32).",
    ),
    (
        "messages",
        row('{"role": "user", "content": "Hi}'),
        1,
        "This is not valid JSON: a quotation mark is missing after “Hi” (character 43).",
    ),
    (
        "messages",
        row('{"role": "user", "content": "He said "no" to me"}'),
        1,
        "This is not valid JSON: after “He said”, a quotation mark ends the text too early (character 53).",
    ),
    (
        "messages",
        row("{'role': 'user'}"),
        1,
        "This is not valid JSON: a double quotation mark is missing before “'role'” (character 16).",
    ),
    (
        "json",
        '[\n {"text": "Hi"},\n {"text: "Ho"},\n {"text": "He"}\n]',
        3,
        "This is not valid JSON: a quotation mark is missing after “text” (character 11).",
    ),
    (
        "json",
        '[\n {"turns": [\n  {"text": "Hi},\n  {"text": "Ho"}\n ]}\n]',
        3,
        "This is not valid JSON: a quotation mark is missing after “Hi” (character 17).",
    ),
    # escapes and words
    (
        "messages",
        '{"content":"a\\d"}',
        1,
        "This is not valid JSON: “\\d” is not a valid escape (character 14).",
    ),
    (
        "messages",
        '{"content":"a\\u4f"}',
        1,
        "This is not valid JSON: “\\u4f” is not a valid escape (character 15).",
    ),
    ("messages", '{"seen": None}', 1, "This is not valid JSON: “None” is not a JSON value (character 10)."),
    ("messages", '{"seen": tru}', 1, "This is not valid JSON: “tru” is not a JSON value (character 10)."),
    (
        "json",
        '[{"a": True}]',
        1,
        "This is not valid JSON: “True” is not a JSON value (character 8).",
    ),
    # commas, colons and brackets
    (
        "messages",
        row('{"role": "user" "content": "Hi"}'),
        1,
        "This is not valid JSON: a comma is missing before “content” (character 31).",
    ),
    (
        "messages",
        row('{"role" "user"}'),
        1,
        "This is not valid JSON: a colon is missing before “user” (character 23).",
    ),
    (
        "messages",
        row('{"role": "user", "content": "Hi",}'),
        1,
        "This is not valid JSON: a comma has no value after it (character 48).",
    ),
    (
        "messages",
        row('{"role": "user", "content": "Hi"]'),
        1,
        "This is not valid JSON: “]” does not close the bracket that is open (character 47).",
    ),
    (
        "json",
        '[{"turns": ["Hi", "Ho"]},\n {"turns": ["Hi" "Ho"]}]',
        2,
        "This is not valid JSON: a comma is missing before “Ho” (character 18).",
    ),
    (
        "messages",
        row('{"role": "user"}}, {'),
        1,
        "This is not valid JSON: “}” does not close the bracket that is open (character 31).",
    ),
    # a record of another type
    ("json", '[["Hi", "Ho"], null]', 1, "The record must be a list, is null."),
    # nothing in it
    ("json", "[]", 1, "The list is empty: there are no dialogues in this file."),
    ("json", '{"dialogues": []}', 1, "The list is empty: there are no dialogues in this file."),
    ("messages", "[]", 1, "The list is empty: there are no dialogues in this file."),
    # not text
    ("tabs", PNG, 1, "This is a picture (PNG), not text."),
    ("json", b"%PDF-1.7 \xe2\xe3", 1, "This is a PDF document, not text."),
    ("csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 1, "This is an old or protected Office file, not text."),
    ("eou", random.Random(2).randbytes(3000), 1, "This file is not text."),
    ("eou", "Hello __eou__ Hi".encode("utf-16-le"), 1, "The file is encoded in UTF-16, not in UTF-8."),
    # packed
    ("xlsx", workbook(["dialogue_id"], ["d1"])[:-40], 1, "The end of this Excel file is missing."),
]  # fmt: skip


@pytest.mark.parametrize(("format", "data", "line", "reason"), BROKEN_FILES)
def test_a_broken_file_names_its_line_and_cause(
    format: str, data: str | bytes, line: int, reason: str
) -> None:
    (problem,) = (each for each in read(data, format) if isinstance(each, RowError))
    assert (problem.line, problem.reason) == (line, reason)
    assert "format json" not in problem.remedy


@pytest.mark.parametrize(("data", "lines"), [(f"{GOOD},\n", [1]), (f"{GOOD},\n{GOOD},\n{GOOD}\n", [1, 2])])
def test_a_comma_after_a_record_is_named_on_its_line(data: str, lines: list[int]) -> None:
    problems = [each for each in read(data, "messages") if isinstance(each, RowError)]
    assert [(each.line, each.code) for each in problems] == [(line, "json_comma_after") for line in lines]
    assert "put all lines into [ ]" in problems[0].remedy


@pytest.mark.parametrize("closing", ["object", "array"])
def test_a_comma_before_a_bracket_is_named_as_newer_pythons_report_it(closing: str) -> None:
    error = json.JSONDecodeError(f"Illegal trailing comma before end of {closing}", '{"a": [1, 2,],}', 11)
    assert explain_json_error(error, 12, is_end_of_file=True).code == "json_comma_extra"


@pytest.mark.parametrize("format", ["messages", "json"])
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_one_broken_line_is_refused_alone(format: str, bad: int) -> None:
    lines = [GOOD] * 3
    lines[bad] = GOOD.replace('"user",', '"user,', 1)
    results = read("\n".join(lines), format)
    assert [isinstance(each, ParsedDialogue) for each in results] == [place != bad for place in range(3)]
    problem = results[bad]
    assert isinstance(problem, RowError)
    assert (problem.line, problem.code, problem.fatal) == (bad + 1, "json_quote", False)


def test_a_line_of_plain_text_is_not_json() -> None:
    _good, problem = read(f"{GOOD}\nHello there.\n", "messages")
    assert isinstance(problem, RowError)
    assert problem.code == "not_json"


def test_a_line_cut_off_among_others_costs_that_line() -> None:
    problem, *others = read(f"{GOOD[:40]}\n{GOOD}\n{GOOD}\n", "messages")
    assert isinstance(problem, RowError)
    assert (problem.line, problem.reason) == (1, "The line ends in the middle of a record.")
    assert all(isinstance(each, ParsedDialogue) for each in others)


def test_a_file_of_broken_lines_is_guessed_as_lines() -> None:
    broken = GOOD.replace('"user",', '"user,', 1)
    assert guess_format_or_refuse("chats.json", f"{broken}\n{GOOD}\n".encode()) == "messages"


@pytest.mark.parametrize("data", [PNG, random.Random(2).randbytes(3000), gzip.compress(PNG)])
def test_no_format_is_guessed_for_a_file_that_is_not_text(data: bytes) -> None:
    with pytest.raises(Invalid, match="not text"):
        guess_format_or_refuse("chats", data)


def test_a_gzip_file_that_breaks_off_says_so() -> None:
    whole = gzip.compress(random.Random(3).randbytes(9000).hex().encode())
    *_, problem = parse(unpacked(io.BytesIO(whole[:-500])), "utterances")
    assert isinstance(problem, RowError)
    assert (problem.reason, problem.has_line) == ("The packed file ends too early.", False)


def test_another_archive_is_not_taken_for_excel() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("chats.jsonl", GOOD)
    (problem,) = read(out.getvalue(), "xlsx")
    assert isinstance(problem, RowError)
    assert problem.reason == "This is a ZIP archive, not an Excel file."


def test_a_mistake_is_found_without_reading_the_rest_of_the_file() -> None:
    rest = '{"turns": ["Hi", "Ho"]},\n' * 20_000
    *_, problem = read(f'[{{"turns": ["Hi" "Ho"]}},\n{rest}', "json", "utterances=turns", line_bytes=100_000)
    assert isinstance(problem, RowError)
    assert (problem.line, problem.code) == (1, "json_comma")
