"""Which format a file is in, by its first bytes."""

import pytest

from dialogues.parsing.format_guess import guess_format, preview_dialogue
from dialogues.parsing.formats import FORMATS


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["file", "file.txt"])
def test_the_example_of_every_format_is_recognised_whatever_its_name(format: str, name: str) -> None:
    assert guess_format(name, FORMATS[format].example.encode()) == format


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.csv", "id;who;what\n", "csv"),
        ("a.txt", "Hello\nHi\n", "utterances"),
        ("a.jsonl", "", None),
        ("a.json", '[{"messages": []', "messages"),
        ("a.jsonl", '\ufeff{"id": 1, "conversation": [{"utterance": "' + "x" * 90, "diamante"),
        ("a.jsonl", '{"about": {"messages": 3}, "conversations": [', "sharegpt"),
        ("a.tsv", "hello\tworld\n", "tsv"),
    ],
)
def test_names_and_torn_beginnings_are_weighed(name: str, head: str, format: str | None) -> None:
    assert guess_format(name, head.encode()) == format


def test_any_bytes_are_accepted() -> None:
    assert guess_format("x.zip", b"PK\x03\x04\xff\xfe") == "utterances"


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
    example = FORMATS[format].example.encode()
    assert preview_dialogue(format, example[: len(example) // 2], is_whole=False).error is None


def test_a_dialogue_that_may_go_on_is_not_shown_as_whole() -> None:
    assert (
        preview_dialogue("csv", b"dialogue_id,speaker,text\nd1,A,Hi\nd1,B,Ho\n", is_whole=False).dialogue
        is None
    )
