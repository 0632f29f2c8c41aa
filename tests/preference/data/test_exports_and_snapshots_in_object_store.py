"""Exports and snapshots that one host writes, another downloads and exports, and nobody shares a disk."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from common.storage.shared_files import shared_files
from dialogues.models import Dialogue
from dialogues.services.deleting import delete_dialogue
from jobs.models import Job, JobState
from jobs.progress import JobLost, Progress
from jobs.services import retry_job, run_job
from preference.data.formats.snapshot import publish_folder
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.exports import file_of
from preference.data.selectors.frozen_dialogues import DIALOGUES, FILES, fetched_snapshot, frozen_dialogues
from preference.data.services.exports import remove_file, start_export
from preference.data.services.snapshots import take_snapshot
from projects.models import Event, Project
from tests.object_store import BUCKET, ObjectServer, use_object_store
from tests.preference.conftest import diamante_file, refused
from tests.store_proxy import StoreProxy, run_store_proxy

pytestmark = pytest.mark.django_db
Hosts = Callable[..., Path]


@pytest.fixture
def prefix() -> str:
    return uuid4().hex


@pytest.fixture
def host(settings: Settings, object_server: ObjectServer, prefix: str, tmp_path: Path) -> Hosts:
    """host("web", options) goes on as a process of this host."""

    def go(name: str, options: str = "") -> Path:
        use_object_store(settings, object_server.url(prefix, options=options), tmp_path / name)
        return tmp_path / name

    return go


@pytest.fixture
def proxy(object_server: ObjectServer) -> Iterator[StoreProxy]:
    with run_store_proxy(object_server) as running:
        yield running


@pytest.fixture
def ready(imports: Callable[..., Job]) -> None:
    imports(diamante_file(dialogues=20))


def files(root: Path) -> set[str]:
    return {path.name for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")}


def exported(project: Project, actor: User, snapshot: Snapshot | None = None) -> Export:
    started = start_export(
        export_id=uuid4(),
        project=project,
        actor=actor,
        format="sft",
        include_unreviewed=True,
        snapshot=snapshot,
    )
    run_job(job_id=started.job_id)
    return Export.objects.select_related("job", "project").get(pk=started.pk)


def snapshotted(project: Project, actor: User) -> Snapshot:
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=actor, include_unreviewed=True)
    job = run_job(job_id=made.job_id)
    assert job.state == JobState.DONE, job.error
    return Snapshot.objects.select_related("job", "project").get(pk=made.pk)


def test_an_export_is_downloaded_from_a_host_that_never_had_it(
    ready: None, project: Project, eric: User, host: Hosts, client: Client
) -> None:
    worker = host("worker")
    export = exported(project, eric)
    assert (export.job.state, files(worker)) == (JobState.DONE, set())

    web, size = host("web"), export.bytes or 0
    client.force_login(eric)
    for address in (f"/api/v1/exports/{export.pk}/file/", f"/p/{project.slug}/exports/{export.pk}/file/"):
        whole = client.get(address)
        content = whole.getvalue()
        assert (len(content), int(whole["Content-Length"])) == (size, size)
        rest = client.get(address, headers={"Range": "bytes=100-", "If-Range": whole["ETag"]})
        assert (rest.status_code, rest.getvalue()) == (206, content[100:])
        for begin in (size, size + 1):
            assert client.get(address, headers={"Range": f"bytes={begin}-"}).status_code == 416
    assert files(web) == set()
    assert Event.objects.filter(kind="downloaded").count() == 2
    remove_file(export=export, actor=eric)
    assert list(shared_files().stored_in(web / "exports")) == []
    assert client.get(f"/api/v1/exports/{export.pk}/file/").status_code == 410


def test_a_signed_download_is_a_redirect_after_permission_and_event(
    ready: None, project: Project, eric: User, ann: User, host: Hosts, client: Client
) -> None:
    host("web", "&downloads=signed")
    export = exported(project, eric)
    for address in (f"/api/v1/exports/{export.pk}/file/", f"/p/{project.slug}/exports/{export.pk}/file/"):
        client.force_login(ann)
        assert client.get(address).status_code in (403, 404)
        client.force_login(eric)
        answer = client.get(address)
        assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (302, True)
        got = httpx.get(answer["Location"], headers={"Range": "bytes=10-"}, trust_env=False)
        assert (got.status_code, len(got.content)) == (206, (export.bytes or 0) - 10)
    events = Event.objects.filter(kind="downloaded").values_list("actor__username", flat=True)
    assert list(events) == ["eric", "eric"]


def test_a_snapshot_is_exported_by_another_host_after_its_hash_is_compared(
    ready: None, project: Project, eric: User, host: Hosts, object_server: ObjectServer, prefix: str
) -> None:
    here = host("a")
    snapshot = snapshotted(project, eric)
    original = (here / "snapshots" / snapshot.path / DIALOGUES).read_bytes()
    there = host("b")
    assert list(frozen_dialogues(snapshot).rows())
    assert fetched_snapshot(snapshot) == there / "snapshots" / snapshot.path
    assert files(there) == {*FILES}
    assert exported(project, eric, snapshot).job.state == JobState.DONE

    key = f"{prefix}/files/snapshots/{snapshot.path}/{DIALOGUES}"
    object_server.client().put_object(Bucket=BUCKET, Key=key, Body=original.replace(b"a", b"b"))
    third = host("c")
    for _try in range(2):  # nobody trains on it the second time either
        with refused("damaged"):
            fetched_snapshot(snapshot)
        assert files(third) == set()
    changed = exported(project, eric, snapshot)
    assert "its SHA-256 differs" in changed.job.error
    object_server.client().put_object(Bucket=BUCKET, Key=key, Body=original)
    assert (fetched_snapshot(snapshot) / DIALOGUES).read_bytes() == original


def test_a_copy_that_was_fetched_and_not_compared_is_compared_later(
    ready: None, project: Project, eric: User, host: Hosts
) -> None:
    """As after a worker that was killed between the two."""
    host("a")
    snapshot = snapshotted(project, eric)
    copy = host("b") / "snapshots" / snapshot.path
    assert shared_files().fetch(copy)
    (copy / DIALOGUES).write_bytes((copy / DIALOGUES).read_bytes().replace(b"a", b"b"))
    with refused("damaged"):
        fetched_snapshot(snapshot)
    assert fetched_snapshot(snapshot) == copy


def test_a_worker_that_lost_its_job_leaves_what_its_successor_published(
    ready: None, project: Project, eric: User, host: Hosts
) -> None:
    host("successor")
    snapshot = snapshotted(project, eric)
    late = host("late") / "snapshots" / snapshot.path
    late.mkdir(parents=True)
    (late / DIALOGUES).write_text("{}")
    progress = Progress(snapshot.job, clock=count().__next__)  # a second between two looks
    Job.objects.filter(pk=snapshot.job.pk).update(attempts=2)
    with pytest.raises(JobLost):
        publish_folder(late, progress)
    assert not late.exists()
    assert list(frozen_dialogues(snapshot).rows())
    stored = {file.path.name for file in shared_files().stored_in(late)}
    assert stored == {*FILES}


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (403, "AccessDenied", "The object store refused the access (AccessDenied)."),
        (507, "QuotaExceeded", "The object store has no room left (QuotaExceeded)."),
        (404, "NoSuchBucket", "The bucket of STORAGE_URL does not exist."),
    ],
)
def test_a_snapshot_that_the_store_refuses_leaves_nothing_and_can_be_taken_again(
    ready: None, project: Project, eric: User, settings: Settings, proxy: StoreProxy, tmp_path: Path,
    prefix: str, status: int, code: str, error: str,
) -> None:  # fmt: skip
    use_object_store(settings, proxy.url(prefix), tmp_path / "worker")
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric, include_unreviewed=True)
    # The first of its files is stored, the second is refused.
    proxy.answer(status, code, lambda method, path: method == "PUT" and DIALOGUES in path)
    job = run_job(job_id=made.job_id)
    assert (job.state, job.error) == (JobState.FAILED, error)
    assert job.remedy.startswith("Ask the operator")
    assert files(tmp_path / "worker") == set()
    assert list(shared_files().stored_in(tmp_path / "worker" / "snapshots")) == []
    proxy.work()
    retry_job(job=job, actor=eric, enqueue=False)
    assert run_job(job_id=job.pk).state == JobState.DONE


def test_a_refusal_half_way_through_the_parts_of_a_large_export(
    ready: None, project: Project, eric: User, settings: Settings, proxy: StoreProxy, tmp_path: Path,
    prefix: str, object_server: ObjectServer,
) -> None:  # fmt: skip
    use_object_store(settings, proxy.url(prefix), tmp_path / "worker")
    export = exported(project, eric)
    folder = tmp_path / "worker" / "exports" / str(export.pk)
    folder.mkdir(parents=True)
    large = folder / "large"
    large.write_bytes(os.urandom(1 << 20) * 18)  # three parts
    proxy.answer(403, "AccessDenied", lambda _method, path: "partNumber=2" in path)
    with refused("storage_refused"):
        shared_files().hand_over(folder)
    assert not folder.exists()
    client = object_server.client()
    assert client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == [], "the parts are abandoned"
    assert file_of(export).name


def test_a_deletion_that_the_store_refuses_is_repeated_until_no_export_has_the_dialogue(
    ready: None, project: Project, eric: User, mara: User, settings: Settings, proxy: StoreProxy,
    tmp_path: Path, prefix: str,
) -> None:  # fmt: skip
    use_object_store(settings, proxy.url(prefix), tmp_path / "worker")
    export = exported(project, eric)
    dialogue = Dialogue.objects.filter(project=project).latest("pk")
    stored = delete_dialogue(dialogue=dialogue, actor=mara, reason="Asked for.")
    proxy.answer(403, "AccessDenied", lambda method, _path: method == "DELETE")
    assert stored.job is not None
    job = run_job(job_id=stored.job.pk)
    assert (job.state, job.error) == (
        JobState.FAILED,
        "The object store refused the access (AccessDenied).",
    )
    proxy.work()
    retry_job(job=job, actor=mara, enqueue=False)
    assert run_job(job_id=job.pk).result == {"exports": 1, "snapshots": 0}
    assert list(shared_files().stored_in(tmp_path / "worker" / "exports")) == []
    export.refresh_from_db()
    assert export.path == ""


def test_a_store_that_is_away_or_slow_is_said_to_those_who_download(
    ready: None, project: Project, eric: User, settings: Settings, proxy: StoreProxy, tmp_path: Path,
    prefix: str, client: Client,
) -> None:  # fmt: skip
    use_object_store(settings, proxy.url(prefix), tmp_path / "web")
    export = exported(project, eric)
    client.force_login(eric)
    proxy.delay = 0.3
    assert len(client.get(f"/api/v1/exports/{export.pk}/file/").getvalue()) == export.bytes
    proxy.answer(403, "InvalidAccessKeyId")
    for address in (f"/api/v1/exports/{export.pk}/file/", f"/p/{project.slug}/exports/{export.pk}/file/"):
        answer = client.get(address)
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "refused the access (InvalidAccessKeyId)" in answer.content.decode()
    assert Event.objects.filter(kind="downloaded").count() == 1
