"""What people labelled leaves in the shapes that it came in, and one row a judgement."""

import json
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

import dialogues.tasks  # noqa: F401  registers what carries an import out
from accounts.models import User
from annotation.services.planning import create_project
from dialogues.services.imports import start_import
from jobs.services import run_job
from projects.models import Project

Imports = Callable[[Project, bytes, str], None]


@pytest.fixture
def imports(transactional_db: None) -> Imports:
    def carry_out(project: Project, content: bytes, format: str) -> None:
        source = BytesIO(content)
        job = start_import(
            project=project,
            actor=None,
            source=source,
            name="f",
            format=format,
            submission_id=uuid4(),
            enqueue=False,
        )
        assert not run_job(job_id=job.pk).error

    return carry_out


def entry(name: str, accomplished: list[int | str], **more: Any) -> dict[str, Any]:
    turns = [
        {"sender": "customer", "utterances": ["没有声音", "一点都没有"]},
        {"sender": "helpdesk", "utterances": ["Is it muted?\nLook at the side."]},
        {"sender": "customer", "utterances": ["Yes!"]},
    ]
    annotations = [
        {"nugget": ["CNUG0", "HNUG*", "CNaN"], "quality": {"A": value, "S": value, "E": value}}
        for value in accomplished
    ]
    return {"id": name, **more, "turns": turns, "annotations": annotations}


def exported(project: Project, format: str, folder: Path, *flags: str) -> str:
    target = folder / f"out.{format}"
    call_command(
        "export_dataset", project.slug, "--format", format, "--output", str(target), *flags, stderr=StringIO()
    )
    return target.read_text(encoding="utf-8")


def test_an_annotated_file_comes_back(mara: User, imports: Imports, tmp_path: Path) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    file = [entry("d1", [1, -1, 2], source="shop"), entry("d2", []), entry("d3", ["1", "0", "-2"])]
    imports(helpdesk, json.dumps(file).encode(), "dialeval")
    assert json.loads(exported(helpdesk, "dialeval", tmp_path, "--include-unreviewed")) == file
    assert [one["id"] for one in json.loads(exported(helpdesk, "dialeval", tmp_path))] == ["d1", "d3"]


def test_nothing_to_export_is_an_empty_array(mara: User, imports: Imports, tmp_path: Path) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    assert json.loads(exported(helpdesk, "dialeval", tmp_path)) == []


def test_a_row_for_every_answer_of_every_person(mara: User, imports: Imports, tmp_path: Path) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    imports(helpdesk, json.dumps([entry("d1", [1, -1])]).encode(), "dialeval")
    rows = [json.loads(line) for line in exported(helpdesk, "judgements", tmp_path).splitlines()]
    assert len(rows) == 2 * (3 + 3)
    assert len({row["annotator"] for row in rows}) == 2
    first = rows[0]
    assert (first["question"], first["position"], first["value"]) == ("A", None, 1)
    assert (first["status"], first["stage"], first["revision"], first["schema_version"]) == (
        "live",
        "label",
        1,
        1,
    )
    assert "imported" not in json.dumps(rows)


def test_quality_labels_leave_with_their_reasons_and_private_data_stay(
    mara: User, imports: Imports, tmp_path: Path
) -> None:
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    said = [{"role": "user", "content": "忘了密码"}, {"role": "assistant", "content": "去柜台"}]
    labels: list[tuple[Any, list[str]]] = [(2, []), (0, ["not_relevant"]), (-1, []), ("phone", [])]
    lines = [
        json.dumps({"id": str(label), "dialogue": said, "label": label, "reason": why})
        for label, why in labels
    ]
    imports(quality, "\n".join(lines).encode(), "diqad")
    rows = [json.loads(line) for line in exported(quality, "diqad", tmp_path).splitlines()]
    assert [(row["id"], row["label"], row["origin"]) for row in rows] == [
        ("2", 2, "single"),
        ("0", 0, "single"),
    ]
    assert rows[0]["dialogue"] == said


def test_an_authoring_format_is_refused_by_name(mara: User, tmp_path: Path) -> None:
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    with pytest.raises(CommandError, match=r"not for a project of this kind.*dialeval, diqad, judgements"):
        exported(quality, "sft", tmp_path)
