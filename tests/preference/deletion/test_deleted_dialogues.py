"""Exports and snapshots after a dialogue of theirs was deleted."""

from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from common.refusals import Refusal
from dialogues.models import Dialogue
from dialogues.services.deleting import delete_dialogue
from jobs.models import JobState
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import folder_of_snapshot
from preference.data.services.exports import start_export
from preference.data.services.snapshots import remove_snapshot_files, take_snapshot
from preference.data.storage import snapshots_root
from projects.models import Project
from tests.preference.conftest import PASS, Written

pytestmark = pytest.mark.django_db


def taken(project: Project, eric: User) -> Snapshot:
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric)
    assert run_job(job_id=made.job_id).state == JobState.DONE
    return Snapshot.objects.get(pk=made.pk)


def delete(dialogue: Dialogue, mara: User) -> dict[str, int]:
    stored = delete_dialogue(dialogue=dialogue, actor=mara, reason="Asked for.")
    assert stored.job is not None
    job = run_job(job_id=stored.job.pk)
    assert job.state == JobState.DONE, job.error
    result: dict[str, int] = job.result
    return result


def test_a_snapshot_with_it_is_closed_and_others_are_not(
    written: Written, project: Project, eric: User, mara: User, client: Client
) -> None:
    written(PASS)
    without = taken(project, eric)
    private = written(PASS)
    snapshot = taken(project, eric)
    export = start_export(export_id=uuid4(), project=project, actor=eric, format="diamante")
    run_job(job_id=export.job_id)
    assert delete(private, mara) == {"exports": 1, "snapshots": 1}
    export.refresh_from_db()
    snapshot.refresh_from_db()
    without.refresh_from_db()
    assert (export.path, len(snapshot.deleted), without.deleted) == ("", 1, [])
    assert folder_of_snapshot(without).is_dir()
    with pytest.raises(Refusal) as caught:
        folder_of_snapshot(snapshot)
    assert caught.value.code == "dialogues_deleted"
    client.force_login(eric)
    page = client.get(f"/p/{project.slug}/snapshots/{snapshot.pk}/").text
    assert "1 dialogue of this snapshot was deleted since" in page
    assert client.get(f"/p/{project.slug}/snapshots/{snapshot.pk}/files/dialogues.jsonl").status_code == 410
    answer = client.get(f"/api/v1/snapshots/{snapshot.pk}/").json()
    assert (answer["deleted_dialogues"], answer["has_files"]) == (1, False)
    remove_snapshot_files(snapshot=snapshot, actor=mara)
    assert not Snapshot.objects.get(pk=snapshot.pk).path
    assert snapshots_root().is_dir()


def test_running_the_job_again_changes_nothing(
    written: Written, project: Project, eric: User, mara: User
) -> None:
    private = written(PASS)
    snapshot = taken(project, eric)
    stored = delete_dialogue(dialogue=private, actor=mara, reason="Asked for.")
    assert stored.job is not None
    for _n in range(2):
        type(stored.job).objects.filter(pk=stored.job.pk).update(state=JobState.QUEUED)
        run_job(job_id=stored.job.pk)
    snapshot.refresh_from_db()
    assert snapshot.deleted == [stored.pk]
