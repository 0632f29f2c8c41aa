"""Bytes, characters, JSON and sizes that are refused, each with its line, cause and remedy."""

import pytest

from dialogues.parsing.formats import FORMATS
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.parsing.row_errors import RowError
from tests.dialogues.reading import HEADER, dialogue, error, messages, read, texts


def test_a_byte_order_mark_and_windows_line_breaks_are_tolerated() -> None:
    results = read(
        b"\xef\xbb\xbf" + (messages("a") + messages("b")).replace("\n", "\r\n").encode(), "messages"
    )
    assert [texts(r) for r in results if isinstance(r, ParsedDialogue)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("你好".encode("utf-16"), "The file is encoded in UTF-16, not in UTF-8."),
        (b"PK\x03\x04rest", "This is a ZIP / Excel file, not text."),
        (b"\x1f\x8brest", "This is a gzip file, not text."),
    ],
)
@pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.is_binary])
def test_a_file_that_is_not_utf8_text_says_what_it_is(data: bytes, reason: str, format: str) -> None:
    problem = error(data, format)
    assert problem.fatal
    assert problem.reason == reason


def test_another_encoding_is_reported_with_line_and_byte() -> None:
    _, problem = read(messages("a").encode() + '{"messages": "你好"}'.encode("gb18030"), "messages")
    assert isinstance(problem, RowError)
    assert (problem.line, problem.reason) == (2, "Byte 15 of the line (0xC4) is not UTF-8.")
    assert "iconv" in problem.remedy


@pytest.mark.parametrize(
    "text",
    [
        "مرحبا, שלום and 你好 \u202eabc\u202c",
        "<script>alert('x')</script> <b>&amp;</b>",
        "tab\tand\nline break",
        "👨‍👩‍👧 \U0001f600 e\u0301",
        "  blanks around  ",
    ],
)
def test_text_is_kept_verbatim(text: str) -> None:
    assert texts(dialogue(messages(text), "messages")) == [text]


def test_line_breaks_become_newlines_as_browsers_send_them() -> None:
    assert texts(dialogue(messages("a\r\nb\rc"), "messages")) == ["a\nb\nc"]


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x08", "\x0b", "\x1b", "\x7f"])
def test_control_characters_are_refused_with_their_place(character: str) -> None:
    problem = error(messages("ok", f"ab{character}"), "messages")
    assert problem.code == "control_character"
    where = "messages[1].content"
    assert problem.reason.startswith(
        f"{where} holds the control character U+{ord(character):04X} as its character 3"
    )


def test_half_a_character_is_refused() -> None:
    problem = error('{"messages": [{"role": "a", "content": "x\\ud83d"}]}', "messages")
    assert problem.reason == "messages[0].content holds half a character (U+D83D) as its character 2."


@pytest.mark.parametrize("extra", ['"m": {"k": ["\\u0000"]}', '"m\\u0000": 1', '"m": {"\\udc00": 1}'])
def test_metadata_that_cannot_be_stored_is_refused(extra: str) -> None:
    assert error(f'{{"messages": [{{"role": "a", "content": "x"}}], {extra}}}', "messages").code in {
        "control_character",
        "half_character",
    }


def test_an_escaped_pair_of_halves_is_one_character() -> None:
    assert texts(dialogue('{"messages": [{"role": "a", "content": "\\ud83d\\ude00"}]}', "messages")) == ["😀"]


@pytest.mark.parametrize("data", ['[\n{"messages": []}\n]', '[{"messages": []}]', '[{"a": 1},\n{"a": 2}]'])
def test_a_json_array_is_refused_once_with_the_remedy(data: str) -> None:
    problem = error(data, "messages")
    assert (problem.code, problem.fatal) == ("json_array", True)
    assert "jq -c '.[]'" in problem.remedy


def test_a_spread_object_is_refused_once() -> None:
    assert error('{\n"messages": []\n}', "messages").code == "json_spread"


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ('{"messages": ', "line_cut_off"),
        ("hello", "not_json"),
        ("{hello: 1}", "json_unquoted"),
        ('{"messages": [], "x": NaN}', "not_finite"),
        ('{"messages": [], "x": -Infinity}', "not_finite"),
        ('{"messages": [], "x": 1e999}', "not_finite"),
        ('{"messages": [], "x": ' + "9" * 5000 + "}", "number_too_long"),
        ('{"x": ' + "[" * 100_000, "too_deep"),
        ('{"messages": [{"role": "a", "content": "x"}], "x": ' + "[" * 50 + "]" * 50 + "}", "too_deep"),
    ],
)
def test_bad_json_costs_its_line_only(row: str, code: str) -> None:
    first, problem, last = read(messages("a") + row + "\n" + messages("b"), "messages")
    assert isinstance(first, ParsedDialogue)
    assert isinstance(last, ParsedDialogue)
    assert isinstance(problem, RowError)
    assert (problem.line, problem.code) == (2, code)


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("messages", messages("x" * 200_000)),
        ("eou", "x" * 200_000 + "\n"),
        ("utterances", "x" * 200_000 + "\n"),
        ("csv", HEADER + f"d1,A,{'x' * 200_000}\n"),
        ("csv", HEADER + f'd1,A,"{"x" * 200_000}"\n'),
    ],
)
def test_an_utterance_of_200_000_characters_is_refused(format: str, data: str) -> None:
    problem = error(data, format)
    assert "has 200,000 characters, more than the 20,000 allowed" in problem.reason
    assert problem.line == data.count("\n")


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("messages", messages("a", "b", "c", "d")),
        ("eou", "a__eou__b__eou__c__eou__d"),
        ("utterances", "a\nb\nc\nd\ne\nf\n"),
        ("csv", HEADER + "d1,A,a\n" * 6),
    ],
)
def test_a_dialogue_of_too_many_utterances_is_refused_once(format: str, data: str) -> None:
    assert error(data, format, utterances=3).code == "too_many"


def test_too_many_dialogues_end_the_file() -> None:
    results = read(messages("a") * 5, "messages", dialogues=3)
    assert len(results) == 4
    assert isinstance(results[-1], RowError)
    assert results[-1].fatal


def test_too_large_a_file_ends() -> None:
    problem = read(messages("a") * 5, "messages", file_bytes=100)[-1]
    assert isinstance(problem, RowError)
    assert (problem.code, problem.fatal) == ("file_too_large", True)
