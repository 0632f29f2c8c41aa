"""JSON of any shape: paths of keys, lists of texts, message trees."""

import json
from typing import Any

import pytest

from dialogues.parsing.key_map import BadKeyMap, KeyMap, parse_key_map
from dialogues.parsing.map_guess import choose_keys, guess_key_map
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.parsing.row_errors import RowError
from tests.dialogues.reading import read, texts

TREE: list[dict[str, Any]] = [
    {"id": "b", "parent": "a", "who": "bot", "text": "Hello"},
    {"id": "a", "parent": None, "who": "me", "text": "Hi"},
    {"id": "c", "parent": "a", "who": "bot", "text": "Hey"},
    {"id": "d", "parent": "c", "who": "me", "text": "Bye"},
]
MESSAGES_MAP = "utterances=messages,speaker=role,text=content"
TREE_MAP = "id=id,parent=parent,speaker=who,text=text"


def found(value: Any, map: str = "") -> list[ParsedDialogue]:
    data = value if isinstance(value, str) else json.dumps(value)
    results = read(data, "json", map)
    assert all(isinstance(result, ParsedDialogue) for result in results), results
    return [result for result in results if isinstance(result, ParsedDialogue)]


def problems(value: Any, map: str, **limits: int) -> list[tuple[int, str]]:
    data = value if isinstance(value, str) else json.dumps(value)
    return [
        (each.line, each.code) for each in read(data, "json", map, **limits) if isinstance(each, RowError)
    ]


def test_nested_keys_are_followed_and_the_others_kept() -> None:
    row = {
        "id": 7,
        "chat": {"about": "tea", "turns": [{"by": {"name": "Ann"}, "said": {"text": "Hi", "tone": "warm"}}]},
    }
    map = "dialogues=data.items,utterances=chat.turns,speaker=by.name,text=said.text"
    (dialogue,) = found({"more": [[[1]], {"x": {}}], "data": {"n": 1, "items": [row]}, "end": 0}, map)
    assert (dialogue.external_id, dialogue.metadata) == ("7", {"chat": {"about": "tea"}})
    (utterance,) = dialogue.utterances
    assert (utterance.speaker, utterance.text, utterance.metadata) == (
        "Ann",
        "Hi",
        {"said": {"tone": "warm"}},
    )


def test_without_speakers_a_and_b_alternate() -> None:
    (dialogue,) = found([{"messages": [{"message": "1"}, {"message": "2"}, {"message": "3"}]}])
    assert [utterance.speaker for utterance in dialogue.utterances] == ["A", "B", "A"]


@pytest.mark.parametrize(
    "data",
    ['[["Hi", "Ho"], ["Hey"]]', '["Hi", "Ho"]\n["Hey"]\n', '{"valid": [["Hi", "Ho"], ["Hey"]], "test": []}'],
)
def test_lists_of_texts_are_dialogues(data: str) -> None:
    assert [texts(dialogue) for dialogue in found(data)] == [["Hi", "Ho"], ["Hey"]]


def test_a_star_takes_every_key_as_the_id_of_its_dialogue() -> None:
    data = {"d1": {"log": [{"text": "Hi"}]}, "d2": {"log": [{"text": "Ho"}]}}
    assert [each.external_id for each in found(data, "dialogues=*,utterances=log,text=text")] == ["d1", "d2"]


def test_a_broken_line_is_refused_alone() -> None:
    data = '{"turns": [{"t": "Hi"}]}\n{broken\n{"turns": [{"t": 3}]}\n{"turns": [{"t": "Ho"}]}\n'
    assert problems(data, "utterances=turns,text=t") == [(2, "json_unquoted"), (3, "wrong_type")]


def test_every_thread_of_a_tree_is_a_dialogue() -> None:
    threads = found(TREE, TREE_MAP)
    assert [(thread.external_id, texts(thread)) for thread in threads] == [
        ("b", ["Hi", "Hello"]),
        ("d", ["Hi", "Hey", "Bye"]),
    ]
    assert [utterance.speaker for utterance in threads[1].utterances] == ["me", "bot", "me"]


def test_messages_without_a_way_to_a_root_are_named() -> None:
    lost = [
        {"id": "e", "parent": "gone", "text": "x"},
        {"id": "f", "parent": "g", "text": "x"},
        {"id": "g", "parent": "f", "text": "x"},
        {"id": "a", "parent": None, "text": "x"},
        {"id": "h", "parent": None, "text": " "},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in [{"id": "a", "parent": None, "text": "x"}, *lost])
    assert problems(lines, "id=id,parent=parent,text=text") == [
        (5, "id_twice"),
        (6, "empty"),
        (2, "parent_missing"),
        (3, "parent_circle"),
    ]


def test_trees_are_limited() -> None:
    assert problems(TREE, TREE_MAP, tree_messages=2) == [(1, "too_many_messages")]
    assert problems(TREE, TREE_MAP, utterances=2) == [(1, "too_many")]


def test_a_thread_may_be_longer_than_the_stack() -> None:
    rows = [{"id": n, "parent": n - 1 if n else None, "text": "x"} for n in range(2000)]
    (thread,) = found(rows, "id=id,parent=parent,text=text")
    assert len(thread.utterances) == 2000


@pytest.mark.parametrize(
    ("map", "reason"),
    [
        (
            "utterances=messages,text=text",
            "The key “text” is not in messages[0]. Keys there: role, content, by.",
        ),
        ("utterances=turns,text=content", "The key “turns” is not in the record. Keys there: messages."),
        (
            "utterances=messages,text=content.parts",
            "The key “parts” is not in messages[0].content, which is text.",
        ),
        (
            "utterances=messages,speaker=by.who,text=content",
            "The key “who” is not in messages[0].by. Keys there: name.",
        ),
        ("id=id,parent=parent,text=messages", "The key “id” is not in the record. Keys there: messages."),
    ],
)
def test_a_wrong_key_of_the_map_is_named_with_those_that_are_there(map: str, reason: str) -> None:
    row = {"messages": [{"role": "user", "content": "Hi", "by": {"name": "Ann"}}]}
    (problem,) = read(json.dumps([row]), "json", map)
    assert isinstance(problem, RowError)
    assert problem.reason == reason


def test_a_path_that_leads_nowhere_is_named() -> None:
    assert problems({"data": []}, "dialogues=items") == [(1, "no_entries")]
    assert problems("3", "dialogues=items") == [(1, "no_entries")]
    assert problems('{"data": [', "dialogues=data") == [(1, "cut_off")]
    assert problems("[" * 100_000, "dialogues=data") == [(1, "too_deep")]
    assert problems('{"id": 3}\n', "") == [(1, "no_key_map")]


@pytest.mark.parametrize("text", ["what=a", "text=a,text=b", "text", "parent=p", "text=" + "x" * 600])
def test_a_map_that_cannot_be_read_names_its_part(text: str) -> None:
    if text == "text":
        assert parse_key_map(text) == KeyMap()
        return
    with pytest.raises(BadKeyMap):
        parse_key_map(text)


@pytest.mark.parametrize("map", ["dialogues=", "dialogues=*,utterances=a.b,speaker=who,text=t,id=n"])
def test_a_map_is_written_as_it_is_read(map: str) -> None:
    assert str(parse_key_map(map)) == map


@pytest.mark.parametrize(
    ("value", "map"),
    [
        ([{"messages": [{"message": "Hi"}]}], "utterances=messages,text=message"),
        ({"valid": [["Hi"]], "train": []}, "dialogues=*"),
        ({"support": [["Hi"]], "sales": [["Ho"], ["Hey"]]}, "dialogues=*"),
        ({"version": 1, "data": {"train": [["Hi"]]}}, "dialogues=data.*"),
        (
            {split: [{"id": split, "turns": [{"text": "Hi"}]}] for split in ("a", "b")},
            "dialogues=*,utterances=turns,text=text",
        ),
        ({"messages": [{"role": "x", "content": "Hi"}], "tools": []}, MESSAGES_MAP),
        (
            {"version": 1, "all": [{"id": "d1", "turns": [{"text": "Hi"}]}]},
            "dialogues=all,utterances=turns,text=text",
        ),
        (TREE, "speaker=who,text=text,id=id,parent=parent"),
        ({"d1": {"log": [{"text": "Hi"}]}}, "dialogues=*,utterances=log,text=text"),
        (
            [{"turns": [{"from": {"role": "x"}, "body": "Hi"}]}],
            "utterances=turns,speaker=from.role,text=body",
        ),
        ({"messages": [{"role": "x", "content": "Hi"}]}, MESSAGES_MAP),
    ],
)
def test_a_map_is_guessed(value: Any, map: str) -> None:
    assert str(guess_key_map(json.dumps(value, indent=1).encode())) == map


def test_lists_within_utterances_are_not_dialogues() -> None:
    said = [
        {"speaker": "a", "text": "x", "history": [{"a": 1}]},
        {"speaker": "b", "text": "y", "history": []},
    ]
    guess = guess_key_map(json.dumps([{"utterances": said}]).encode())
    assert guess is not None
    assert str(guess) == "utterances=utterances,speaker=speaker,text=text"
    said = [{"speaker": "a", "text": "x", "entities": [{"text": "e"}]}]
    guess = guess_key_map(json.dumps({"d1": said, "d2": said}).encode())
    assert guess is None or guess.utterances != ("entities",)


@pytest.mark.parametrize(
    "head", [b"", b"[", b'{"a": 1}', b"[1, 2]", b"\xff\xfe", b"]", b'"' * 9, b"[" * 100_000]
)
def test_what_shows_no_dialogue_gives_no_map(head: bytes) -> None:
    assert guess_key_map(head) is None


def test_a_head_that_breaks_off_still_gives_a_map_and_its_paths() -> None:
    choices = choose_keys(b'[{"talk": [{"who": "Ann", "what": "Hi, \\"you\\""}, {"who": "Be')
    assert str(choices.guess) == "utterances=talk,speaker=who,text=what"
    assert choices.paths["text"] == ["who", "what"]


@pytest.mark.parametrize(("chosen", "unread"), [("chats", ["old.chats"]), ("*", []), ("", [])])
def test_lists_that_the_map_leads_past_are_named(chosen: str, unread: list[str]) -> None:
    head = json.dumps({"chats": [["Hi"]], "old": {"chats": [["Ho"]]}, "tags": ["x"]}).encode()
    assert choose_keys(head, parse_key_map(f"dialogues={chosen}")).unread == unread
