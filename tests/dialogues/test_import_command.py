"""`manage.py import_dialogues`."""

import gzip
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dialogues.management.commands.import_dialogues import Command
from dialogues.models import Dialogue, Utterance
from dialogues.parsing.formats import FORMATS
from projects.models import Project
from tests.dialogues.conftest import chats

pytestmark = pytest.mark.usefixtures("chitchat")
BROKEN = "{\n"


def run(*args: str, **options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("import_dialogues", "chitchat", *args, stdout=out, stderr=err, skip_checks=True, **options)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text(chats("a") + BROKEN + chats("b"))
    return path


def test_the_command_prints_counts_and_refused_rows(file: Path) -> None:
    out, err = run(str(file), "--format", "messages")
    assert out == "Dialogues imported: 2, already there: 0, rows refused: 1.\n"
    assert f"{file}:2: The line ends in the middle of a record." in err


def test_stop_ends_with_exit_code_1_and_the_line(file: Path) -> None:
    err = io.StringIO()
    command = ["import_dialogues", "chitchat", str(file), "--format", "messages", "--on-error", "stop"]
    with pytest.raises(CommandError, match="Nothing was imported: 1 row is refused") as ended:
        call_command(*command, stderr=err, skip_checks=True)
    assert ended.value.returncode == 1
    assert f"{file}:2: The line ends in the middle of a record." in err.getvalue()
    assert Dialogue.objects.count() == 0


def test_json_writes_the_result_as_one_object(file: Path) -> None:
    out, _ = run(str(file), "--format", "messages", "--json")
    result = json.loads(out)
    assert (result["stored"], result["refused"], result["errors"][0]["line"]) == (2, 1, 2)


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(chats("a").encode())))
    out, _ = run("-", "--format", "messages")
    assert out.startswith("Dialogues imported: 1,")


def test_the_same_file_again_says_so(file: Path) -> None:
    file.write_text(chats("a", "b"))
    run(str(file), "--format", "messages")
    out, _ = run(str(file), "--format", "messages")
    assert out == "This file was imported before; its dialogues are all there: 2.\n"


def test_an_unknown_project_is_an_error(file: Path) -> None:
    Project.objects.update(slug="other")
    with pytest.raises(CommandError, match="There is no project"):
        run(str(file), "--format", "messages")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        run(str(tmp_path / "none"), "--format", "eou")


def test_help_names_every_format_with_an_example() -> None:
    text = Command().create_parser("manage.py", "import_dialogues").format_help()
    for format in FORMATS.values():
        assert str(format.description) in text
        assert format.example.splitlines()[0] in text


def test_a_map_of_keys_reads_json_of_any_shape(tmp_path: Path) -> None:
    path = tmp_path / "film.json"
    path.write_text(json.dumps([{"messages": [{"message": "a"}, {"message": "b"}]}] * 3, indent=1))
    out, _ = run(str(path), "--map", "utterances=messages,text=message")
    assert out.startswith("Dialogues imported: 3,")
    assert set(Utterance.objects.values_list("speaker", "text")) == {("A", "a"), ("B", "b")}


def test_the_format_is_guessed_and_named_and_gzip_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "chats.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\nc\td\n"))
    out, err = run(str(path))
    assert (out.startswith("Dialogues imported: 2,"), err) == (True, "Read as tabs.\n")


def test_a_guess_of_one_giant_dialogue_asks_instead(tmp_path: Path) -> None:
    path = tmp_path / "chats.txt"
    path.write_text("Hello\n" * 2000)
    with pytest.raises(CommandError, match="not clear where a dialogue ends"):
        run(str(path))
    out, _ = run(str(path), "--format", "utterances")
    assert out.startswith("Dialogues imported: 1,")


@pytest.mark.parametrize("map", ["what=a", "id=a,id=b", "parent=p"])
def test_a_wrong_map_is_an_error(file: Path, map: str) -> None:
    with pytest.raises(CommandError, match="cannot be read as a path of keys"):
        run(str(file), "--map", map)
