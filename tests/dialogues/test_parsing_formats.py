"""messages, sharegpt, eou, utterances: by example, and what is refused."""

import json

import pytest

from dialogues.parsing.formats import FORMATS
from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedUtterance
from dialogues.parsing.row_errors import RowError
from tests.dialogues.reading import dialogue, error, example_file, messages, read, texts


@pytest.mark.parametrize("format", FORMATS)
def test_the_example_of_every_format_is_read(format: str) -> None:
    results = read(example_file(FORMATS[format]), format)
    assert results
    assert not any(isinstance(result, RowError) for result in results)


def test_messages_keep_role_names_and_extra_keys() -> None:
    row = {
        "id": 7,
        "language": "zh",
        "domain": "film",
        "source": {"site": "x"},
        "messages": [{"role": "客服", "content": "你好", "time": "10:00", "mood": ["glad"]}],
    }
    parsed = dialogue(json.dumps(row), "messages")
    assert (parsed.external_id, parsed.language, parsed.domain) == ("7", "zh", "film")
    assert parsed.metadata == {"source": {"site": "x"}}
    assert parsed.utterances == (ParsedUtterance("客服", "你好", time="10:00", metadata={"mood": ["glad"]}),)


def test_sharegpt_reads_from_and_value() -> None:
    parsed = dialogue('{"conversations": [{"from": "gpt", "value": "Hi"}], "model": "m"}', "sharegpt")
    assert parsed.utterances == (ParsedUtterance("gpt", "Hi"),)
    assert parsed.metadata == {"model": "m"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"messages": [{"role": "a", "content": 3}]}, "messages[0].content must be text, is a number."),
        ({"messages": [{"role": "a", "content": None}]}, "messages[0].content must be text, is null."),
        ({"messages": [{"role": "a", "content": ["x"]}]}, "messages[0].content must be text, is a list."),
        ({"messages": [{"role": "a"}]}, "messages[0].content is missing; it must be text."),
        ({"messages": [{"content": "x"}]}, "messages[0].role is missing; it must be text."),
        ({"messages": ["x"]}, "messages[0] must be an object, is text."),
        ({"messages": {"role": "a"}}, "messages must be a list, is an object."),
        ({"messages": []}, "messages is empty."),
        ({}, "messages is missing; it must be a list."),
        ({"messages": [{"role": "a", "content": " \u3000\n"}]}, "messages[0].content is empty."),
        (
            {"messages": [{"role": "a", "content": "x"}], "id": 1.5},
            "id must be text or a whole number, is a number.",
        ),
        (
            {"messages": [{"role": "a", "content": "x"}], "id": True},
            "id must be text or a whole number, is true or false.",
        ),
        ({"messages": [{"role": "a", "content": "x"}], "id": ""}, "id is empty."),
        ({"messages": [{"role": "a", "content": "x"}], "domain": 3}, "domain must be text, is a number."),
        (["messages"], "row must be an object, is a list."),
        ("messages", "row must be an object, is text."),
    ],
)
def test_a_wrong_value_is_named_by_its_path(row: object, reason: str) -> None:
    problem = error(json.dumps(row), "messages")
    assert problem.reason == reason
    assert problem.remedy


def test_an_id_may_not_be_longer_than_its_column() -> None:
    assert (
        error(messages("x", id="i" * 201), "messages").reason
        == "id has 201 characters, more than the 200 allowed."
    )


@pytest.mark.parametrize("line", ["Hi __eou__ Ho", "Hi __eou__ Ho __eou__\r\n", "Hi__eou__Ho\n\n"])
def test_eou_with_and_without_a_separator_at_the_end(line: str) -> None:
    parsed = dialogue(line, "eou")
    assert [(u.speaker, u.text) for u in parsed.utterances] == [("A", "Hi"), ("B", "Ho")]


def test_eou_refuses_an_empty_utterance() -> None:
    assert error("Hi __eou__ __eou__ Ho\n", "eou").reason == "utterance[1] is empty."


def test_utterances_are_read_in_blocks() -> None:
    first, second = read("Hi\r\nHo\r\n\r\n \n Ha \n", "utterances")
    assert isinstance(first, ParsedDialogue)
    assert isinstance(second, ParsedDialogue)
    assert (texts(first), first.line) == (["Hi", "Ho"], 1)
    assert (texts(second), second.line) == (["Ha"], 5)


def test_a_bad_line_refuses_its_block_only() -> None:
    problem, good = read(b"Hi\n\xff\xfe\nHo\n\nHa\n", "utterances")
    assert isinstance(problem, RowError)
    assert (problem.line, problem.code) == (2, "not_utf8")
    assert isinstance(good, ParsedDialogue)
    assert texts(good) == ["Ha"]
