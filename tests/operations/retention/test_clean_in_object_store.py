"""What `clean` deletes from an object store. The time of an object cannot be set, so the age is moved instead."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from common.storage.shared_files import shared_files
from jobs.models import Job, JobState
from operations.retention.kinds import Amount, clean_leftovers, clean_uploads
from preference.data.models.exports import Export
from projects.models import Project
from tests.object_store import ObjectServer, use_object_store
from tests.preference.learning import snapshot_of

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
