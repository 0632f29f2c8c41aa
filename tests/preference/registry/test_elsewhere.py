"""Models that were trained elsewhere: registered whole or not at all, with where they come from."""

import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from jobs.folders import MARKER
from jobs.models import Job, JobState
from jobs.services import cancel_job, run_job
from operations.backup.database import named_files
from preference.evaluation.models import Evaluation
from preference.evaluation.selectors import comparisons_of
from preference.registry.files import folder_of_model
from preference.registry.hashing import files_in, sha256_of
from preference.registry.incoming import INCOMING
from preference.registry.models import RegisteredModel
from preference.registry.reports import is_report
from preference.registry.selectors.trained_models import current_model, lineage_of
from preference.registry.services.promotion import promote_model, roll_back
from preference.registry.services.trained_models import remove_model, update_model
from preference.runs.copying import copy_files
from preference.runs.elsewhere_job import PART
from projects.models import Event, Project
from tests.disks import disk_of
from tests.frontend.trained import report
from tests.preference.conftest import refused
from tests.preference.elsewhere import (
    HASH,
    OTHER_DATA,
    come_home,
    incoming,
    measured,
    registration,
    trained_folder,
)
from tests.preference.learning import fakes as fakes
from tests.preference.learning import generator_of, snapshot_of, trained_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]


@pytest.fixture
def run7b(tmp_path: Path) -> Path:
    return trained_folder(tmp_path / "elsewhere")


@pytest.fixture
def models(settings: Settings) -> Path:
    return Path(settings.MODELS_ROOT)


def stored(models: Path) -> list[str]:
    """Names below MODELS_ROOT, without what waits there to come home."""
    return sorted(path.name for path in models.glob("*") if path.name not in (MARKER, INCOMING))


def said(*arguments: str | Path) -> str:
    out = io.StringIO()
    call_command("register_model", *map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


# ---- what it becomes -------------------------------------------------------------------------------------------------


def test_a_folder_comes_home(project: Project, run7b: Path) -> None:
    said(run7b, "--project", "chit-chat", "--name", "qwen-7b", "--note", "8 GPUs, 3 hours")
    model = RegisteredModel.objects.get()
    assert (model.slug, model.note, model.base, model.parent) == (
        "qwen-7b",
        "8 GPUs, 3 hours",
        "Qwen/Qwen3-8B",
        None,
    )
    assert (model.training_run, model.snapshot, model.fault) == (None, None, "")
    assert model.config["data"]["sha256"] == OTHER_DATA
    assert (model.metrics["step"], model.code_version) == (2, "abc1234567890")
    assert model.version == f"qwen-7b/model@{HASH}"
    folder = folder_of_model(model)
    assert files_in(folder) == files_in(run7b / "model") == model.files
    assert sha256_of(folder) == sha256_of(run7b / "model") == model.sha256
    assert generator_of(model).options["model"] == str(folder)
    assert Event.objects.get(kind="registered").data == {"slug": "qwen-7b"}
    assert run7b.is_dir()


def test_the_name_is_that_of_the_folder(project: Project, tmp_path: Path) -> None:
    first = come_home(project, trained_folder(tmp_path, "Run 7B"))
    assert first.slug == "run-7b"
    second = come_home(project, trained_folder(tmp_path / "again", "Run_7B") / "model")
    assert second.slug == "run_7b"
    third = come_home(project, trained_folder(tmp_path, "模型"))
    assert third.slug == "chit-chat-elsewhere"


def test_it_is_promoted_rolled_back_renamed_and_removed(
    project: Project,
    eric: User,
    run7b: Path,
    models: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    project.authoring.generator = None
    project.authoring.save()
    model = come_home(project, run7b)
    asked: dict[str, Any] = {"project": project, "actor": eric}
    promote_model(promotion_id=uuid4(), model=model, expected_current=None, **asked)
    current = current_model(project)
    assert current is not None
    assert current.model == model
    roll_back(promotion_id=uuid4(), expected_current=model.slug, **asked)
    model = update_model(model=model, actor=eric, changes={"slug": "calm"})
    with django_capture_on_commit_callbacks(execute=True):
        assert remove_model(model=model, actor=eric).folder == ""
    assert stored(models) == []


def test_a_backup_names_its_files(project: Project, run7b: Path) -> None:
    model = come_home(project, run7b)
    assert f"models/{model.folder}/model.safetensors" in set(named_files(with_models=True))


def test_its_data_is_a_snapshot_of_the_project(project: Project, tmp_path: Path) -> None:
    snapshot = snapshot_of(project)
    model = come_home(project, trained_folder(tmp_path, data=snapshot.sha256))
    assert model.snapshot == snapshot
    theirs = create_project(slug="other", preset="diamante", actor=None)
    assert come_home(theirs, trained_folder(tmp_path, "b", data=snapshot.sha256)).snapshot is None


def test_what_it_began_from_is_a_model_of_the_project(project: Project, tmp_path: Path) -> None:
    first = trained_model(project, model="/models/base")
    model = come_home(project, trained_folder(tmp_path, base="/copied/first", base_hash=HASH))
    assert (model.parent, model.base) == (first, "/models/base")
    assert [one.slug for one in lineage_of(model)] == [model.slug, first.slug]


def test_a_report_on_a_snapshot_of_the_project_is_compared(project: Project, tmp_path: Path) -> None:
    snapshot = snapshot_of(project)
    folder = trained_folder(tmp_path, data=snapshot.sha256)
    sent = measured(folder, snapshot.sha256)
    model = come_home(project, folder)
    ((comparison,), row) = comparisons_of(project), Evaluation.objects.get()
    assert comparison.rows == (row,)
    assert (row.model, row.snapshot, row.split, row.report) == (model, snapshot, "test", sent)
    assert (row.job.state, model.report) == (JobState.DONE, {})
    assert "evaluation.json" not in model.files
    come_home(project, folder)
    assert Evaluation.objects.count() == 1


def test_a_report_on_other_data_stays_with_the_model(project: Project, run7b: Path) -> None:
    sent = measured(run7b, OTHER_DATA)
    model = come_home(project, run7b)
    assert (model.report, Evaluation.objects.count()) == ({"evaluation": sent}, 0)


def test_a_report_is_named_on_the_command_line(project: Project, run7b: Path, tmp_path: Path) -> None:
    measured(run7b, OTHER_DATA)
    (run7b / "evaluation.json").rename(tmp_path / "figures.json")
    said(run7b / "model", "--project", "chit-chat", "--evaluation", tmp_path / "figures.json")
    assert RegisteredModel.objects.get().report["evaluation"]["n_turns"] == 420


# ---- again -----------------------------------------------------------------------------------------------------------


def test_the_same_files_give_the_first_model(
    project: Project, run7b: Path, tmp_path: Path, models: Path
) -> None:
    first = come_home(project, run7b, name="qwen")
    kept = stored(models)
    copy = Path(shutil.copytree(run7b, tmp_path / "copied"))
    assert come_home(project, copy) == come_home(project, run7b, name="qwen") == first
    assert RegisteredModel.objects.count() == 1
    assert stored(models) == kept


def test_another_project_gets_a_model_of_its_own(project: Project, run7b: Path) -> None:
    first = come_home(project, run7b)
    other = come_home(create_project(slug="other", preset="diamante", actor=None), run7b)
    assert (other.sha256, other.slug) == (first.sha256, "run7bb")
    assert folder_of_model(other) != folder_of_model(first)


def test_removed_files_come_back_as_a_new_model(project: Project, run7b: Path) -> None:
    first = remove_model(model=come_home(project, run7b), actor=None)
    second = come_home(project, run7b)
    assert (second == first, folder_of_model(second).is_dir()) == (False, True)


def test_after_a_kill_it_begins_again(project: Project, run7b: Path, models: Path) -> None:
    """Half a copy of this job, a whole one that was not stored yet, and half a copy of a job that has ended."""
    job, ended = registration(project, run7b), registration(project, run7b)
    cancel_job(job=ended, actor=None)
    for leftover in (f"{PART}{job.pk.hex}", f"{PART}{ended.pk.hex}", job.pk.hex[:12]):
        half = models / leftover / "run7b" / "model"
        half.mkdir(parents=True)
        (half / "model.safetensors").write_text("half")
    done = run_job(job_id=job.pk)
    assert done.state == JobState.DONE, done.error
    model = RegisteredModel.objects.get()
    assert sha256_of(folder_of_model(model)) == sha256_of(run7b / "model")
    assert stored(models) == [job.pk.hex[:12]]


def test_two_jobs_with_the_same_files_leave_one_copy(
    project: Project, run7b: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second finds out only when it stores its model."""
    first, second = registration(project, run7b), registration(project, run7b)
    run_job(job_id=first.pk)
    monkeypatch.setattr("preference.runs.elsewhere_job.model_with_files", lambda *_: None)
    assert run_job(job_id=second.pk).result["model"] == RegisteredModel.objects.get().slug
    assert stored(models) == [first.pk.hex[:12]]


# ---- nothing is half registered --------------------------------------------------------------------------------------


def nothing_came(models: Path) -> bool:
    return not RegisteredModel.objects.exists() and not stored(models)


def test_a_cancelled_copy_leaves_nothing(project: Project, run7b: Path, models: Path) -> None:
    job = registration(project, run7b)

    def cancel(job: Job) -> None:
        cancel_job(job=job, actor=None)

    ended = run_job(job_id=job.pk, watch=cancel)
    assert ended.state == JobState.CANCELLED
    assert nothing_came(models)


def test_a_model_that_does_not_load_is_refused(
    project: Project, run7b: Path, models: Path, fakes: pytest.MonkeyPatch
) -> None:
    fakes.setenv("FAKE_CHECKER", "refuses")
    with pytest.raises(CommandError, match=r"Its weights are not numbers\. Train again"):
        said(run7b, "--project", "chit-chat")
    assert nothing_came(models)


def grow(weights: Path) -> None:
    weights.write_bytes(b"x" * 2 * weights.stat().st_size)


def rewrite(weights: Path) -> None:
    weights.write_bytes(b"x" * weights.stat().st_size)


def remove(weights: Path) -> None:
    weights.unlink()


def link(weights: Path) -> None:
    weights.rename(weights.parent.parent / "elsewhere.bin")
    weights.symlink_to(weights.parent.parent / "elsewhere.bin")


def add(weights: Path) -> None:
    weights.with_name("model-2.safetensors").write_bytes(b"more")


@pytest.mark.parametrize("change", [grow, rewrite, remove, link, add])
def test_files_that_change_meanwhile_are_noticed(
    run7b: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    source = run7b / "model"
    files, sha256 = files_in(source), sha256_of(source)
    at_first_block = iter([change])

    def beat(_count: int) -> None:
        for change in at_first_block:
            change(source / "model.safetensors")

    with refused("files_changed"):
        copy_files(source, tmp_path / "copy", files, sha256, beat)


def test_a_disk_that_is_too_small_is_reported(
    project: Project, run7b: Path, settings: Settings, tmp_path: Path
) -> None:
    with disk_of(20 * 1024**2, tmp_path / "small") as small:
        settings.MODELS_ROOT = small
        with refused("disk_full") as told:
            registration(project, run7b)
    assert "20 MB left" in str(told.value.message)
    assert not Job.objects.filter(kind="registration").exists()


# ---- folders without a finished model --------------------------------------------------------------------------------


def unfinished(folder: Path) -> None:
    (folder / "state.json").write_text('{"state": "stopped"}')
    shutil.rmtree(folder / "model")


def without_head(folder: Path) -> None:
    (folder / "model" / "preference_head.safetensors").unlink()


def without_weights(folder: Path) -> None:
    (folder / "model" / "model.safetensors").unlink()


def without_lineage(folder: Path) -> None:
    (folder / "model" / "training.json").unlink()


def of_another_trainer(folder: Path) -> None:
    (folder / "model" / "training.json").write_text('{"recipe": {"epochs": 1}, "data": {"sha256": "0"}}')


def with_nul(folder: Path) -> None:
    path = folder / "model" / "training.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"commit": "\0"}))


def with_a_link(folder: Path) -> None:
    (folder / "model" / "tokenizer.json").symlink_to("/etc/hostname")


def with_a_linked_folder(folder: Path) -> None:
    (folder / "model" / "more").symlink_to("/etc")


def with_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "model" / "pipe")


def with_a_broken_report(folder: Path) -> None:
    (folder / "evaluation.json").write_text('{"overall": {"preference": 1}}')


@pytest.mark.parametrize(
    "spoil, code",
    [
        (shutil.rmtree, "no_model"),
        (unfinished, "no_model"),
        (without_weights, "no_model"),
        (without_head, "wrong_kind"),
        (without_lineage, "no_lineage"),
        (of_another_trainer, "no_lineage"),
        (with_nul, "no_lineage"),
        (with_a_link, "links"),
        (with_a_linked_folder, "links"),
        (with_a_pipe, "links"),
        (with_a_broken_report, "wrong_evaluation"),
    ],
)
def test_folders_without_a_finished_model_are_refused(
    project: Project, run7b: Path, spoil: Callable[[Path], object], code: str
) -> None:
    spoil(run7b)
    with refused(code) as told:
        registration(project, run7b)
    assert told.value.remedy
    assert not Job.objects.filter(kind="registration").exists()


def test_a_report_about_other_weights_is_refused(project: Project, run7b: Path, models: Path) -> None:
    measured(run7b, OTHER_DATA, version="run7b/model@ffffffffffff")
    job = run_job(job_id=registration(project, run7b).pk)
    assert (job.state, "other weights" in job.error, bool(job.remedy)) == (JobState.FAILED, True, True)
    assert nothing_came(models)


@pytest.mark.parametrize(
    "change",
    [
        {"overall": {}}, {"overall": {"pairs": 1}}, {"overall": {"nll": {"value": "low"}}}, {"by_domain": [1]},
        {"by_domain": {"food": 2}}, {"controls": None}, {"model": {}}, {"data": {"sha256": 1}}, {"split": None},
        {"n_turns": True}, {"notes": [1]},
    ],
)  # fmt: skip
def test_a_report_that_no_page_could_draw_is_none(change: dict[str, Any]) -> None:
    whole = {**report(0.5), "data": {"sha256": OTHER_DATA}}
    assert is_report(whole)
    assert not is_report(whole | change)


@pytest.mark.parametrize(
    "chosen, code",
    [
        ({"name": "Qwen 7B"}, "invalid"),
        ({"name": "taken"}, "name_taken"),
        ({"note": "x" * 4001}, "invalid"),
        ({"snapshot": "no id"}, "invalid"),
        ({"snapshot": str(uuid4())}, "invalid"),
        ({"parent": "unknown"}, "invalid"),
        ({"parent": "taken"}, "invalid"),
        ({"evaluation": "/nowhere.json"}, "wrong_evaluation"),
    ],
)
def test_wrong_facts_are_refused(project: Project, run7b: Path, chosen: dict[str, Any], code: str) -> None:
    update_model(model=trained_model(project, model="/models/base"), actor=None, changes={"slug": "taken"})
    with refused(code):
        registration(project, run7b, **chosen)


def test_a_snapshot_with_other_data_is_refused(project: Project, run7b: Path) -> None:
    with refused("invalid") as told:
        registration(project, run7b, snapshot=str(snapshot_of(project).pk))
    assert told.value.details["field"] == "snapshot"


def test_a_name_that_is_taken_meanwhile_is_refused(
    project: Project, run7b: Path, tmp_path: Path, models: Path
) -> None:
    """By a model that was trained elsewhere, which could have had the same files."""
    come_home(project, run7b, name="qwen")
    job = run_job(job_id=registration(project, trained_folder(tmp_path, "other"), name="qwen").pk)
    assert (job.state, "“qwen” already" in job.error) == (JobState.FAILED, True)
    assert len(stored(models)) == 1


def test_only_writing_projects_take_models(run7b: Path) -> None:
    with refused("no_authoring"):
        registration(create_project(slug="labels", preset="diqad", actor=None), run7b)


def test_the_command_names_what_is_wrong(project: Project, run7b: Path) -> None:
    with pytest.raises(CommandError, match="no project"):
        said(run7b, "--project", "nowhere")
    with pytest.raises(CommandError, match=r"no folder .* Correct its path"):
        said(run7b / "nothing", "--project", "chit-chat")


# ---- below MODELS_ROOT/incoming --------------------------------------------------------------------------------------


def test_people_name_folders_below_incoming(project: Project, eric: User, models: Path) -> None:
    incoming(models)
    assert come_home(project, "run7b", eric).created_by == eric


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "/etc",
        "../incoming/mine",
        "a/../mine",
        "~root",
        "linked",
        "linked/model",
        "missing",
        "a\0b",
    ],
)
def test_any_other_path_is_refused(
    project: Project, eric: User, run7b: Path, models: Path, name: str
) -> None:
    incoming(models, "mine")
    (models / "incoming" / "linked").symlink_to(run7b)
    with refused("invalid") as told:
        registration(project, name, eric)
    assert told.value.details["field"] == "folder"


def test_nobody_but_the_command_line_names_an_absolute_path(
    project: Project, eric: User, run7b: Path
) -> None:
    with refused("invalid"):
        registration(project, run7b, eric)
