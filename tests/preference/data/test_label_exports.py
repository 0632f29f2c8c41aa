"""What people labelled leaves in the shapes that it came in, and one row a judgement."""

import json
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from pyarrow import parquet
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.labelling.models.labels import Submission
from annotation.project_setup.services import create_project
from dialogues.services.imports import start_import
from jobs.services import run_job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import export
from preference.data.selectors.selection import Filters, preview, select
from projects.models import Project

NUGGETS = {"customer": ["CNUG0", "CNUG", "CNUG*", "CNaN"], "helpdesk": ["HNUG", "HNUG*", "HNaN"]}
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
    file = [
        entry("d1", [1, -1, 2], source="shop", serial=10**30),
        entry("d2", []),
        entry("d3", ["1", "0", "-2"]),
    ]
    imports(helpdesk, json.dumps(file).encode(), "dialeval")
    assert json.loads(exported(helpdesk, "dialeval", tmp_path, "--include-unreviewed")) == file
    assert [one["id"] for one in json.loads(exported(helpdesk, "dialeval", tmp_path))] == ["d1", "d3"]


def generated(size: int) -> list[dict[str, Any]]:
    """Dialogues as the public files have them: many parts a turn, empty ones, 0 to 21 annotators, numbers as text."""
    drawn, made = Random(7), []
    parts = ["没有声音", "", "two\nlines", " blanks ", "👩‍👩‍👧 \u2028 end", "a" * 2000]
    for number in range(size):
        senders = drawn.choices(["customer", "helpdesk"], k=drawn.randint(1, 9))
        turns: list[dict[str, Any]] = [
            {"sender": sender, "utterances": drawn.choices(parts, k=drawn.randint(1, 4))}
            for sender in senders
        ]
        turns[0] |= {"time": f"10:{number % 60:02d}"} if number % 3 else {}
        as_text = number % 4 == 0
        annotations = []
        for _person in range(drawn.choice([0, 1, 3, 19, 21])):
            quality = {name: drawn.randint(-2, 2) for name in "ASE"}
            nuggets = [drawn.choice(NUGGETS[sender]) for sender in senders]
            shown = {name: str(value) for name, value in quality.items()} if as_text else quality
            annotations.append({"nugget": nuggets, "quality": shown})
        more = {"source": {"shop": number}} if number % 5 else {}
        made.append({"id": f"{number}", **more, "turns": turns, "annotations": annotations})
    return made


def test_the_commands_give_a_generated_file_back(transactional_db: None, tmp_path: Path) -> None:
    """Over several pages and batches."""
    file, made = tmp_path / "in.json", generated(900)
    file.write_text(json.dumps(made, ensure_ascii=False, indent=1), encoding="utf-8")
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    call_command("create_project", "helpdesk", preset="dialeval", **quiet)
    call_command("import_dialogues", "helpdesk", str(file), format="dialeval", **quiet)
    helpdesk = Project.objects.get(slug="helpdesk")
    assert json.loads(exported(helpdesk, "dialeval", tmp_path, "--include-unreviewed")) == made


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


SAID = [{"role": "user", "content": "忘了密码"}, {"role": "assistant", "content": "去柜台"}]


def test_numbers_beyond_64_bits_leave_as_they_are(mara: User, imports: Imports, tmp_path: Path) -> None:
    project = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    imports(project, json.dumps([entry("d1", [2])]).encode(), "dialeval")
    Submission.objects.update(answers={"dialogue": {"A": 10**30, "S": 1}, "utterances": {}})
    rows = [json.loads(line) for line in exported(project, "judgements", tmp_path).splitlines()]
    assert [row["value"] for row in rows] == [10**30, 1]


@pytest.fixture
def quality(mara: User, imports: Imports) -> Project:
    """Final labels 2, 0, -1, phone, phone."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    labels: list[tuple[str, Any, list[str]]] = [
        ("two", 2, []),
        ("zero", 0, ["not_relevant"]),
        ("private", -1, []),
        ("call", "phone", []),
        ("call 2", "phone", []),
    ]
    lines = [
        json.dumps({"id": name, "dialogue": SAID, "label": label, "reason": why})
        for name, label, why in labels
    ]
    imports(project, "\n".join(lines).encode(), "diqad")
    return project


def test_quality_labels_leave_with_their_reasons_and_private_data_stay(
    quality: Project, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in exported(quality, "diqad", tmp_path).splitlines()]
    assert [(row["id"], row["label"], row["reason"], row["origin"]) for row in rows] == [
        ("two", 2, [], "single"),
        ("zero", 0, ["not_relevant"], "single"),
    ]
    assert (rows[0]["dialogue"], rows[0]["domain"]) == (SAID, "")
    manifest = json.loads((tmp_path / "out.diqad.manifest.json").read_text())
    assert manifest["left_out"] == {"-1": 1, "phone": 2}
    assert (manifest["dialogues"], manifest["rows"]) == (2, 2)


def test_private_and_abandoned_dialogues_leave_where_asked_for(quality: Project, tmp_path: Path) -> None:
    lines = exported(quality, "diqad", tmp_path, "--include-withheld").splitlines()
    assert [json.loads(line)["label"] for line in lines] == [2, 0, -1, "phone", "phone"]
    manifest = json.loads((tmp_path / "out.diqad.manifest.json").read_text())
    assert (manifest["left_out"], manifest["filters"]["include_withheld"]) == ({}, True)


def test_the_preview_counts_what_is_kept_back(quality: Project) -> None:
    kept = preview(quality, Filters(), "diqad")
    assert (kept.leaving, kept.withheld, kept.total) == (2, 3, 5)
    assert preview(quality, Filters(include_withheld=True), "diqad").leaving == 5
    assert preview(quality, Filters(), "judgements").leaving == 5


def test_an_export_from_before_the_option_can_be_made_again() -> None:
    assert Filters.of({"splits": ["train"], "include_unreviewed": True}) == Filters(("train",), True)


@pytest.mark.parametrize("size", [2, 60])
def test_reading_labels_costs_the_same_queries_for_few_and_many(
    size: int, mara: User, imports: Imports, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    file = [entry(f"d{number}", [1, 0, 2]) for number in range(size)]
    imports(helpdesk, json.dumps(file).encode(), "dialeval")
    with django_assert_num_queries(
        7
    ):  # newest id, batches, schema, dialogues until none, submissions, utterances
        export(FORMATS["dialeval"], select(helpdesk, Filters()), BytesIO())


def test_an_authoring_format_is_refused_by_name(mara: User, tmp_path: Path) -> None:
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    with pytest.raises(CommandError, match=r"not for a project of this kind.*: diqad, judgements"):
        exported(quality, "sft", tmp_path)


def parquet_of(project: Project, format: str) -> list[dict[str, Any]]:
    out = BytesIO()
    everything = Filters(include_unreviewed=True, include_withheld=True)
    export(FORMATS[format], select(project, everything), out, file_type="parquet")
    rows: list[dict[str, Any]] = parquet.read_table(BytesIO(out.getvalue())).to_pylist()
    return rows


def test_labels_leave_as_parquet_too(quality: Project) -> None:
    rows = parquet_of(quality, "diqad")
    assert [json.loads(row["label"]) for row in rows] == [2, 0, -1, "phone", "phone"]
    assert (rows[1]["reason"], rows[1]["dialogue"]) == (["not_relevant"], SAID)
    assert json.loads(rows[0]["judgements"])[0]["quality"] == 2
    answers = [(row["question"], json.loads(row["value"])) for row in parquet_of(quality, "judgements")]
    assert ("quality", "phone") in answers


def test_annotated_dialogues_leave_as_parquet_too(mara: User, imports: Imports) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    imports(helpdesk, json.dumps([entry("d1", [1, "-1"], source="shop")]).encode(), "dialeval")
    (row,) = parquet_of(helpdesk, "dialeval")
    assert (row["id"], json.loads(row["other"])) == ("d1", {"source": "shop"})
    assert row["turns"][0]["utterances"] == ["没有声音", "一点都没有"]
    assert row["annotations"][0]["nugget"] == ["CNUG0", "HNUG*", "CNaN"]
