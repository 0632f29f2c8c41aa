"""Trained models that one host registers and another serves, where nobody shares a disk."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from django.test import Client
from django.utils import translation
from pytest_django import Settings

from accounts.models import User
from common.storage import object_store
from common.storage.shared_files import shared_models
from config.storage_url import parse_storage_url, shared_storage
from generation.loaded import arguments_on_this_host
from generation.models import Generator
from generation.protocol import BackendError
from generation.selectors import translate_sentences
from jobs.models import JobState
from jobs.services import record_heartbeat, retry_job, run_job
from preference.deletion.project_deletion import _remove_files
from preference.registry import copies
from preference.registry.copies import share
from preference.registry.files import check_files, folder_of_model, model_file
from preference.registry.hashing import files_in, sha256_of
from preference.registry.incoming import INCOMING
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.services import promotion
from preference.registry.services.promotion import promote_model
from preference.registry.services.trained_models import remove_model
from preference.runs import sharing
from preference.runs.files import folder_of_run
from preference.runs.memory import memory_of_training
from projects.models import Project
from tests.object_store import BUCKET, KEY, SECRET, ObjectServer, use_object_store
from tests.preference.conftest import refused
from tests.preference.elsewhere import come_home, registration, trained_folder
from tests.preference.learning import carried_out, generator_of, training
from tests.preference.learning import fakes as fakes
from tests.preference.learning import local as local

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
Hosts = Callable[..., Path]
NOWHERE = "s3://key:secret@bucket/?endpoint=http://127.0.0.1:9"


@pytest.fixture
def prefix() -> str:
    return uuid4().hex


@pytest.fixture
def host(
    settings: Settings,
    object_server: ObjectServer,
    prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Hosts:
    """host("a") goes on as a process of this host, whose models it returns. away: the store does not answer."""
    session = boto3.Session(aws_access_key_id=KEY, aws_secret_access_key=SECRET)
    monkeypatch.setattr(boto3, "Session", lambda **_keys: session)  # each reads megabytes of JSON
    once = object_store.CLIENT.merge(Config(retries={"mode": "standard", "max_attempts": 1}))
    monkeypatch.setattr(object_store, "CLIENT", once)

    def go(name: str, *, away: bool = False) -> Path:
        use_object_store(settings, object_server.url(prefix), tmp_path / name)
        if away:
            nowhere = shared_storage(parse_storage_url(NOWHERE), settings.MODELS_ROOT, "models")
            settings.STORAGES = {**settings.STORAGES, "models": nowhere}
        return tmp_path / name / "models"

    return go


@pytest.fixture
def model(host: Hosts, project: Project, tmp_path: Path) -> RegisteredModel:
    """Registered on the host a."""
    host("a")
    return come_home(project, trained_folder(tmp_path / "elsewhere"))


@pytest.fixture
def objects(object_server: ObjectServer, prefix: str) -> Callable[[RegisteredModel, str], dict[str, Any]]:
    """objects(model, "config.json"): the arguments of boto3 that name the object."""

    def objects(model: RegisteredModel, name: str) -> dict[str, Any]:
        return {"Bucket": BUCKET, "Key": f"{prefix}/models/{model.folder}/{name}"}

    return objects


def test_a_model_is_fetched_once_by_the_host_that_serves_it(host: Hosts, model: RegisteredModel) -> None:
    there = host("b")
    check_files(model)
    assert not there.exists()
    folder = folder_of_model(model)
    assert folder == there / model.folder
    assert (files_in(folder), sha256_of(folder)) == (model.files, model.sha256)
    host("b", away=True)  # asks the store nothing
    assert folder_of_model(model) == folder
    assert arguments_on_this_host(generator_of(model))[1]["model"] == str(folder)
    check_files(model)
    with refused("storage_away"):
        host("c", away=True)
        folder_of_model(model)


def test_a_copy_of_another_training_is_replaced(host: Hosts, model: RegisteredModel) -> None:
    """Same sizes, other weights: of a run that ended here, and was then carried out by another host."""
    there = host("b") / model.folder
    for name, size in model.files.items():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(b"x" * size)
    assert sha256_of(folder_of_model(model)) == model.sha256


def test_what_was_registered_before_the_store_was_in_use_is_compared_once(
    host: Hosts, model: RegisteredModel
) -> None:
    folder = folder_of_model(model)
    mark = folder.with_name(".model.sha256")
    mark.unlink()
    host("a", away=True)
    assert folder_of_model(model) == folder
    assert mark.read_text() == model.sha256


def test_a_model_that_was_changed_in_the_bucket_is_refused(
    host: Hosts, model: RegisteredModel, object_server: ObjectServer, objects: Callable[..., dict[str, Any]]
) -> None:
    weights, extra = objects(model, "model.safetensors"), objects(model, "pytorch_model.bin")
    content = object_server.client().get_object(**weights)["Body"].read()
    object_server.client().put_object(**weights, Body=b"!" + content[1:])
    there = host("b")
    check_files(model)  # the web server only looks at sizes
    with refused("damaged") as why:
        folder_of_model(model)
    assert model.folder in str(why.value.message)
    assert files_in(there / model.folder) == {}
    with pytest.raises(BackendError, match="changed or damaged in the object store") as error:
        arguments_on_this_host(generator_of(model))
    with translation.override("zh-hans"):
        shown = translate_sentences(str(error.value))
    assert "SHA-256" in shown
    assert "damaged" not in shown
    object_server.client().put_object(**weights, Body=content)
    object_server.client().put_object(**extra, Body=b"more weights")
    with refused("damaged"):
        folder_of_model(model)
    object_server.client().delete_object(**extra)
    assert sha256_of(folder_of_model(model)) == model.sha256


def test_files_that_are_missing_in_the_bucket_are_gone(
    host: Hosts, model: RegisteredModel, object_server: ObjectServer, objects: Callable[..., dict[str, Any]]
) -> None:
    object_server.client().delete_object(**objects(model, "config.json"))
    host("b")
    for look in (check_files, folder_of_model):
        with refused("files_gone") as why:
            look(model)
        assert why.value.details == {"files": ["config.json"]}
    host("a")
    check_files(model)  # this host still has them


def test_a_file_is_downloaded_from_a_web_server_without_a_copy(
    host: Hosts, model: RegisteredModel, client: Client, eric: User
) -> None:
    there = host("web")
    client.force_login(eric)
    for address in (
        "/p/chit-chat/models/{}/files/model.safetensors",
        "/api/v1/models/{}/files/model.safetensors/",
    ):
        response = client.get(address.format(model.slug), headers={"Range": "bytes=2-"})
        assert b"".join(response) == (b"run7b" * 1000)[2:]
        assert (response.status_code, response["Content-Length"]) == (206, "4998")
    assert not there.exists()
    with refused("not_found"):
        model_file(model, "../other")


def test_another_host_removes_its_copy_of_a_removed_model_when_it_fetches_the_next(
    host: Hosts,
    model: RegisteredModel,
    project: Project,
    tmp_path: Path,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    other = come_home(project, trained_folder(tmp_path / "elsewhere", "other"))
    third = come_home(project, trained_folder(tmp_path / "elsewhere", "third"))
    there = host("b")
    for each in (model, other):
        folder_of_model(each)
    host("web")
    with django_capture_on_commit_callbacks(execute=True):
        remove_model(model=model, actor=None)
    _remove_files(other)
    other.delete()
    left = {stored.path.parent for stored in shared_models().stored_in(shared_models().root)}
    assert left - {shared_models().root} == {shared_models().root / third.folder}
    kept = there / uuid4().hex[:12] / "run/checkpoints"  # no copy, though no row names it
    kept.mkdir(parents=True)
    host("b")
    folder_of_model(third)
    assert {path.name for path in there.glob("[!.]*")} == {kept.parts[-3], third.folder.split("/")[0]}


def test_a_store_that_is_away_costs_no_training(
    host: Hosts, project: Project, eric: User, local: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "AGAIN_AFTER", (0.1,))
    host("a")
    waiting = training(project, eric)
    host("a", away=True)
    run = carried_out(waiting)
    assert (run.job.state, run.job.error) == (JobState.FAILED, "The object store does not answer.")
    assert not RegisteredModel.objects.exists()
    host("a")
    sent = folder_of_run(run) / "model/config.json"
    before = sent.stat().st_mtime_ns
    retry_job(job=run.job, actor=eric, enqueue=False)
    run = carried_out(run)
    assert run.job.state == JobState.DONE, run.job.error
    assert sent.stat().st_mtime_ns == before
    host("b")
    assert sha256_of(folder_of_model(run.model)) == run.model.sha256
    assert memory_refusal(project, run.model) == "not_plannable"


def memory_refusal(project: Project, model: RegisteredModel) -> str:
    """What the form says of a model whose config.json is "{}", as that of the fake trainer."""
    with refused("not_plannable") as why:
        memory_of_training(project=project, actor=None, model=model.slug)
    return why.value.code


def test_the_worker_that_cannot_fetch_a_model_says_why_it_is_not_promoted(
    model: RegisteredModel, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def preload(generator: int) -> None:
        failure = {
            "id": uuid4().hex,
            "cause": "The object store does not answer.",
            "remedy": "Try again later.",
        }
        record_heartbeat(name="w", queues=["gpu"], details={"failures": {generator_of(model).slug: failure}})

    preload(0)  # of an earlier time
    monkeypatch.setattr(promotion, "preload_generator", preload)
    with refused("cannot_load") as why:
        promote_model(
            promotion_id=uuid4(), model=model, project=project, actor=None, expected_current="scripted"
        )
    assert str(why.value).startswith(
        f"The model “{model.slug}” cannot be used: The object store does not answer."
    )
    assert not Promotion.objects.exists()


def test_a_folder_that_an_operator_copied_into_the_bucket_is_registered(
    host: Hosts, project: Project, eric: User
) -> None:
    there = host("operator")
    shared_models().publish(trained_folder(there / INCOMING))
    host("web")
    job = registration(project, "run7b", eric)
    with refused("invalid"):
        registration(project, "run8b", eric)
    host("trains")
    assert run_job(job_id=job.pk).state == JobState.DONE
    assert files_in(folder_of_model(RegisteredModel.objects.get())) == files_in(
        there / INCOMING / "run7b/model"
    )


def test_another_model_under_the_same_name_is_registered_with_its_own_files(
    host: Hosts, project: Project, eric: User
) -> None:
    operator, name = host("operator") / INCOMING, "run7b"
    folder = trained_folder(operator, name)
    shared_models().publish(folder)
    here = host("trains")
    assert run_job(job_id=registration(project, name, eric).pk).state == JobState.DONE
    assert not (here / INCOMING).exists()

    host("operator")
    (folder / "model/model.safetensors").write_bytes(b"other" * 1000)  # of the same size
    shared_models().publish(folder)
    host("trains")
    job = run_job(job_id=registration(project, name, eric).pk)
    assert job.state == JobState.DONE, job.error
    first, second = RegisteredModel.objects.order_by("created_at")
    assert first.sha256 != second.sha256
    assert second.sha256 == sha256_of(operator / name / "model")


def test_a_disk_without_room_gets_rid_of_copies_that_nobody_uses(
    host: Hosts, project: Project, model: RegisteredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = come_home(project, trained_folder(tmp_path / "elsewhere", "other"))
    there = host("b")
    old = folder_of_model(model)
    for file in old.iterdir():
        os.utime(file, (1, 1))
    monkeypatch.setattr(copies, "has_space", lambda _size: False)  # the space itself is checked afterwards
    assert folder_of_model(other).is_relative_to(there)
    assert not old.exists()


def test_a_registration_that_the_store_refuses_leaves_nothing_here(
    host: Hosts, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = host("a", away=True)
    job = run_job(job_id=registration(project, trained_folder(tmp_path / "elsewhere")).pk)
    assert (job.state, job.error) == (JobState.FAILED, "The object store does not answer.")
    assert files_in(here) == {}


def test_one_disk_gets_no_mark(project: Project, tmp_path: Path, settings: Settings) -> None:
    model = come_home(project, trained_folder(tmp_path / "elsewhere"))
    folder = folder_of_model(model)
    share(folder, model.sha256)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
