"""Which format a file is in, by its first bytes."""

import pytest

from dialogues.parsing import FORMATS, guess, sample


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["file", "file.txt"])
def test_the_example_of_every_format_is_recognised_whatever_its_name(format: str, name: str) -> None:
    assert guess(name, FORMATS[format].example.encode()) == format


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
    assert guess(name, head.encode()) == format


def test_any_bytes_are_no_error() -> None:
    assert guess("x.zip", b"PK\x03\x04\xff\xfe") == "utterances"


def test_the_first_dialogue_is_shown_as_it_would_be_stored() -> None:
    shown = sample("messages", FORMATS["messages"].example.encode(), whole=True)
    assert shown.dialogue is not None
    assert [utterance.text for utterance in shown.dialogue.utterances] == ["你好", "你好！"]


def test_the_first_row_that_would_be_refused_is_shown() -> None:
    shown = sample("messages", b'{"messages": 3}\n', whole=True)
    assert shown.error is not None
    assert shown.error.line == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_torn_line_at_the_end_is_not_taken_for_an_error(format: str) -> None:
    example = FORMATS[format].example.encode()
    assert sample(format, example[: len(example) // 2], whole=False).error is None


def test_a_dialogue_that_may_go_on_is_not_shown_as_whole() -> None:
    assert sample("csv", b"dialogue_id,speaker,text\nd1,A,Hi\nd1,B,Ho\n", whole=False).dialogue is None
