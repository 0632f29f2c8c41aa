"""Deleting an archived project with one of everything in it."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.apps import apps
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from common.refusals import Invalid, Refusal
from generation.models import BackendKind, Generator
from jobs.models import Job, JobState
from jobs.services import cancel_job, run_job
from preference.data.models.snapshots import Snapshot
from preference.data.storage import snapshots_root
from preference.deletion.project_deletion import blockers_of, delete_project
from preference.registry.uploads import uploads_of
from projects.models import Event, Project
from projects.services import archive_project
from tests.access.authoring_world import create_authoring_world
from tests.access.labelling_world import create_labelling_world
from tests.access.people import MANAGER, OUTSIDER, create_people
from tests.access.study_world import create_study_world
from tests.preference.learning import snapshot_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings: Settings, tmp_path: Path) -> None:
    settings.FILES_ROOT, settings.MODELS_ROOT = tmp_path, tmp_path / "models"


@pytest.fixture
def chats(mara: User) -> Project:
    return archive_project(
        project=create_project(slug="chats", preset="diqad", actor=mara, title="Chats"), actor=mara
    )


def delete(project: Project, actor: User) -> Job:
    job = delete_project(project=project, actor=actor, request_id=uuid4(), slug=project.slug)
    return run_job(job_id=job.pk)


def test_nothing_of_a_full_project_stays(mara: User) -> None:
    people = create_people()
    other = create_project(slug="other", preset="diamante", actor=people[OUTSIDER], title="Other")
    worlds = [
        create_study_world(people)[0],
        create_labelling_world(people)[0],
        create_authoring_world(people, other)[0],
    ]
    for project in worlds:
        Job.objects.filter(project=project).update(state=JobState.DONE)
        Generator.shared_with.through.objects.all().delete()
        archive_project(project=project, actor=None)
        project.refresh_from_db()
        assert blockers_of(project) == []
        job = delete(project, people[MANAGER])
        assert job.state == JobState.DONE, job.error
        assert not uploads_of(job.parameters["project"]).exists()
        assert not Project.objects.filter(pk=project.pk).exists()
        for model in apps.get_models():
            for field in model._meta.fields:
                if field.related_model is Project and field.name == "project":
                    assert not model._default_manager.filter(project=project.pk).exists(), model
        event = Event.objects.get(kind="project_deleted", data__slug=project.slug)
        assert (event.project, event.actor) == (None, people[MANAGER])
    assert Project.objects.filter(pk=other.pk).exists()


def test_only_archived_projects_with_their_name_typed(mara: User, chats: Project) -> None:
    with pytest.raises(Invalid):
        delete_project(project=chats, actor=mara, request_id=uuid4(), slug="chat")
    in_use = create_project(slug="in-use", preset="diqad", actor=mara)
    with pytest.raises(Refusal) as caught:
        delete_project(project=in_use, actor=mara, request_id=uuid4(), slug="in-use")
    assert caught.value.code == "not_deletable"


def test_a_model_that_another_project_uses_blocks_and_is_named(mara: User, chats: Project) -> None:
    generator = Generator.objects.create(slug="tuned", backend=BackendKind.SCRIPTED, project=chats)
    writing = create_project(slug="writing", preset="diamante", actor=mara)
    writing.authoring.generator = generator
    writing.authoring.save()
    [reason] = blockers_of(chats)
    assert "writing" in reason
    assert "tuned" in reason


def test_it_is_cancelled_before_it_begins_and_not_after(mara: User, chats: Project) -> None:
    request_id = uuid4()
    for _n in range(2):
        job = delete_project(project=chats, actor=mara, request_id=request_id, slug="chats")
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING, attempts=1)
    job.refresh_from_db()
    with pytest.raises(Refusal) as caught:
        cancel_job(job=job, actor=mara)
    assert caught.value.code == "not_stoppable"
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED, attempts=0)
    job.refresh_from_db()
    assert cancel_job(job=job, actor=mara).state == JobState.CANCELLED
    assert Project.objects.filter(pk=chats.pk).exists()


def test_after_a_kill_it_goes_on_with_what_is_left(mara: User, chats: Project) -> None:
    job = delete_project(project=chats, actor=mara, request_id=uuid4(), slug="chats")
    # The first attempt was killed after it had removed the members, and another after the last row.
    chats.memberships.all().delete()
    Job.objects.filter(pk=job.pk).update(attempts=1, result={"people": 1, "dialogues": 0})
    assert run_job(job_id=job.pk).state == JobState.DONE
    assert not Project.objects.filter(pk=chats.pk).exists()
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    assert run_job(job_id=job.pk).state == JobState.DONE
    assert Event.objects.get(kind="project_deleted").data["counts"] == {"people": 1, "dialogues": 0}


def test_a_snapshot_goes_whose_files_a_store_that_was_away_has_kept(mara: User, chats: Project) -> None:
    kept = snapshot_of(chats)
    Snapshot.objects.update(path="")
    job = delete(chats, mara)
    assert job.state == JobState.DONE, job.error
    assert not (snapshots_root() / str(kept.pk)).exists()


def test_page_and_api_say_what_goes_and_how_far_it_is(mara: User, chats: Project, client: Client) -> None:
    client.force_login(mara)
    assert "/p/chats/settings/delete/" in client.get("/p/chats/settings/").text
    assert "cannot be undone" in client.get("/p/chats/settings/delete/").text
    wrong = client.post("/p/chats/settings/delete/", {"request_id": str(uuid4()), "slug": "x"})
    assert wrong.status_code == 422
    assert client.get("/api/v1/projects/chats/deletion/").json()["blockers"] == []
    sent = {"request_id": str(uuid4()), "slug": "chats"}
    address = client.post("/p/chats/settings/delete/", sent).headers["Location"]
    assert "Deleting “Chats”" in client.get(address).text
    run_job(job_id=Job.objects.get(kind="delete_project").pk)
    assert "Deleted, with everything in it" in client.get(address).text
    assert client.get(f"/api/v1/project-deletions/{sent['request_id']}/").json()["state"] == "done"
    stranger = User.objects.create(username="stranger")
    client.force_login(stranger)
    assert client.get(address).status_code == 404
