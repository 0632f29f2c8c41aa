"""Who took which data is in the project's events, and files are their owner's only."""

from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest
from django.http import FileResponse
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from jobs.models import Job, JobState
from preference.data.models.exports import Export
from projects.models import Event, Project

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/api/v1/exports/{id}/file/", "/p/{project}/exports/{id}/file/"])
def test_a_download_leaves_an_event(
    client: Client, project: Project, mara: User, settings: Settings, tmp_path: Path, address: str
) -> None:
    settings.FILES_ROOT = tmp_path
    job = Job.objects.create(id=uuid4(), project=project, kind="export", state=JobState.DONE)
    path = f"{job.pk}/data.jsonl"
    export = Export.objects.create(id=job.pk, job=job, project=project, format="sft", path=path)
    file = tmp_path / "exports" / path
    file.parent.mkdir(parents=True)
    file.write_text("{}\n")
    client.force_login(mara)
    answer = client.get(address.format(id=export.pk, project=project.slug))
    assert b"".join(cast(FileResponse, answer)) == b"{}\n"
    event = Event.objects.get(kind="downloaded")
    assert (event.actor, event.project, event.data) == (mara, project, {"file": "data.jsonl"})
    assert event.subject_id == str(export.pk)
