"""Which format a file is in, by its first bytes."""

import pytest

from dialogues.parsing.format_guess import guess_format, preview_dialogue
from dialogues.parsing.formats import FORMATS
from dialogues.parsing.key_map import parse_key_map
from tests.dialogues.reading import example_file


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["file", "file.txt"])
def test_the_example_of_every_format_is_recognised_whatever_its_name(format: str, name: str) -> None:
    assert guess_format(name, example_file(FORMATS[format])) == format


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.csv", "id;who;what\n", "csv"),
        ("a.txt", "Hello\nHi\n", "utterances"),
        ("a.jsonl", "", None),
        ("a.json", '[{"messages": []', "json"),
        ("a.json", '{"messages": [{"message": "Hi"}]}\n', "json"),
        ("a.json", '{\n"valid": [["Hi", "Ho"]]', "json"),
        ("a.jsonl", '\ufeff{"id": 1, "conversation": [{"utterance": "' + "x" * 90, "diamante"),
        ("a.jsonl", '{"about": {"messages": 3}, "conversations": [', "sharegpt"),
        ("a.tsv", "hello\tworld\n", "tabs"),
        ("a.tsv", "speaker\ttext\nA\tHi\n", "tsv"),
        ("a.txt", "Hi\n" * 60, None),
        ("a.txt", "Hi\nHo\n\n" * 60, "utterances"),
    ],
)
def test_names_and_torn_beginnings_are_weighed(name: str, head: str, format: str | None) -> None:
    assert guess_format(name, head.encode()) == format


def test_any_bytes_are_accepted() -> None:
    assert guess_format("x", b"\x00\x03\x04\xff\xfe") == "utterances"


def test_the_first_dialogue_is_shown_as_it_would_be_stored() -> None:
    preview = preview_dialogue("messages", FORMATS["messages"].example.encode(), is_whole=True)
    assert preview.dialogue is not None
    assert [utterance.text for utterance in preview.dialogue.utterances] == ["你好", "你好！"]


def test_the_first_row_that_would_be_refused_is_shown() -> None:
    preview = preview_dialogue("messages", b'{"messages": 3}\n', is_whole=True)
    assert preview.error is not None
    assert preview.error.line == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_torn_line_at_the_end_is_not_taken_for_an_error(format: str) -> None:
    example = example_file(FORMATS[format])
    assert preview_dialogue(format, example[: len(example) // 2], is_whole=False).error is None


def test_a_dialogue_that_may_go_on_is_not_shown_as_whole() -> None:
    assert (
        preview_dialogue("csv", b"dialogue_id,speaker,text\nd1,A,Hi\nd1,B,Ho\n", is_whole=False).dialogue
        is None
    )


ROWS = b'{"id": 1}\n' * 5


@pytest.mark.parametrize(
    ("format", "head", "whole", "refuses_all"),
    [
        ("messages", ROWS, False, True),
        ("messages", ROWS[:10], False, False),
        ("messages", ROWS[:10], True, True),
        ("messages", ROWS + b'{"messages": [{"role": "A", "content": "Hi"}]}\n', True, False),
        ("csv", b"who,what\nA,Hi\n", False, True),
        (
            "json",
            b'[{"messages": [{"a": "x"}]}' + b', {"messages": [{"a": "x"}]}' * 3,
            False,
            True,
        ),
    ],
)
def test_a_preview_tells_one_refused_row_from_a_wrong_format(
    format: str, head: bytes, whole: bool, refuses_all: bool
) -> None:
    key_map = parse_key_map("utterances=messages,text=b") if format == "json" else None
    preview = preview_dialogue(format, head, is_whole=whole, key_map=key_map)
    assert preview.error is not None
    assert preview.refuses_all == refuses_all


def test_the_first_dialogue_of_a_torn_array_is_shown() -> None:
    head = b'[{"messages": [{"message": "Hi"}, {"message": "Ho"}]}, {"messages": [{"mess'
    preview = preview_dialogue("json", head, is_whole=False)
    assert preview.dialogue is not None
    assert [utterance.text for utterance in preview.dialogue.utterances] == ["Hi", "Ho"]


GOOD = b'{"messages": [{"role": "A", "content": "Hi"}]}'


@pytest.mark.parametrize(
    ("format", "content", "line", "refuses_all"),
    [
        ("messages", GOOD + b'\n{"messages": [}\n' + GOOD, 2, False),
        ("json", b"[" + GOOD + b",\n" + GOOD[:20], 2, True),
        ("json", b"[" + GOOD + b',\n{"messages": [{"role": "A", "content": Ho"}]}]', 2, True),
    ],
    ids=["one line", "cut", "a missing quotation mark"],
)
def test_a_row_after_the_first_that_would_be_refused_is_shown(
    format: str, content: bytes, line: int, refuses_all: bool
) -> None:
    preview = preview_dialogue(format, content, is_whole=True)
    assert preview.dialogue is not None
    assert preview.error is not None
    assert (preview.error.line, preview.refuses_all) == (line, refuses_all)
