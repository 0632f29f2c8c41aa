"""Pushing a snapshot, to a Hub on this machine."""

import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from pyarrow import parquet

from accounts.models import User
from dialogues.models import Dialogue, Split
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.formats.hub import _remember
from preference.data.models.snapshots import Snapshot
from preference.data.services.snapshots import push_snapshot, take_snapshot
from projects.models import Project
from tests.preference.conftest import PASS, Written, refused
from tests.preference.small_hub import TOKEN, SmallHub, small_hub

Pushes = Callable[..., Job]
# huggingface_hub uploads files so through Git LFS.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")


@pytest.fixture
def snapshot(project: Project, eric: User, written: Written) -> Snapshot:
    """Two dialogues of the split train, one of test."""
    for _number in range(3):
        written(PASS)
    first = Dialogue.objects.order_by("id")[:1].get()
    Dialogue.objects.update(split=Split.TRAIN)
    Dialogue.objects.filter(pk=first.pk).update(split=Split.TEST)
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric, name="May")
    run_job(job_id=made.job_id)
    return Snapshot.objects.select_related("project", "job").get(pk=made.pk)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SmallHub]:
    """What HF_ENDPOINT sets where it is there when the libraries are loaded."""
    import datasets
    import huggingface_hub.constants

    with small_hub() as hub:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(datasets.config, "HF_ENDPOINT", hub.url)
        template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        # Xet, which the real Hub stores large files in, has a protocol of its own; this is the other way, Git LFS.
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


@pytest.fixture
def pushes(snapshot: Snapshot, eric: User) -> Pushes:
    """pushes(repo_id="us/may") pushes the snapshot and carries it out."""

    def pushes(**asked: Any) -> Job:
        about: dict[str, Any] = {
            "push_id": uuid4(),
            "snapshot": snapshot,
            "actor": eric,
            "repo_id": "us/may",
        } | asked
        return run_job(job_id=push_snapshot(**about).pk)

    return pushes


def everything_kept(job: Job, snapshot: Snapshot) -> str:
    kept = [job.parameters, job.result, job.error, job.remedy, snapshot.pushed, snapshot.card]
    return json.dumps(kept, ensure_ascii=False)


def test_a_hub_gets_the_frozen_files_and_splits_that_load(
    pushes: Pushes, hub: SmallHub, snapshot: Snapshot
) -> None:
    job = pushes()
    assert job.state == JobState.DONE, job.error
    asked = {"name": "may", "organization": "us", "visibility": "private", "type": "dataset"}
    assert asked.items() <= hub.created[0].items()
    files = hub.files["us/may"]
    assert hashlib.sha256(files["dialogues.jsonl"]).hexdigest() == snapshot.sha256
    assert {"README.md", "snapshot.json"} <= set(files)
    by_split = {
        path.split("/")[-1].split("-")[0]: parquet.read_table(io.BytesIO(data)).num_rows
        for path, data in files.items()
        if path.endswith(".parquet")
    }
    assert by_split == {"train": 2, "test": 1}
    assert b"No licence is stated." in files["README.md"]
    assert b"dataset_info" in files["README.md"]
    snapshot.refresh_from_db()
    assert [(one["repo_id"], one["commit"]) for one in snapshot.pushed] == [("us/may", "a" * 40)]
    assert TOKEN not in everything_kept(job, snapshot)


def test_a_token_that_may_not_write_is_reported_and_kept_nowhere(
    pushes: Pushes,
    hub: SmallHub,
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrong_secret")
    job = pushes()
    assert (job.state, "401" in job.error, "HF_TOKEN" in job.remedy) == (JobState.FAILED, True, True)
    assert "hf_wrong_secret" not in everything_kept(job, snapshot) + caplog.text
    assert (hub.files, snapshot.pushed) == ({}, [])


def test_without_a_token_nothing_is_asked(
    pushes: Pushes, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    job = pushes()
    assert (job.state, "HF_TOKEN" in job.remedy) == (JobState.FAILED, True)
    assert hub.asked == []


def test_without_a_network_the_cause_is_reported(
    pushes: Pushes, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    job = pushes()
    assert (job.state, "HF_ENDPOINT" in job.remedy) == (JobState.FAILED, True)
    assert "cannot be reached" in job.error


def test_without_the_library_it_says_what_to_install(
    pushes: Pushes, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    job = pushes()
    assert (job.state, "requirements.txt" in job.remedy) == (JobState.FAILED, True)
    assert hub.asked == []


@pytest.mark.parametrize(
    "name", ["", "may", "us/../x", "us/may/more", "us/ma y", "https://hub/us/may", "-us/may"]
)
def test_an_invalid_repository_is_refused(snapshot: Snapshot, eric: User, name: str) -> None:
    with refused("invalid") as said:
        push_snapshot(push_id=uuid4(), snapshot=snapshot, actor=eric, repo_id=name)
    assert said.value.remedy
    assert not Job.objects.filter(kind="push").exists()


def test_the_same_push_runs_once_and_its_id_serves_no_other(snapshot: Snapshot, eric: User) -> None:
    about: dict[str, Any] = {"push_id": uuid4(), "snapshot": snapshot, "actor": eric, "repo_id": "us/may"}
    assert push_snapshot(**about) == push_snapshot(**about)
    for other in ({"repo_id": "us/june"}, {"private": False}):
        with refused("id_in_use"):
            push_snapshot(**{**about, **other})
    assert Job.objects.filter(kind="push").count() == 1


def test_of_two_pushes_that_end_at_once_both_are_kept(snapshot: Snapshot) -> None:
    stale = [Snapshot.objects.get(pk=snapshot.pk) for _ in range(2)]
    for row, name in zip(stale, ("us/may", "us/june"), strict=True):
        _remember(row, SimpleNamespace(repo_url=f"http://hub/{name}", oid="1"), name, private=True)
    snapshot.refresh_from_db()
    assert [one["repo_id"] for one in snapshot.pushed] == ["us/may", "us/june"]
