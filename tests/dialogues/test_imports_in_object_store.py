"""Uploads that a web server puts into an object store and a worker of another host takes out of it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

from common.refusals import Refusal
from common.storage.shared_files import shared_files
from dialogues.models import Dialogue
from dialogues.services import uploads
from jobs.models import Job, JobState
from jobs.services import retry_job, run_job
from tests.dialogues.conftest import Import, chats
from tests.object_store import ObjectServer, use_object_store
from tests.store_proxy import StoreProxy, run_store_proxy

pytestmark = pytest.mark.django_db


@pytest.fixture
def url(object_server: ObjectServer) -> str:
    return object_server.url(uuid4().hex)


@pytest.fixture
def proxy(object_server: ObjectServer) -> Iterator[StoreProxy]:
    with run_store_proxy(object_server) as running:
        yield running


def files(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]


def test_a_worker_of_another_host_reads_the_upload_and_deletes_it(
    start: Import, settings: Settings, url: str, tmp_path: Path
) -> None:
    use_object_store(settings, url, tmp_path / "web")
    job = start(chats("Hello", "Good day"))
    assert files(tmp_path / "web") == []
    assert uploads.may_have_upload(job.pk)

    use_object_store(settings, url, tmp_path / "worker")
    done = run_job(job_id=job.pk)
    assert (done.state, done.result["stored"]) == (JobState.DONE, 2), done.error
    assert not uploads.may_have_upload(job.pk)
    assert files(tmp_path) == []


def test_an_upload_that_the_store_refuses_leaves_nothing(
    start: Import, settings: Settings, url: str, object_server: ObjectServer, tmp_path: Path
) -> None:
    use_object_store(settings, object_server.url(uuid4().hex, secret="old"), tmp_path / "web")
    with pytest.raises(Refusal, match="refused the access"):
        start(chats("Hello"))
    assert (files(tmp_path), Job.objects.count()) == ([], 0)


def test_an_import_whose_store_is_away_fails_with_the_reason_and_can_be_repeated(
    start: Import, settings: Settings, proxy: StoreProxy, tmp_path: Path
) -> None:
    url = proxy.url(uuid4().hex)
    use_object_store(settings, url, tmp_path / "web")
    job = start(chats("Hello"))
    use_object_store(settings, url, tmp_path / "worker")
    proxy.answer(403, "AccessDenied")
    failed = run_job(job_id=job.pk)
    assert (failed.state, failed.error) == (
        JobState.FAILED,
        "The object store refused the access (AccessDenied).",
    )
    assert failed.remedy.startswith("Ask the operator to check the access key")
    assert uploads.may_have_upload(job.pk), "the page offers to repeat it"
    proxy.work()
    assert uploads.may_have_upload(job.pk)
    retry_job(job=failed, actor=None, enqueue=False)
    assert run_job(job_id=job.pk).state == JobState.DONE
    assert Dialogue.objects.count() == 1


def test_a_file_that_the_store_lost_is_said_to_be_gone(
    start: Import, settings: Settings, url: str, tmp_path: Path
) -> None:
    use_object_store(settings, url, tmp_path / "web")
    job = start(chats("Hello"))
    uploads.delete_upload(job.pk)
    failed = run_job(job_id=job.pk)
    assert (failed.state, failed.error) == (JobState.FAILED, "The file of this import is no longer there.")


def test_files_of_abandoned_imports_are_deleted_from_the_store(
    start: Import, settings: Settings, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_object_store(settings, url, tmp_path / "web")
    old = start(chats("Hello"))
    monkeypatch.setattr(uploads, "DELETE_AFTER", -60)  # seconds: also the newest is too old
    uploads.delete_old_uploads()
    assert not uploads.may_have_upload(old.pk)
    assert list(shared_files().stored_in(tmp_path / "web" / "imports")) == []
