"""Published sets of judged replies, as their files look."""

import json
from pathlib import Path
from typing import Any

import pytest

from preference.training.meta.command import main
from preference.training.meta.data import read_judged_replies

USR = [
    {
        "context": "Do you like tea?\nI do. Green tea.\n",
        "fact": "Tea comes from Camellia sinensis.\n",
        "responses": [
            {
                "response": "Me too.\n",
                "model": "Original Ground Truth",
                "Natural": [3, 3, 2],
                "Overall": [5, 4, 5],
            },
            {"response": "No.\n", "model": "Nucleus", "Natural": [1, 2, 1], "Overall": [1, 2, 1]},
        ],
    },
    {
        "context": "Hello!\n",
        "fact": "_nofact\n",
        "responses": [
            {"response": "Hi there!\n", "model": "Nucleus", "Natural": [3, 3, 3], "Overall": [4, 4, 3]}
        ],
    },
]
FED = [
    {
        "context": "User: Hi!\nSystem: Hello: how are you?\nUser: Fine.",
        "response": "System: Great: what do you do?",
        "system": "Meena",
        "annotations": {"Interesting": [2, 1, "N/A (No clue)"], "Overall": [4, 3, "N/A (No clue)"]},
    },
    {"context": "User: Hi!\nSystem: Hello.", "system": "Mitsuku", "annotations": {"Overall": [2, 2, 3]}},
    {
        "context": "User: Bye!",
        "response": "System: Bye.",
        "system": "Human",
        "annotations": {"Interesting": [0], "Overall": [1, 2]},
    },
]


def published(folder: Path, content: object) -> Path:
    file = folder / "published.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_usr_has_a_row_for_each_system_with_the_scores_of_single_people(tmp_path: Path) -> None:
    person, nucleus, other = read_judged_replies(published(tmp_path, USR), file_format="usr")
    assert person.reply.history == nucleus.reply.history == ("Do you like tea?", "I do. Green tea.")
    assert (person.reply.id, nucleus.reply.id, other.reply.id) == ("0-0", "0-1", "1-0")
    assert (nucleus.system, nucleus.reply.response, nucleus.reply.reference) == ("Nucleus", "No.", "Me too.")
    assert person.reply.reference is None
    assert list(person.humans.values()) == [5, 4, 5]
    assert person.reply.human == pytest.approx(14 / 3)
    assert (nucleus.reply.knowledge, other.reply.knowledge) == ("Tea comes from Camellia sinensis.", "")


def test_fed_leaves_out_whole_dialogues_and_answers_without_a_number(tmp_path: Path) -> None:
    first, last = read_judged_replies(published(tmp_path, FED), file_format="fed")
    assert first.reply.history == ("Hi!", "Hello: how are you?", "Fine.")
    assert (first.reply.response, first.system) == ("Great: what do you do?", "Meena")
    assert first.reply.human == pytest.approx(3.5)
    assert last.reply.id == "2"


def test_another_question_of_a_published_set_can_be_compared(tmp_path: Path) -> None:
    replies = read_judged_replies(published(tmp_path, USR), human="aspects.natural", file_format="usr")
    assert [each.reply.human for each in replies] == [pytest.approx(8 / 3), pytest.approx(4 / 3), 3]


def test_the_command_reads_a_published_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--format", "usr", "--evaluators", "length", "--replicates", "10", "--json"]
    assert main(["--data", str(published(tmp_path, USR)), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["n_rows"], report["n_judged"], report["n_histories"]) == (3, 3, 2)


@pytest.mark.parametrize("content", [FED, [1], {"a": 1}, 7, [{"context": "Hi"}]])
def test_another_file_is_refused_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: Any
) -> None:
    assert (
        main(["--data", str(published(tmp_path, content)), "--format", "usr", "--evaluators", "length"]) != 0
    )
    assert "is not a file of the format usr" in capsys.readouterr().err
