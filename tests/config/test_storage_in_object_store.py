"""What doctor says about an object store, and how it compares what the web server and the workers read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from common.release import code_version
from config import storage_check, worker_check
from config.findings import Finding
from jobs import folders
from jobs.folders import SHARED, differing_folders, folder_ids, known_folder_ids
from jobs.services import record_heartbeat
from tests.object_store import ObjectServer, use_object_store
from tests.processes import free_port
from tests.store_proxy import StoreProxy, run_store_proxy


@pytest.fixture
def proxy(object_server: ObjectServer) -> Iterator[StoreProxy]:
    with run_store_proxy(object_server) as running:
        yield running


def diagnosis(settings: Settings, url: str, tmp_path: Path) -> list[Finding]:
    use_object_store(settings, url, tmp_path)
    return list(storage_check.storage())


def test_a_store_that_works_is_ok_and_stays_as_it_was(
    settings: Settings, object_server: ObjectServer, tmp_path: Path
) -> None:
    prefix = uuid4().hex
    found = diagnosis(settings, object_server.url(prefix), tmp_path)
    assert not [finding for finding in found if finding.state == "problem"]
    assert f"lapidary/{prefix}/files was written, read and cleaned up in " in found[0].what
    assert object_server.client().list_objects_v2(Bucket="lapidary", Prefix=prefix)["KeyCount"] == 0


def test_nothing_is_said_without_a_store(settings: Settings) -> None:
    assert list(storage_check.storage()) == []


def test_a_missing_bucket_a_wrong_key_and_a_server_that_is_away_are_told_apart(
    settings: Settings, object_server: ObjectServer, tmp_path: Path
) -> None:
    there = object_server.endpoint
    (missing,) = diagnosis(settings, object_server.url(bucket="elsewhere"), tmp_path)
    assert missing.what == f"The bucket elsewhere of STORAGE_URL does not exist on {there}."
    (refused,) = diagnosis(settings, object_server.url(secret="old"), tmp_path)
    assert refused.what.startswith(f"The object store {there} refuses the key of STORAGE_URL")
    nowhere = f"http://127.0.0.1:{free_port()}"
    (away,) = diagnosis(settings, object_server.url().replace(there, nowhere), tmp_path)
    assert away.what.startswith(f"The object store {nowhere} does not answer: ")
    assert away.remedy == "Start it, or correct the endpoint in STORAGE_URL."
    assert "lapidary-secret" not in missing.what + refused.what + away.what


def test_a_store_that_can_only_be_read_or_keeps_everything_is_named(
    settings: Settings, proxy: StoreProxy, tmp_path: Path
) -> None:
    url = proxy.url(uuid4().hex)
    proxy.answer(403, "AccessDenied", lambda method, _path: method == "PUT")
    (read_only,) = diagnosis(settings, url, tmp_path)
    assert read_only.what.startswith("The object store can be read, but not written (lapidary/")
    proxy.answer(507, "QuotaExceeded", lambda method, _path: method == "PUT")
    (full,) = diagnosis(settings, url, tmp_path)
    assert "QuotaExceeded" in full.what
    proxy.answer(403, "AccessDenied", lambda method, _path: method == "DELETE")
    (kept,) = diagnosis(settings, url, tmp_path)
    assert kept.remedy == "Allow s3:DeleteObject there."
    proxy.answer(403, "RequestTimeTooSkewed")
    (skewed,) = diagnosis(settings, url, tmp_path)
    assert "The clock of this machine" in skewed.what
    proxy.work()
    proxy.delay = 0.3
    assert [finding.state for finding in diagnosis(settings, url, tmp_path)] == ["warning", "warning"]


@pytest.mark.django_db
def test_hosts_of_one_store_read_one_id_and_a_worker_without_it_is_named(
    settings: Settings, object_server: ObjectServer, tmp_path: Path
) -> None:
    url, disk = object_server.url(uuid4().hex), settings.STORAGES
    use_object_store(settings, url, tmp_path / "worker")
    reported = folder_ids()
    use_object_store(settings, url, tmp_path / "web")
    assert folder_ids() == reported
    assert all(reported.values())
    record_heartbeat(name="w1", queues=["gpu"], details={}, version=code_version(), folders=reported)
    (same,) = worker_check.worker_folders()
    assert same.what == "Workers read the object store that is written here, and run the same release."

    settings.STORAGES = disk
    record_heartbeat(name="w1", queues=["gpu"], details={}, version=code_version(), folders=folder_ids())
    use_object_store(settings, url, tmp_path / "web")
    (other,) = worker_check.worker_folders()
    assert other.what == "The worker w1 does not read the object store that is written here."
    assert "the same STORAGE_URL" in other.remedy


def test_a_store_that_is_away_is_asked_for_its_id_once_in_a_while(
    settings: Settings, proxy: StoreProxy, tmp_path: Path
) -> None:
    use_object_store(settings, proxy.url(uuid4().hex), tmp_path)
    proxy.answer(403, "AccessDenied")
    assert [folder_ids(), folder_ids()] == [{}, {}]
    with folders._asking:
        assert known_folder_ids() == {}
    assert len(proxy.asked) == 2
    proxy.work()
    folders._answers.clear()
    assert all(folder_ids().values())


def test_an_outage_leaves_the_last_id_that_a_store_had(
    settings: Settings, proxy: StoreProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "ASK_STORE_EVERY", 0)
    use_object_store(settings, proxy.url(uuid4().hex), tmp_path)
    ids = folder_ids()
    assert ids.keys() == SHARED.keys()
    proxy.answer(403, "AccessDenied")
    assert folder_ids() == ids
    assert differing_folders(ids, dict.fromkeys(SHARED, "")) == []  # recorded by an earlier release
    assert differing_folders(ids, dict.fromkeys(SHARED, "another id")) == list(SHARED)


@pytest.mark.django_db
def test_doctor_claims_nothing_of_stores_that_were_not_reached(
    settings: Settings, proxy: StoreProxy, tmp_path: Path
) -> None:
    use_object_store(settings, proxy.url(uuid4().hex), tmp_path)
    heartbeat: dict[str, Any] = {"queues": ["gpu"], "details": {}, "version": code_version()}
    record_heartbeat(name="w1", folders=folder_ids(), **heartbeat)
    proxy.answer(403, "AccessDenied")
    folders._answers.clear()  # as in doctor's own process
    assert list(worker_check.worker_folders()) == []
    proxy.work()
    folders._answers.clear()
    record_heartbeat(name="w2", folders={}, **heartbeat)
    (unknown,) = worker_check.worker_folders()
    assert (unknown.state, unknown.what) == (
        "warning",
        "The worker w2 has not reached its object store since it started.",
    )


@pytest.mark.django_db
def test_doctor_names_workers_if_nobody_has_written_to_the_store_of_this_host(
    settings: Settings, object_server: ObjectServer, tmp_path: Path
) -> None:
    use_object_store(settings, object_server.url(uuid4().hex), tmp_path)
    ids = dict.fromkeys(SHARED, "of the workers' store")
    record_heartbeat(name="w1", queues=["gpu"], details={}, version=code_version(), folders=ids)
    (other,) = worker_check.worker_folders()
    assert (other.state, other.what) == (
        "problem",
        "The worker w1 does not read the object store that is written here.",
    )
