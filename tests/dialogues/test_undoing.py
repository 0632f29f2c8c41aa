"""Undoing an import: what nobody has begun with goes, the rest stays and is named."""

from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import Dialogue, Utterance
from dialogues.services.undoing import undo_import, undo_preview
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Event, Project, Role
from tests.annotation.conftest import imported
from tests.conftest import Joins

pytestmark = pytest.mark.django_db


@pytest.fixture
def quality(mara: User) -> Project:
    return create_project(slug="quality", preset="diqad", actor=mara)


@pytest.fixture
def earlier(quality: Project) -> Job:
    """An import of three dialogues that can be labelled."""
    job = Job.objects.create(
        project=quality,
        kind="import",
        state=JobState.DONE,
        parameters={"name": "chats.jsonl", "format": "eou"},
    )
    imported(quality, 3)
    Dialogue.objects.update(import_job=job)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    return job


def undone(earlier: Job) -> Job:
    started = undo_import(job=earlier, actor=None, request_id=uuid4())
    return run_job(job_id=started.pk)


def test_an_import_that_nobody_has_begun_with_goes_completely(earlier: Job, quality: Project) -> None:
    kept = imported(quality, 1)[0]  # of no import
    job = undone(earlier)
    assert (job.state, job.result) == (JobState.DONE, {"removed": 3, "kept": 0})
    assert list(Dialogue.objects.all()) == [kept]
    assert not Task.objects.exists()
    assert set(Utterance.objects.values_list("dialogue", flat=True)) == {kept.pk}
    assert Event.objects.filter(kind="import_undone", project=quality).count() == 1


def test_what_somebody_holds_or_a_batch_has_stays_and_is_named(
    earlier: Job, quality: Project, joins: Joins
) -> None:
    anna = joins("anna", quality, Role.ANNOTATOR)
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert undo_preview(earlier) == {"removable": 2, "kept": {"begun": 1}}
    assert undone(earlier).result == {"removed": 2, "kept": 1}
    assert Dialogue.objects.get().pk == held.dialogue_id


def test_a_running_import_is_not_undone(earlier: Job) -> None:
    Job.objects.filter(pk=earlier.pk).update(state=JobState.RUNNING)
    earlier.refresh_from_db()
    with pytest.raises(Refusal) as caught:
        undo_import(job=earlier, actor=None, request_id=uuid4())
    assert caught.value.code == "not_ready"


def test_the_page_and_the_api_say_what_goes_and_start_one_job(
    earlier: Job, quality: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)
    address = f"/p/quality/imports/{earlier.pk}/undo/"
    assert "Remove 3 dialogues" in client.get(address).content.decode()
    sent = {"request_id": str(uuid4())}
    for _n in range(2):
        assert client.post(address, sent).headers["Location"] == f"/p/quality/jobs/{sent['request_id']}/"
    assert Job.objects.filter(kind="undo_import").count() == 1
    api = f"/api/v1/imports/{earlier.pk}/undo/"
    assert client.get(api).json() == {"removable": 3, "kept": {}}
    body = {"id": str(uuid4())}
    assert client.post(api, body, content_type="application/json").json() == {"job": body["id"]}
