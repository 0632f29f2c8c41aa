"""One JSON array, read entry by entry: what is wrong is named by line and entry, since all may stand on one line."""

import json
from typing import Any

import pytest

from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.parsing.row_errors import RowError
from tests.dialogues.reading import dialogue, error, read


def helpdesk(name: str, *texts: str, **keys: Any) -> dict[str, Any]:
    turns = [
        {"sender": "helpdesk" if place % 2 else "customer", "utterances": [text]}
        for place, text in enumerate(texts)
    ]
    return {"id": name, "turns": turns, **keys}


def test_a_turn_is_one_utterance_and_its_parts_stay_known() -> None:
    entry: dict[str, Any] = {
        "id": "a",
        "turns": [{"sender": "customer", "utterances": ["No sound.", "Help?"]}],
    }
    (utterance,) = dialogue(json.dumps([entry]), "dialeval").utterances
    assert (utterance.speaker, utterance.text) == ("customer", "No sound.\nHelp?")
    entry["turns"][0]["utterances"] = ["No\nsound.", "Help?"]
    (utterance,) = dialogue(json.dumps([entry]), "dialeval").utterances
    assert utterance.metadata["parts"] == ["No\nsound.", "Help?"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_bad_entry_is_named_by_its_place_and_the_others_are_read(indent: int | None) -> None:
    bad: Any = helpdesk("b", "Hi", "Hello")
    bad["turns"][1]["sender"] = "robot"
    entries = [helpdesk("a", "Hi"), bad, "no entry", helpdesk("d", "Hi")]
    first, second, third, fourth = read(json.dumps(entries, indent=indent), "dialeval")
    assert isinstance(first, ParsedDialogue)
    assert isinstance(fourth, ParsedDialogue)
    assert isinstance(second, RowError)
    assert isinstance(third, RowError)
    assert second.params["path"] == "[1].turns[1].sender"
    assert third.params["path"] == "[2]"
    assert (second.line > 1) == (indent is not None)


def test_an_entry_is_reported_with_the_line_on_which_it_begins() -> None:
    data = '[\n{"id": "a",\n"turns": []},\n\n7, {"id": "c", "turns":\n[]}\n]'
    assert [error.line for error in read(data, "dialeval")] == [2, 5, 5]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ('"x\\ud83d"', "half_character"),
        ('"\\udc00"', "half_character"),
        ('"\\u0000"', "control_character"),
        ("1e999", "not_finite"),
        ("NaN", "not_finite"),
        ("9" * 5000, "number_too_long"),
        ("[" * 100_000, "too_deep"),
        ("[" * 50 + "]" * 50, "too_deep"),
        ('"' + "x" * 3_000_000 + '"', "entry_too_long"),
    ],
)
def test_values_that_cannot_be_stored_are_refused(value: str, code: str) -> None:
    entry = json.dumps(helpdesk("a", "Hi"))[:-1] + f', "extra": {value}}}'
    errors = read(f"[{entry}]", "dialeval", line_bytes=1024**2)
    assert [error.code for error in errors if isinstance(error, RowError)] == [code]


def test_nuggets_must_be_as_many_as_turns() -> None:
    entry = helpdesk("a", "Hi", "Hello", annotations=[{"nugget": ["CNUG0"]}])
    refused = error(json.dumps([entry]), "dialeval")
    assert (refused.code, refused.params["path"]) == ("wrong_length", "[0].annotations[0].nugget")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("{}", "not_array"),
        ("[{}] []", "after_array"),
        ('[{"id": "a"', "cut_off"),
        ("[1 2]", "json_comma"),
    ],
)
def test_anything_but_an_array_ends_the_file(data: str, code: str) -> None:
    last = read(data, "dialeval")[-1]
    assert isinstance(last, RowError)
    assert (last.code, last.fatal) == (code, True)
