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
from django.test import override_settings
from pyarrow import parquet
from pytest_django import DjangoDbBlocker, Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, Split
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.formats.hub import _remember
from preference.data.models.hub_tokens import HubToken
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.hub_tokens import token_for_push
from preference.data.services.hub_tokens import remove_hub_token, set_hub_token
from preference.data.services.snapshots import push_snapshot, take_snapshot
from projects.models import Event, Membership, Project, Role
from tests.conftest import create_authoring_project
from tests.module_rows import shared_rows
from tests.preference.conftest import PASS, allow_short_dialogues, refused, write_dialogue
from tests.preference.small_hub import TOKEN, SmallHub, small_hub

Pushes = Callable[..., Job]
# huggingface_hub uploads files so through Git LFS.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")


@pytest.fixture(scope="module")
def files_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all tests here: none changes a snapshot's files."""
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="module")
def _frozen(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, files_root: Path
) -> Iterator[Snapshot]:
    with override_settings(FILES_ROOT=files_root), shared_rows(django_db_blocker):
        yield freeze_dialogues()


def freeze_dialogues() -> Snapshot:
    """A snapshot of two dialogues of the split train, and one of test."""
    mara, ann, carlos, eric = (
        User.objects.create(username=name, email=f"{name}@example.org")
        for name in ("mara", "ann", "carlos", "eric")
    )
    project = create_authoring_project(mara)
    allow_short_dialogues(project)
    for person, role in ((ann, Role.ANNOTATOR), (carlos, Role.CONTROLLER), (eric, Role.ENGINEER)):
        Membership.objects.create(project=project, user=person, roles=[role])
    written = [write_dialogue(project, mara, ann, carlos, PASS) for _number in range(3)]
    Dialogue.objects.update(split=Split.TRAIN)
    Dialogue.objects.filter(pk=written[0].pk).update(split=Split.TEST)
    snapshot = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric, name="May")
    run_job(job_id=snapshot.job_id)
    return snapshot


@pytest.fixture
def snapshot(_frozen: Snapshot, db: None) -> Snapshot:
    return Snapshot.objects.select_related("project", "job").get(pk=_frozen.pk)


@pytest.fixture
def project(snapshot: Snapshot) -> Project:
    return snapshot.project


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
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_installation")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


@pytest.fixture(autouse=True)
def token(project: Project, mara: User) -> HubToken:
    return set_hub_token(project=project, actor=mara, token=TOKEN)


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
    mara: User,
    caplog: pytest.LogCaptureFixture,
) -> None:
    set_hub_token(project=snapshot.project, actor=mara, token="hf_wrong_secret")
    job = pushes()
    assert (job.state, "401" in job.error, "project's Hub token" in job.remedy) == (
        JobState.FAILED,
        True,
        True,
    )
    events = json.dumps(list(Event.objects.values("data", "reason", "before", "after")))
    assert "hf_wrong_secret" not in everything_kept(job, snapshot) + caplog.text + events
    assert (hub.files, snapshot.pushed) == ({}, [])


def test_the_history_says_who_used_the_token_for_which_repository(
    pushes: Pushes, hub: SmallHub, eric: User
) -> None:
    pushes()
    event = Event.objects.get(kind="hub_token_used")
    assert (event.actor, event.data) == (eric, {"repository": "us/may", "token": "project"})


def test_without_a_token_of_the_project_that_of_the_installation_is_not_used(
    snapshot: Snapshot, mara: User, eric: User, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    remove_hub_token(project=snapshot.project, actor=mara)
    with refused("no_token") as said:
        push_snapshot(push_id=uuid4(), snapshot=snapshot, actor=eric, repo_id="us/may")
    assert "“Hub token”" in str(said.value.remedy)
    assert not Job.objects.filter(kind="push").exists()


def test_a_token_that_is_removed_before_the_push_begins_is_not_replaced_by_that_of_the_installation(
    snapshot: Snapshot, mara: User, eric: User, hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    job = push_snapshot(push_id=uuid4(), snapshot=snapshot, actor=eric, repo_id="us/may")
    remove_hub_token(project=snapshot.project, actor=mara)
    job = run_job(job_id=job.pk)
    assert (job.state, "“Hub token”" in job.remedy, hub.asked) == (JobState.FAILED, True, [])


def test_the_operator_can_share_the_token_of_the_installation(
    pushes: Pushes,
    snapshot: Snapshot,
    mara: User,
    hub: SmallHub,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    settings.HUB_TOKEN_SHARED = True
    remove_hub_token(project=snapshot.project, actor=mara)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert pushes().state == JobState.DONE
    assert Event.objects.get(kind="hub_token_used").data["token"] == "installation"
    monkeypatch.setenv("HF_TOKEN", "hf_wrong_secret")
    refused_push = pushes()
    assert (refused_push.state, "HF_TOKEN" in refused_push.remedy) == (JobState.FAILED, True)
    monkeypatch.delenv("HF_TOKEN")
    hub.asked.clear()
    without = pushes()
    assert (without.state, "HF_TOKEN" in without.remedy, hub.asked) == (JobState.FAILED, True, [])


def test_a_project_pushes_with_its_own_token_even_if_that_of_the_installation_is_shared(
    pushes: Pushes, hub: SmallHub, settings: Settings
) -> None:
    settings.HUB_TOKEN_SHARED = True  # HF_TOKEN is one that this Hub refuses
    job = pushes()
    assert job.state == JobState.DONE, job.error


def test_the_token_of_another_project_is_not_used(
    snapshot: Snapshot, mara: User, eric: User, hub: SmallHub
) -> None:
    remove_hub_token(project=snapshot.project, actor=mara)
    other = create_project(actor=mara, preset="diamante", slug="other", title="Other")
    set_hub_token(project=other, actor=mara, token=TOKEN)
    with refused("no_token"):
        push_snapshot(push_id=uuid4(), snapshot=snapshot, actor=eric, repo_id="us/may")
    copied = HubToken.objects.get(project=other).sealed
    HubToken.objects.create(project=snapshot.project, sealed=copied)
    with refused("token_unreadable"):
        token_for_push(snapshot.project)


def test_after_a_change_of_the_secret_key_the_token_is_set_again(
    pushes: Pushes, hub: SmallHub, snapshot: Snapshot, mara: User, settings: Settings
) -> None:
    settings.SECRET_KEY = "another one that is long enough for everybody who looks at it"
    job = pushes()
    assert (job.state, "SECRET_KEY" in job.error, "“Hub token”" in job.remedy) == (
        JobState.FAILED,
        True,
        True,
    )
    set_hub_token(project=snapshot.project, actor=mara, token=TOKEN)
    assert pushes().state == JobState.DONE


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
