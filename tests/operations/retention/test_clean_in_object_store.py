"""What `clean` deletes from an object store. The time of an object cannot be set, so the age is moved instead."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from common.storage.shared_files import shared_files, shared_models
from jobs.models import Job, JobState
from operations.retention import kinds
from operations.retention.kinds import Amount, clean_leftovers, clean_removed, clean_uploads
from preference.data.models.exports import Export
from preference.registry.incoming import INCOMING
from preference.registry.removed_copies import is_needed
from preference.registry.services.trained_models import remove_model
from preference.runs.files import LOG, folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import remove_run_files
from projects.models import Project
from tests.object_store import ObjectServer, use_object_store
from tests.preference.elsewhere import come_home, trained_folder
from tests.preference.learning import fakes as fakes
from tests.preference.learning import snapshot_of, training
from tests.preference.registry.test_models_in_object_store import Hosts
from tests.preference.registry.test_models_in_object_store import host as host
from tests.preference.registry.test_models_in_object_store import prefix as prefix

pytestmark = pytest.mark.django_db


def stored(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rows")
    shared_files().hand_over(path)
    return path


def test_leftovers_go_and_what_is_needed_stays(
    project: Project, settings: Settings, object_server: ObjectServer, tmp_path: Path
) -> None:
    use_object_store(settings, object_server.url(uuid4().hex), tmp_path)
    job = Job.objects.create(id=uuid4(), project=project, kind="export", state=JobState.DONE)
    export = Export.objects.create(id=job.pk, job=job, project=project, format="sft", path=f"{job.pk}/data")
    waiting = Job.objects.create(id=uuid4(), project=project, kind="import")
    removed = snapshot_of(project)
    removed.path = ""
    removed.save()
    Job.objects.filter(pk=removed.job_id).update(state=JobState.FAILED)
    kept = {
        stored(tmp_path / "exports" / export.path),
        stored(tmp_path / "imports" / str(waiting.pk)),
        stored(tmp_path / "snapshots" / str(uuid4()) / "dialogues.jsonl"),  # of a deleted project
    }
    gone = {
        stored(tmp_path / "exports" / str(uuid4()) / "data"),
        stored(tmp_path / "imports" / str(uuid4())),
        stored(tmp_path / "snapshots" / str(removed.pk) / "dialogues.jsonl"),
    }
    before = {each.path for each in shared_files().stored_in(tmp_path)}
    assert before >= kept | gone
    yesterday, soon = (timezone.now() + timedelta(days=days) for days in (-1, 1))
    assert clean_uploads(yesterday, dry_run=False) + clean_leftovers(yesterday, dry_run=False) == Amount()
    assert clean_uploads(soon, dry_run=True) == Amount(1, 4)
    clean_uploads(soon, dry_run=False)
    clean_leftovers(soon, dry_run=False)
    assert {each.path for each in shared_files().stored_in(tmp_path)} & (kept | gone) == kept


def stored_model(path: Path) -> Path:
    """A file below MODELS_ROOT; returns its folder there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rows")
    shared_models().hand_over(path)
    return shared_models().root / path.relative_to(shared_models().root).parts[0]


def training_with_log(project: Project, state: JobState) -> TrainingRun:
    run = training(project, None, model="/models/base")
    Job.objects.filter(pk=run.pk).update(state=state)
    stored_model(folder_of_run(run) / LOG)
    return run


@pytest.mark.usefixtures("fakes")
def test_models_and_trainings_go_that_were_removed_while_the_store_was_away(
    project: Project,
    eric: User,
    host: Hosts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    models = host("a")
    kept, removed = (
        come_home(project, trained_folder(tmp_path / "elsewhere", name)) for name in ("kept", "removed")
    )
    runs = [training_with_log(project, state) for state in JobState]
    cleared = training_with_log(project, JobState.FAILED)
    registering = Job.objects.create(id=uuid4(), project=project, kind="registration", state=JobState.FAILED)
    needed = {
        models / kept.folder.split("/")[0],
        *(folder_of_run(run).parent for run in runs),
        stored_model(models / registering.pk.hex[:12] / "run7b/model/config.json"),
        stored_model(models / INCOMING / "run7b/model/config.json"),
    }
    gone = {
        models / removed.folder.split("/")[0],
        folder_of_run(cleared).parent,
        stored_model(models / uuid4().hex[:12] / "run/model/config.json"),  # of a deleted project
    }
    host("a", away=True)
    with django_capture_on_commit_callbacks(execute=True):
        remove_model(model=removed, actor=None)
        remove_run_files(run=cleared, actor=None)
    host("a")
    assert {models / name for name in shared_models().names_in(models)} >= needed | gone
    soon = timezone.now() + timedelta(days=1)
    User.objects.update(date_joined=timezone.now() - timedelta(days=1))
    assert clean_removed(soon, dry_run=False) == Amount()  # a day is the least
    monkeypatch.setattr(kinds, "FRESH", timedelta(days=-1))
    User.objects.update(date_joined=timezone.now() + timedelta(hours=1))
    assert clean_removed(soon, dry_run=False) == Amount()  # as of another database
    User.objects.update(date_joined=timezone.now() - timedelta(days=1))
    assert clean_removed(timezone.now() - timedelta(days=1), dry_run=False) == Amount()
    assert clean_removed(soon, dry_run=True).count == len(gone)
    assert clean_removed(soon, dry_run=False).count == len(gone)
    left = {models / name for name in shared_models().names_in(models)}
    assert left & (needed | gone) == needed


def test_a_training_that_goes_on_needs_its_folder_without_its_files(project: Project) -> None:
    run = training(project, None, model="/models/base")
    TrainingRun.objects.update(folder="")
    assert {state: is_needed_in(run, state) for state in JobState} == {
        JobState.QUEUED: True,
        JobState.RUNNING: True,
        JobState.DONE: False,
        JobState.FAILED: False,
        JobState.CANCELLED: False,
    }


def is_needed_in(run: TrainingRun, state: JobState) -> bool:
    Job.objects.filter(pk=run.pk).update(state=state)
    return is_needed(run.pk.hex[:12])
