"""Trainings that pages of other hosts show, and that another host takes over, where nobody shares a disk."""

import time

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from common.storage.shared_files import shared_files
from generation.models import Generator
from jobs.models import JobState
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import FACTS
from preference.data.storage import snapshots_root
from preference.runs import sharing
from preference.runs.files import CARD, CHECKPOINTS, CURVE, folder_of_run, read_run_json
from preference.runs.selectors import curve_of
from preference.runs.services.trainings import remove_run_files, resume_training
from preference.runs.sharing import PageFiles
from projects.models import Project
from tests.preference.conftest import refused
from tests.preference.fake_trainer import STEPS
from tests.preference.learning import carried_out, log_text, snapshot_of, training
from tests.preference.learning import fakes as fakes
from tests.preference.learning import local as local
from tests.preference.registry.test_models_in_object_store import Hosts
from tests.preference.registry.test_models_in_object_store import host as host
from tests.preference.registry.test_models_in_object_store import prefix as prefix

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
NOTE = (
    "The training started again from the beginning: its checkpoints are on the host where it ran before, not on this"
    " one."
)


def test_a_web_server_shows_the_training_of_another_host(
    host: Hosts, project: Project, eric: User, local: Generator, client: Client
) -> None:
    host("trains")
    run = carried_out(training(project, eric))
    assert run.job.state == JobState.DONE, run.job.error
    here = host("web")
    assert [point.step for point in curve_of(run).points] == list(range(1, STEPS + 1))
    assert read_run_json(run, CARD)["layout"]["name"] == "trees"
    client.force_login(eric)
    page = client.get(reverse("training_run", args=["chit-chat", run.pk]))
    assert "arguments: {" in page.content.decode()
    log = client.get(reverse("training_log", args=["chit-chat", run.pk]))
    assert b"".join(log) == log_text(run).encode()
    assert not here.exists()


def shared_snapshot(project: Project) -> Snapshot:
    snapshot = snapshot_of(project)
    (snapshots_root() / snapshot.path / FACTS).write_text('{"files": {}}')
    shared_files().publish(snapshots_root() / snapshot.path)
    return snapshot


def test_another_host_begins_a_training_again_and_says_so(
    host: Hosts, project: Project, eric: User, local: Generator, fakes: pytest.MonkeyPatch
) -> None:
    fakes.setenv("FAKE_TRAINER", "fails")
    host("first")
    run = carried_out(training(project, eric, shared_snapshot(project)))
    assert (run.job.state, run.latest["step"]) == (JobState.FAILED, 3)
    host("web")
    assert "arguments" in log_text(run)
    assert curve_of(run).points[-1].step == 3
    fakes.setenv("FAKE_TRAINER", "learns")
    host("second")
    run = carried_out(resume_training(run=run, actor=eric, enqueue=False))
    assert run.job.state == JobState.DONE, run.job.error
    host("web")
    assert run.message.splitlines()[0] == NOTE
    assert log_text(run).startswith(NOTE)
    assert [point.step for point in curve_of(run).points] == list(range(1, STEPS + 1))


def test_the_host_with_the_checkpoints_goes_on(
    host: Hosts, project: Project, eric: User, local: Generator, fakes: pytest.MonkeyPatch
) -> None:
    fakes.setenv("FAKE_TRAINER", "fails")
    host("first")
    run = carried_out(training(project, eric))
    (folder_of_run(run) / CHECKPOINTS).mkdir()
    (folder_of_run(run) / CHECKPOINTS / "step").write_text("3")
    fakes.setenv("FAKE_TRAINER", "learns")
    run = carried_out(resume_training(run=run, actor=eric, enqueue=False))
    assert (run.job.state, NOTE in run.message) == (JobState.DONE, False), run.job.error
    assert [point.step for point in curve_of(run).points] == list(range(1, STEPS + 1))


def test_pages_follow_a_running_training_some_seconds_behind(
    host: Hosts, project: Project, local: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    host("trains")
    run = training(project, None)
    folder = folder_of_run(run)
    folder.mkdir(parents=True)
    (folder / CURVE).write_text('{"step": 1, "steps": 8, "epoch": 1, "loss": 2, "lr": 0.1, "seconds": 1}\n')
    pages = PageFiles(folder)
    pages.send_sometimes()
    time.sleep(0.1)
    host("web")
    assert curve_of(run).points == ()
    host("trains")
    monkeypatch.setattr(sharing, "SEND_EVERY", 0)
    pages.send_sometimes()
    pages.send_last()
    host("web")
    assert [point.step for point in curve_of(run).points] == [1]


def test_the_files_of_a_failed_training_are_removed_from_any_host(
    host: Hosts,
    project: Project,
    eric: User,
    local: Generator,
    fakes: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: object,
) -> None:
    fakes.setenv("FAKE_TRAINER", "fails")
    host("trains")
    run = carried_out(training(project, eric))
    host("web")
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        remove_run_files(run=run, actor=eric)
    run.folder = f"{run.pk.hex[:12]}/chit-chat-{run.number}"
    with refused("file_gone"):
        log_text(run)
