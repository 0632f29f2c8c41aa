"""What `clean` deletes on either side of each age, and what it never touches."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from annotation.tasks.models.work import Assignment
from dialogues.models import CandidateSet, Dialogue
from generation.models import CandidateRequest, RequestState
from jobs.models import Job, JobState
from operations.checks import check_retention
from operations.retention.ages import DEFAULTS, chosen_ages
from operations.retention.kinds import KINDS, Amount
from operations.retention.services import clean
from operations.tasks import clean_daily
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.registry.models import RegisteredModel
from preference.runs.files import CHECKPOINTS, folder_of_run
from preference.runs.models import TrainingRun
from projects.models import DeliveryState, Event, Project, Webhook, WebhookDelivery
from projects.transitions import record_request
from projects.webhooks.services import create_webhook, remove_webhook
from tests.config.test_production import start
from tests.preference.learning import snapshot_of, trained_model, training

pytestmark = pytest.mark.django_db
MARGIN = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def folders(settings: Settings, tmp_path: Path) -> None:
    settings.FILES_ROOT = tmp_path / "files"
    settings.MODELS_ROOT = tmp_path / "files" / "models"


def either_side(kind: str) -> Iterator[tuple[datetime, bool]]:
    """(time, whether it is old enough): a minute before and a minute after the default age of a kind."""
    limit = timezone.now() - timedelta(days=DEFAULTS[kind])
    yield limit - MARGIN, True
    yield limit + MARGIN, False


def cleaned(kind: str, *, dry_run: bool = False) -> Amount:
    ((name, amount),) = clean(chosen_ages({}), only=[kind], dry_run=dry_run)
    assert name == kind
    return amount


def write(path: Path, at: datetime, text: str = "rows") -> Path:
    """Write a file that was last changed then, in a folder that was too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at.timestamp(), at.timestamp()))
    os.utime(path.parent, (at.timestamp(), at.timestamp()))
    return path


def ended_job(kind: str, state: JobState, at: datetime, project: Project | None = None) -> Job:
    return Job.objects.create(id=uuid4(), kind=kind, state=state, ended_at=at, project=project)


def test_every_kind_has_an_age() -> None:
    assert set(KINDS) == set(DEFAULTS)


def test_expired_sessions(ann: User) -> None:
    kept = set()
    for number, (at, _old) in enumerate(either_side("sessions")):
        Session.objects.create(session_key=f"key{number}", session_data="", expire_date=at)
        UserSession.objects.create(user=ann, session_key=f"key{number}", ip="::1", user_agent="test")
        kept.add(f"key{number}")
    UserSession.objects.update(created_at=timezone.now() - timedelta(days=15))
    assert cleaned("sessions", dry_run=True) == Amount(1)
    assert cleaned("sessions") == Amount(1)
    assert list(Session.objects.values_list("session_key", flat=True)) == ["key1"]
    assert list(UserSession.objects.values_list("session_key", flat=True)) == ["key1"]


def test_abandoned_uploads(settings: Settings) -> None:
    paths = {}
    for at, old in either_side("uploads"):
        failed = ended_job("import", JobState.FAILED, at)
        paths[write(settings.FILES_ROOT / "imports" / str(failed.pk), at)] = old
        paths[write(settings.FILES_ROOT / "imports" / f"{uuid4()}.{uuid4().hex}.part", at)] = old
    waiting = Job.objects.create(id=uuid4(), kind="import", state=JobState.QUEUED)
    paths[write(settings.FILES_ROOT / "imports" / str(waiting.pk), timezone.now() - timedelta(days=99))] = (
        False
    )
    assert cleaned("uploads", dry_run=True) == Amount(2, 8)
    assert all(path.exists() for path in paths)
    assert cleaned("uploads") == Amount(2, 8)
    assert {path: not path.exists() for path in paths} == paths


def finished_export(project: Project, at: datetime, settings: Settings) -> Export:
    job = ended_job("export", JobState.DONE, at, project)
    write(settings.FILES_ROOT / "exports" / str(job.pk) / "rows.jsonl", at)
    path = f"{job.pk}/rows.jsonl"
    return Export.objects.create(
        id=job.pk, job=job, project=project, format="sft", path=path, bytes=4, manifest={"rows": 1}
    )


def test_old_exports_lose_their_file_and_keep_their_manifest(project: Project, settings: Settings) -> None:
    (old, new) = (finished_export(project, at, settings) for at, _old in either_side("exports"))
    assert cleaned("exports", dry_run=True) == Amount(1, 4)
    assert cleaned("exports") == Amount(1, 4)
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.path, old.manifest, bool(new.path)) == ("", {"rows": 1}, True)
    assert [path.name for path in (settings.FILES_ROOT / "exports").iterdir()] == [str(new.pk)]
    assert Event.objects.filter(kind="file_removed", subject_id=str(old.pk), actor=None).exists()
    assert cleaned("exports") == Amount()


def request(dialogue: Dialogue, number: int, **fields: object) -> CandidateRequest:
    """A cancelled request ahead of time, made for a draft that was then changed."""
    cancelled = {"state": RequestState.CANCELLED, "context_hash": f"c{number}", "seed": 1, "position": 1}
    return CandidateRequest.objects.create(dialogue=dialogue, **{**cancelled, **fields})


def test_requests_that_nobody_waited_for(anns_assignment: Assignment) -> None:
    dialogue = anns_assignment.dialogue
    ((old_at, _), (new_at, _)) = either_side("requests")
    request(dialogue, 1, ended_at=old_at)
    candidates = CandidateSet.objects.create(dialogue=dialogue, position=1, candidates=[])
    kept = [
        request(dialogue, 2, ended_at=new_at),
        request(dialogue, 3, ended_at=old_at, wanted_at=old_at),
        request(dialogue, 4, ended_at=old_at, candidate_set=candidates),
        request(dialogue, 5, ended_at=old_at, state=RequestState.DONE),
    ]
    others = set(CandidateRequest.objects.filter(seed__gt=1).values_list("pk", flat=True))
    assert cleaned("requests", dry_run=True) == Amount(1)
    assert cleaned("requests") == Amount(1)
    left = set(CandidateRequest.objects.values_list("pk", flat=True))
    assert left == {row.pk for row in kept} | others


@pytest.mark.parametrize("folder", ["evaluations", "scoring", "meta-evaluations"])
def test_working_folders_of_failed_jobs(folder: str, settings: Settings) -> None:
    paths = {}
    for at, old in either_side("scratch"):
        failed = ended_job("scoring", JobState.FAILED, at)
        paths[write(settings.MODELS_ROOT / folder / str(failed.pk) / "scores.jsonl", at)] = old
    running = Job.objects.create(id=uuid4(), kind="scoring", state=JobState.RUNNING)
    paths[
        write(
            settings.MODELS_ROOT / folder / str(running.pk) / "scores.jsonl", timezone.now() - timedelta(99)
        )
    ] = False
    assert cleaned("scratch") == Amount(1, 4)
    assert {path: not path.exists() for path in paths} == paths


def stopped_training(project: Project, snapshot: Snapshot, state: JobState, at: datetime) -> TrainingRun:
    run = training(project, None, snapshot, model="/models/base")
    Job.objects.filter(pk=run.job_id).update(state=state, ended_at=at)
    write(folder_of_run(run) / CHECKPOINTS / "checkpoint-8" / "weights.safetensors", at)
    write(folder_of_run(run) / "train.log", at)
    return run


def test_checkpoints_of_stopped_trainings(project: Project) -> None:
    snapshot, runs = snapshot_of(project), {}
    for at, old in either_side("checkpoints"):
        for state in (JobState.FAILED, JobState.CANCELLED):
            runs[stopped_training(project, snapshot, state, at)] = old
    resumed = stopped_training(project, snapshot, JobState.QUEUED, timezone.now() - timedelta(days=99))
    assert cleaned("checkpoints", dry_run=True) == Amount(2, 8)
    assert cleaned("checkpoints") == Amount(2, 8)
    for run, old in {**runs, resumed: False}.items():
        assert (folder_of_run(run) / CHECKPOINTS).exists() is not old
        assert {path.name for path in folder_of_run(run).iterdir()} >= {"train.log"}


def test_folders_without_a_row(project: Project, settings: Settings) -> None:
    paths, exports, snapshots = {}, settings.FILES_ROOT / "exports", settings.FILES_ROOT / "snapshots"
    for at, old in either_side("leftovers"):
        paths[write(exports / str(uuid4()) / "rows.jsonl", at)] = old
        paths[write(snapshots / f".{uuid4()}.{uuid4().hex}" / "dialogues.jsonl", at)] = old
    long_ago = timezone.now() - timedelta(days=999)
    paths[write(snapshots / str(uuid4()) / "dialogues.jsonl", long_ago)] = False  # of a deleted project
    kept = finished_export(project, long_ago, settings)
    paths[exports / kept.path] = False
    assert cleaned("leftovers", dry_run=True) == Amount(2, 8)
    assert cleaned("leftovers") == Amount(2, 8)
    assert {path: not path.exists() for path in paths} == paths


def test_data_stays(project: Project, planned: Project, settings: Settings) -> None:
    """However old, with every age at 0."""
    model = trained_model(project, None, snapshot_of(project), model="/models/base")
    long_ago = timezone.now() - timedelta(days=999)
    Job.objects.update(ended_at=long_ago, created_at=long_ago)
    for path in settings.FILES_ROOT.rglob("*"):
        os.utime(path, (long_ago.timestamp(), long_ago.timestamp()))
    before = [path for path in settings.FILES_ROOT.rglob("*") if path.is_file()]
    kept = (Snapshot, RegisteredModel, TrainingRun, Event, Dialogue, Job, CandidateSet)
    rows = {table: table.objects.count() for table in kept}
    list(clean(dict.fromkeys(DEFAULTS, 0), dry_run=False))
    assert [path for path in settings.FILES_ROOT.rglob("*") if path.is_file()] == before
    assert {table: table.objects.count() for table in kept} == rows
    assert model.folder


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("clean", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_counts_first_and_deletes_when_asked(project: Project, settings: Settings) -> None:
    export = finished_export(project, timezone.now() - timedelta(days=40), settings)
    assert "Would delete 0 leftovers" in run("--dry-run")
    assert "Would delete 1 leftovers, 4 B on disk." in run("--dry-run", "--keep", "exports=30")
    assert (settings.FILES_ROOT / "exports" / export.path).exists()
    assert "exports" not in run("--keep", "exports=never")
    assert "Deleted 1 leftovers, 4 B on disk." in run("--keep", "exports=30", "--only", "exports")
    assert not (settings.FILES_ROOT / "exports" / export.path).exists()


def test_ages_come_from_the_environment_and_options_win(settings: Settings) -> None:
    settings.RETENTION = {"exports": "30", "checkpoints": "never"}
    ages = chosen_ages({"exports": "7"})
    assert (ages["exports"], ages["checkpoints"], ages["uploads"]) == (7, None, 14)
    assert check_retention() == []


@pytest.mark.parametrize(
    "wrong", ["labels=3", "exports=-1", "exports=soon", "exports=", "exports", "exports=²"]
)
def test_ages_that_are_not_understood_are_refused(wrong: str, settings: Settings) -> None:
    with pytest.raises(CommandError, match=r"is not understood|is not a kind of leftover"):
        run("--keep", wrong)
    if "=" in wrong:
        settings.RETENTION = dict([wrong.split("=")])
        (error,) = check_retention()
        assert error.id == "operations.E002"


def test_the_daily_task_deletes(project: Project, settings: Settings) -> None:
    export = finished_export(project, timezone.now() - timedelta(days=99), settings)
    clean_daily()
    export.refresh_from_db()
    assert export.path == ""


def test_it_runs_daily_where_it_is_switched_on() -> None:
    code = (
        "from django.conf import settings; print(settings.CELERY_BEAT_SCHEDULE.get('clean', {}).get('task'))"
    )
    assert [start(changes, ["-c", code]).stdout.strip() for changes in ({}, {"RETENTION_DAILY": "1"})] == [
        "None",
        "operations.tasks.clean_daily",
    ]


def test_deliveries_of_webhooks_that_ended(project: Project, mara: User) -> None:
    about: dict[str, Any] = {"project": project, "actor": mara, "events": ["job.ended"]}
    hook, gone = (
        create_webhook(webhook_id=uuid4(), url="https://hooks.example.org/", **about)[0] for _ in range(2)
    )
    details: Any = {"kind": "state", "project": project, "before": "running", "after": "done"}
    for _ in range(3):
        record_request("jobs.job", uuid4(), **details)
    remove_webhook(webhook=gone, actor=mara)
    (old_at, _), (new_at, _) = either_side("deliveries")
    old, new, waiting = WebhookDelivery.objects.filter(webhook=hook).order_by("pk")
    ended = {"state": DeliveryState.DELIVERED}
    WebhookDelivery.objects.filter(pk=old.pk).update(ended_at=old_at, **ended)
    WebhookDelivery.objects.filter(pk=new.pk).update(ended_at=new_at, **ended)
    assert cleaned("deliveries", dry_run=True) == cleaned("deliveries") == Amount(1)
    assert list(WebhookDelivery.objects.order_by("pk")) == [new, waiting]
    assert Event.objects.filter(subject_type="jobs.job").count() == 3
    Webhook.objects.filter(pk=gone.pk).update(removed_at=old_at)
    assert cleaned("deliveries") == Amount(1)
    assert list(Webhook.objects.all()) == [hook]
