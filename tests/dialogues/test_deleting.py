"""Deleting one dialogue: what goes, what stays, who may, and that an import does not bring it back."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.models import Thread
from annotation.onboarding.services.threads import ask_question
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task, Workload
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Invalid, Refusal
from dialogues.models import DeletedDialogue, Dialogue, Utterance
from dialogues.services.deleting import delete_dialogue
from dialogues.services.imports import start_import
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Event, Project, Role
from tests.annotation.batch_review.conftest import diqad_answers
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
SECRET = "My card number is 4711"
REASON = "Asked for by the customer, ticket 12"
Imports = Callable[[], Job]


@pytest.fixture
def quality(mara: User, settings: Settings, tmp_path: Path) -> Project:
    settings.FILES_ROOT = tmp_path
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds = 0
    project.labelling.save()
    return project


@pytest.fixture
def imports(quality: Project, mara: User) -> Imports:
    """imports() imports the same three dialogues; "d0" holds the secret."""

    def run() -> Job:
        rows = [
            {"id": f"d{n}", "messages": [{"role": "user", "content": SECRET if n == 0 else f"Words {n}"}]}
            for n in range(3)
        ]
        file = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
        job = start_import(
            project=quality,
            actor=mara,
            source=file,
            name="chats.jsonl",
            format="messages",
            on_error="skip",
            submission_id=uuid4(),
        )
        return run_job(job_id=job.pk)

    return run


@pytest.fixture
def private(quality: Project, imports: Imports, joins: Joins) -> Dialogue:
    """The dialogue with the secret, which Anna labelled and asked about."""
    assert imports().state == JobState.DONE
    dialogue = Dialogue.objects.get(external_id="d0")
    Dialogue.objects.exclude(pk=dialogue.pk).delete()
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    anna = joins("anna", quality, Role.ANNOTATOR)
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    ask_question(asker=anna, project=quality, dialogue_id=dialogue.pk, thread_id=uuid4(), text=SECRET)
    sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(2), note=SECRET)
    submit_labels(annotator=anna, assignment_id=held.pk, sent=sent)
    return dialogue


def test_everything_about_it_goes_and_a_tombstone_stays(
    private: Dialogue, quality: Project, mara: User
) -> None:
    Event.objects.create(
        project=quality,
        subject_type="dialogues.dialogue",
        subject_id=str(private.pk),
        kind="x",
        reason=SECRET,
    )
    stored = delete_dialogue(dialogue=private, actor=mara, reason=REASON)
    assert (stored.dialogue, stored.deleted_by, stored.reason) == (private.pk, mara, REASON)
    assert {name: stored.counts[name] for name in ("utterances", "labels", "threads")} == {
        "utterances": 1,
        "labels": 1,
        "threads": 1,
    }
    assert not Dialogue.objects.exists()
    assert not Utterance.objects.exists()
    assert not Task.objects.exists()
    assert not Thread.objects.exists()
    assert Workload.objects.get().taken == 0
    assert not Event.objects.filter(reason__contains="4711").exists()
    event = Event.objects.get(kind="dialogue_deleted")
    assert (event.actor, event.reason) == (mara, REASON)


def test_deleting_twice_changes_nothing(private: Dialogue, mara: User) -> None:
    first = delete_dialogue(dialogue=private, actor=mara, reason=REASON)
    again = delete_dialogue(
        dialogue=Dialogue(pk=private.pk, project=first.project), actor=mara, reason="Other"
    )
    assert again == first
    assert Event.objects.filter(kind="dialogue_deleted").count() == 1


def test_a_reason_is_required(private: Dialogue, mara: User) -> None:
    with pytest.raises(Invalid):
        delete_dialogue(dialogue=private, actor=mara, reason="  ")


def test_it_waits_for_jobs_that_read_dialogues(private: Dialogue, quality: Project, mara: User) -> None:
    Job.objects.create(project=quality, kind="export", state=JobState.RUNNING)
    with pytest.raises(Refusal) as caught:
        delete_dialogue(dialogue=private, actor=mara, reason=REASON)
    assert caught.value.code == "busy"


def test_importing_the_file_again_does_not_bring_it_back_and_says_so(
    private: Dialogue, imports: Imports, quality: Project, mara: User, client: Client
) -> None:
    delete_dialogue(dialogue=private, actor=mara, reason=REASON)
    job = imports()
    assert (job.result["stored"], job.result["deleted"], job.result["dialogues"]) == (2, 1, 3)
    assert not Dialogue.objects.filter(external_id="d0").exists()
    client.force_login(mara)
    assert "without 1 dialogue that a manager deleted" in client.get(f"/p/quality/imports/{job.pk}/").text
    assert client.get(f"/api/v1/imports/{job.pk}/").json()["deleted"] == 1


def test_the_page_says_what_goes_and_deletes_with_a_reason(
    private: Dialogue, quality: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)
    assert (
        f"/p/quality/dialogues/{private.pk}/delete/" in client.get(f"/p/quality/dialogues/{private.pk}/").text
    )
    address = f"/p/quality/dialogues/{private.pk}/delete/"
    shown = client.get(address).text
    assert "It cannot be undone" in shown
    assert "Labels with notes" in shown
    assert client.post(address, {"reason": ""}).status_code == 400
    for _n in range(2):
        assert client.post(address, {"reason": REASON}).headers["Location"] == "/p/quality/dialogues/deleted/"
    listed = client.get("/p/quality/dialogues/deleted/").text
    assert REASON in listed
    assert str(private.pk) in listed
    gone = client.get(f"/p/quality/dialogues/{private.pk}/")
    assert gone.status_code == 410
    assert "was deleted on" in gone.text


def test_the_list_says_that_a_search_failed_and_how_to_start_it_again(
    private: Dialogue, quality: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)
    job = delete_dialogue(dialogue=private, actor=mara, reason=REASON).job
    assert job is not None
    assert "Searching exports and snapshots" in client.get("/p/quality/dialogues/deleted/").text
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED)
    listed = client.get("/p/quality/dialogues/deleted/").text
    assert "Searching exports and snapshots" not in listed
    assert "The search of exports and snapshots failed: open it and start it again" in listed
    assert f'href="/p/quality/jobs/{job.pk}/"' in listed


def test_the_api_previews_and_deletes(
    private: Dialogue, quality: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)
    api = f"/api/v1/dialogues/{private.pk}/deletion/"
    assert client.get(api).json()["goes"]["utterances"] == 1
    for _n in range(2):
        answer = client.post(api, {"reason": REASON}, content_type="application/json")
        assert answer.json()["dialogue"] == private.pk
    [row] = client.get("/api/v1/projects/quality/deleted-dialogues/").json()["results"]
    assert (row["dialogue"], row["deleted_by"], row["reason"]) == (private.pk, "mara", REASON)
    assert client.get(f"/api/v1/dialogues/{private.pk}/").status_code == 410


def test_the_list_needs_as_many_queries_for_many_as_for_one(
    quality: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)

    counts = []
    for n in (1, 5):
        for m in range(n):
            DeletedDialogue.objects.create(
                project=quality, dialogue=100 * n + m, id_sha256=f"{n}/{m}", reason="x", deleted_by=mara
            )
        with CaptureQueriesContext(connection) as seen:
            client.get("/p/quality/dialogues/deleted/")
        counts.append(len(seen))
    assert counts[0] == counts[1]
