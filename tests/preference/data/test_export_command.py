"""`manage.py export_dataset`."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from dialogues.models import Dialogue, ReviewState, Split
from jobs.models import Job
from preference.data.formats.catalogue import FORMATS
from preference.management.commands.export_dataset import Command
from projects.models import Project
from tests.preference.conftest import diamante_file
from tests.preference.data.test_export_faults import database_url

Imports = Callable[..., Job]


@pytest.fixture
def six(imports: Imports) -> None:
    """Six imported dialogues, of which an expert passed two and vetoed one."""
    imports(diamante_file(6))
    first, second, third, *_rest = Dialogue.objects.order_by("id")
    Dialogue.objects.filter(pk__in=[first.pk, second.pk]).update(review_state=ReviewState.PASSED)
    Dialogue.objects.filter(pk=third.pk).update(review_state=ReviewState.VETOED)


def run(project: Project, *args: str, **options: Any) -> str:
    err = io.StringIO()
    call_command("export_dataset", project.slug, *args, stderr=err, skip_checks=True, **options)
    return err.getvalue()


def test_it_says_what_left_and_why_the_rest_did_not(project: Project, six: None, tmp_path: Path) -> None:
    file = tmp_path / "new folder" / "out.jsonl"
    said = run(project, "--format", "diamante", "--output", str(file))
    assert said.splitlines() == [
        f"2 rows, 2 dialogues: {file}",
        f"Manifest: {file}.manifest.json",
        "Dialogues not exported: 3 that no expert has judged (--include-unreviewed).",
        "Dialogues not exported: 1 that an expert vetoed.",
    ]
    assert len(file.read_text().splitlines()) >= 2


def test_standard_output_gets_the_rows_and_standard_error_the_manifest(
    project: Project, six: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=out))
    said = run(project, "--format", "sft")
    assert json.loads(said.splitlines()[0])["rows"] == out.getvalue().count(b"\n") == 2 * 3


def test_a_split_may_be_named_more_than_once(project: Project, six: None, tmp_path: Path) -> None:
    Dialogue.objects.update(split=Split.TRAIN)
    Dialogue.objects.filter(pk=Dialogue.objects.order_by("id")[0].pk).update(split=Split.TEST)
    file = tmp_path / "out.jsonl"
    command = ["--format", "diamante", "--split", "test", "--split", "valid", "--output", str(file)]
    assert run(project, *command).startswith("1 row, 1 dialogue:")


def test_an_earlier_file_is_replaced(project: Project, six: None, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("old")
    run(project, "--format", "judgements", "--output", str(file))
    assert file.read_text() == ""


def test_a_device_is_not_replaced(project: Project, six: None) -> None:
    with pytest.raises(CommandError, match="is not a file"):
        run(project, "--format", "sft", "--output", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_an_unknown_project_is_an_error(db: None) -> None:
    with pytest.raises(CommandError, match="There is no project “none”"):
        call_command("export_dataset", "none", "--format", "sft", skip_checks=True)


def test_a_folder_that_may_not_be_written_is_an_error(project: Project, six: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="could not be written"):
        run(project, "--format", "sft", "--output", str(tmp_path / "file" / "out.jsonl"))


def test_help_names_every_format_with_an_example() -> None:
    text = Command().create_parser("manage.py", "export_dataset").format_help()
    for format in FORMATS.values():
        assert str(format.description) in text
        assert format.example in text
    assert "Exit code: 0" in text


def process(project: Project, *args: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "manage.py", "export_dataset", project.slug, "--include-unreviewed", *args]
    environment = os.environ | {"DATABASE_URL": database_url()}
    return subprocess.Popen(
        [*command, "--skip-checks"],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell ignores Ctrl-C for what it runs in the background, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.django_db(transaction=True)
def test_a_reader_that_has_enough_does_not_crash_the_command(project: Project, imports: Imports) -> None:
    imports(diamante_file(2000))
    child = process(project, "--format", "diamante")
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    said = child.stderr.read().decode()
    child.stderr.close()
    assert (child.wait(), "Traceback" in said, "BrokenPipe" in said) == (1, False, False)


@pytest.mark.django_db(transaction=True)
def test_ctrl_c_leaves_nothing_and_ends_with_130(project: Project, imports: Imports, tmp_path: Path) -> None:
    imports(diamante_file(4000))
    child = process(project, "--format", "sft", "--output", str(tmp_path / "o" / "out.jsonl"))
    while child.poll() is None and not list(tmp_path.glob("o/.out.jsonl.*")):
        time.sleep(0.005)
    # Stopped while it is looked at, so that it cannot be done before the signal on a quiet machine.
    child.send_signal(signal.SIGSTOP)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGCONT)
    _out, said = child.communicate()
    assert (child.returncode, said.decode()) == (130, "CommandError: Stopped. No file was written.\n")
    assert list((tmp_path / "o").iterdir()) == []
