"""Real corpora, where they lie beside the checkout (LAPIDARY_SHARED_DATA, or ../shared/data)."""

import os
from pathlib import Path

import pytest

from dialogues.parsing.format_guess import guess_format, preview_dialogue
from dialogues.parsing.formats import parse
from dialogues.parsing.key_map import parse_key_map
from dialogues.parsing.map_guess import guess_key_map
from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedRow
from dialogues.parsing.row_errors import RowError

DATA = Path(os.environ.get("LAPIDARY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")) / "corpora"
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the shared corpora are not here"),
]


def read(name: str, format: str, map: str = "") -> list[ParsedRow | RowError]:
    with (DATA / name).open("rb") as stream:
        return list(parse(stream, format, None, parse_key_map(map) if map else None))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_xdailydialog_has_1000_dialogues(language: str) -> None:
    results = read(f"xdailydialog_{language}.eou.txt", "eou")
    assert len(results) == 1000
    assert all(isinstance(result, ParsedDialogue) for result in results)


def test_the_two_languages_of_xdailydialog_agree_on_most_turns() -> None:
    english, chinese = (read(f"xdailydialog_{language}.eou.txt", "eou") for language in ("en", "zh"))
    same = sum(
        len(first.utterances) == len(second.utterances)
        for first, second in zip(english, chinese, strict=True)
        if isinstance(first, ParsedDialogue) and isinstance(second, ParsedDialogue)
    )
    assert same >= 900


@pytest.mark.parametrize(("name", "code"), [
    ("kdconv_film_dev.json", "json_array"),
    ("oasst_seed.json", "json_array"),
    ("lccc_toy.json", "json_spread"),
])  # fmt: skip
def test_json_files_say_that_they_are_not_lines(name: str, code: str) -> None:
    (problem,) = read(name, "messages")
    assert isinstance(problem, RowError)
    assert (problem.code, problem.fatal) == (code, True)


def test_lccc_without_a_header_is_refused_as_a_table() -> None:
    (problem,) = read("lccc_toy_valid.tsv.txt", "tsv")
    assert isinstance(problem, RowError)
    assert problem.code == "no_header"


@pytest.mark.parametrize(
    ("name", "format", "map", "count"),
    [
        ("kdconv_film_dev.json", "json", "utterances=messages,text=message", 150),
        ("lccc_toy.json", "json", "dialogues=valid", 200),
        ("lccc_toy.json", "json", "dialogues=test", 200),
        ("lccc_toy.json", "json", "dialogues=*", 1400),
        (
            "oasst_seed.json",
            "json",
            "id=user_message_id,parent=parent_message_id,speaker=role,text=text",
            158,
        ),
        ("lccc_toy_valid.tsv.txt", "tabs", "", 2000),
    ],
)
def test_every_dialogue_of_a_corpus_is_read(name: str, format: str, map: str, count: int) -> None:
    results = read(name, format, map)
    assert len(results) == count
    assert all(isinstance(result, ParsedDialogue) for result in results)


@pytest.mark.parametrize(
    ("name", "format", "map"),
    [
        ("kdconv_film_dev.json", "json", "utterances=messages,text=message"),
        ("lccc_toy.json", "json", "dialogues=*"),
        ("oasst_seed.json", "json", "speaker=role,text=text,id=user_message_id,parent=parent_message_id"),
        ("lccc_toy_valid.tsv.txt", "tabs", ""),
        ("xdailydialog_en.eou.txt", "eou", ""),
        ("xdailydialog_zh.eou.txt", "eou", ""),
    ],
)
def test_the_format_and_the_keys_of_a_corpus_are_guessed(name: str, format: str, map: str) -> None:
    with (DATA / name).open("rb") as stream:
        head = stream.read(64 * 1024)
    assert guess_format(name, head) == format
    assert not map or str(guess_key_map(head)) == map
    shown = preview_dialogue(format, head, is_whole=False)
    assert shown.dialogue is not None
    assert shown.error is None
