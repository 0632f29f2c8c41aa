"""Exports as background jobs: the file, its manifest, and everything that can stop them."""

import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from common.release import code_version
from dialogues.models import Dialogue, Split
from jobs.models import Job, JobState
from jobs.services import cancel_job, retry_job, run_job, start_job
from preference.data.formats import diamante
from preference.data.formats.catalogue import FORMATS, ExportFormat
from preference.data.formats.writing import manifest_path
from preference.data.models.exports import Export, FormatName
from preference.data.selectors.exports import export_for, file_of
from preference.data.selectors.formats import formats_of_protocol
from preference.data.selectors.selection import Selection
from preference.data.services.exports import remove_file, start_export
from projects.models import Event, Project, Protocol
from tests.preference.conftest import diamante_file, refused

Exported = Callable[..., Job]
Imports = Callable[..., Job]


@pytest.fixture
def ready(imports: Imports) -> int:
    """120 dialogues that can be exported: two pages."""
    imports(diamante_file(120))
    return 120


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.is_file())


def test_every_shape_has_its_writer() -> None:
    assert set(FORMATS) == set(FormatName.values)


@pytest.mark.parametrize("format", formats_of_protocol(Protocol.AUTHORING))
def test_the_manifest_is_true(ready: int, exported: Exported, format: str) -> None:
    job = exported(format)
    export = Export.objects.select_related("job").get(job=job)
    path = file_of(export)
    data = path.read_bytes()
    manifest = json.loads(manifest_path(path).read_text())
    assert export.manifest == manifest
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    assert (manifest["bytes"], manifest["rows"]) == (len(data), data.count(b"\n"))
    assert (manifest["dialogues"], manifest["format"]) == (ready, format)
    assert manifest["filters"] == {
        "splits": Split.values,
        "include_unreviewed": True,
        "include_withheld": False,
    }
    assert manifest["code_version"] == code_version()
    assert {file.stat().st_mode & 0o777 for file in (path, manifest_path(path))} == {0o600}
    assert (job.state, job.done, job.total) == (JobState.DONE, ready, ready)


def test_an_export_of_nothing_is_an_empty_file(exported: Exported) -> None:
    job = exported(include_unreviewed=False)
    assert (job.state, job.result["rows"]) == (JobState.DONE, 0)
    assert file_of(Export.objects.get(job=job)).read_bytes() == b""


def test_the_same_id_again_is_the_same_export(ready: int, exported: Exported, eric: User) -> None:
    export_id = uuid4()
    first = exported("sft", export_id=export_id)
    assert exported("sft", export_id=export_id).pk == first.pk == Export.objects.get().pk


@pytest.mark.parametrize(
    "other",
    [
        {"format": "quadruples"},
        {"splits": ["test"]},
        {"include_unreviewed": False},
        {"file_type": "parquet"},
        {"seed": 3},
    ],
)
def test_an_id_sent_with_another_export_is_refused(
    ready: int, exported: Exported, other: dict[str, Any]
) -> None:
    export_id = uuid4()
    exported(export_id=export_id)
    with refused("id_in_use"):
        exported(export_id=export_id, **other)
    assert Export.objects.count() == 1


def test_an_id_of_something_else_is_refused(project: Project, eric: User, exported: Exported) -> None:
    taken = start_job(id=uuid4(), kind="import", project=project, actor=eric, parameters={}, enqueue=False).pk
    with refused("id_in_use"):
        exported(export_id=taken)


def test_an_id_of_another_project_is_refused(project: Project, eric: User, exported: Exported) -> None:
    other = create_project(slug="other", preset="diamante", actor=eric, title="Other")
    job = exported()
    with refused("id_in_use"):
        start_export(export_id=job.pk, project=other, actor=eric, format="sft")


@pytest.mark.parametrize("choice", [{"format": "word"}, {"splits": ["dev"]}])
def test_unknown_choices_are_refused_and_nothing_is_started(
    project: Project, eric: User, choice: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"export_id": uuid4(), "project": project, "actor": eric, "format": "sft"}
    with refused("invalid") as said:
        start_export(**(asked | choice))
    assert said.value.remedy
    assert not Job.objects.exists()


# --- stopped ---


class Interrupted:
    """A format whose rows do something between the first page and the second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
        self.pages = 0
        self.do = do
        monkeypatch.setattr("preference.data.selectors.selection.READ_AT_ONCE", 100)
        changed = dict(FORMATS)
        changed["diamante"] = ExportFormat("diamante", "", "1", "", self)
        monkeypatch.setattr("preference.data.formats.job.FORMATS", changed)

    def __call__(self, selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
        self.pages += 1
        if self.pages == 2:
            self.do()
        return diamante.rows(selection, page)


def test_a_full_disk_fails_with_a_remedy_leaves_nothing_and_can_be_tried_again(
    ready: int, exported: Exported, files_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        Interrupted(patch, no_space)
        job = exported()
    assert (job.state, files(files_root / "exports")) == (JobState.FAILED, [])
    assert job.error == "The file could not be written: No space left on device."
    assert "disk space" in job.remedy
    with refused("not_ready"):
        file_of(Export.objects.select_related("job").get())
    retry_job(job=job, actor=None)
    assert run_job(job_id=job.pk).state == JobState.DONE
    assert len(files(files_root / "exports")) == 2


def test_a_cancelled_export_leaves_nothing_and_can_be_started_again(
    ready: int, exported: Exported, files_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.progress.WRITE_EVERY", 0)

    def somebody_stops_it() -> None:
        cancel_job(job=Job.objects.get(kind="export"), actor=None)

    with monkeypatch.context() as patch:
        Interrupted(patch, somebody_stops_it)
        job = exported()
    assert (job.state, files(files_root / "exports")) == (JobState.CANCELLED, [])
    retry_job(job=job, actor=None)
    assert run_job(job_id=job.pk).result["rows"] == ready


def test_a_worker_that_was_believed_dead_does_not_spoil_the_file_of_the_next(
    ready: int, exported: Exported, files_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.progress.WRITE_EVERY", 0)

    def another_takes_over() -> None:
        job = Job.objects.get(kind="export")
        Job.objects.update(state=JobState.QUEUED)
        assert run_job(job_id=job.pk).state == JobState.DONE

    Interrupted(monkeypatch, another_takes_over)
    job = exported()
    assert Job.objects.get(pk=job.pk).state == JobState.DONE
    export = Export.objects.select_related("job").get(job=job)
    assert hashlib.sha256(file_of(export).read_bytes()).hexdigest() == export.manifest["sha256"]
    assert len(files(files_root / "exports")) == 2


def test_files_of_a_killed_worker_are_removed_by_the_next(
    ready: int, exported: Exported, files_root: Path, eric: User, project: Project
) -> None:
    export = start_export(
        export_id=uuid4(), project=project, actor=eric, format="sft", include_unreviewed=True
    )
    folder = files_root / "exports" / str(export.pk)
    folder.mkdir(parents=True)
    (folder / ".x.jsonl.123.part").write_text("half")
    assert run_job(job_id=export.job_id).state == JobState.DONE
    assert [name for name in files(folder) if "part" in name] == []


# --- the file ---


def test_a_file_that_is_gone_is_reported(ready: int, exported: Exported) -> None:
    job = exported()
    export = Export.objects.select_related("job").get(job=job)
    file_of(export).unlink()
    with refused("file_gone") as said:
        file_of(export)
    assert said.value.status == 410


def test_a_removed_file_frees_its_space_and_keeps_its_manifest(
    ready: int, exported: Exported, files_root: Path, eric: User
) -> None:
    job = exported()
    for _twice in range(2):
        export = remove_file(export=Export.objects.get(job=job), actor=eric)
    assert (files(files_root / "exports"), export.path) == ([], "")
    assert export.manifest["dialogues"] == ready
    assert Event.objects.filter(kind="file_removed").count() == 1
    with refused("file_gone"):
        file_of(export)


def test_the_file_of_a_running_export_is_not_removed(project: Project, eric: User) -> None:
    export = start_export(export_id=uuid4(), project=project, actor=eric, format="sft")
    with refused("not_ready"):
        remove_file(export=export, actor=eric)


def test_a_person_who_may_not_export_does_not_find_it(exported: Exported, ann: User, eric: User) -> None:
    job = exported()
    assert export_for(eric, job.pk).pk == job.pk
    with refused("not_found"):
        export_for(ann, job.pk)
