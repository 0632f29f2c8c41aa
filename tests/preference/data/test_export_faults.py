"""Exports on a disk that is really full, and a worker that is really killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from jobs.folders import MARKER
from jobs.models import Job, JobState
from jobs.services import LOST_AFTER, retry_job, run_job, take_over_lost_jobs
from preference.data.models.exports import Export
from preference.data.selectors.exports import file_of
from preference.data.services.exports import start_export
from projects.models import Project
from tests.disks import disk_of, files_up_to, resize
from tests.preference.conftest import diamante_file

Imports = Callable[..., Job]
DISK = 128 * 1024  # bytes
RUN = "import django; django.setup(); from jobs.services import run_job; run_job(job_id={!r})"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(DISK, tmp_path / "disk") as folder:
        yield folder


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and path.name != MARKER]


def started(project: Project, eric: User) -> Export:
    return start_export(export_id=uuid4(), project=project, actor=eric, format="sft", include_unreviewed=True)


def test_an_export_to_a_full_disk_leaves_nothing_and_works_once_there_is_room(
    project: Project, eric: User, imports: Imports, small_disk: Path, settings: Settings
) -> None:
    imports(diamante_file(dialogues=400))
    settings.FILES_ROOT = small_disk
    export = started(project, eric)
    job = run_job(job_id=export.job_id)
    assert (job.state, job.error) == (
        JobState.FAILED,
        "The file could not be written: No space left on device.",
    )
    assert job.remedy == "Free some disk space, then start it again."
    assert files(small_disk) == []
    resize(small_disk, DISK * 100)
    retry_job(job=job, actor=eric)
    assert run_job(job_id=job.pk).state == JobState.DONE
    assert len(files(small_disk)) == 2


def test_a_disk_that_fills_with_the_last_byte_is_noticed(
    project: Project, eric: User, imports: Imports, files_root: Path
) -> None:
    imports(diamante_file(dialogues=100))
    whole = run_job(job_id=started(project, eric).job_id)
    shutil.rmtree(files_root / "exports")
    with files_up_to(whole.result["bytes"] - 1):
        job = run_job(job_id=started(project, eric).job_id)
    assert (job.state, files(files_root / "exports")) == (JobState.FAILED, [])
    assert "File too large" in job.error


def test_the_command_says_that_the_disk_is_full_and_leaves_nothing(
    project: Project, imports: Imports, small_disk: Path, tmp_path: Path
) -> None:
    from django.core.management import CommandError, call_command

    imports(diamante_file(dialogues=400))
    old = small_disk / "out.jsonl"
    old.write_text("what was there before")
    command = [
        "export_dataset",
        project.slug,
        "--format",
        "sft",
        "--include-unreviewed",
        "--output",
        str(old),
    ]
    with pytest.raises(CommandError, match=r"No space left on device\. Nothing was left behind") as ended:
        call_command(*command, skip_checks=True)
    assert ended.value.returncode == 1
    assert [(path, path.read_text()) for path in files(small_disk)] == [(old, "what was there before")]


def database_url() -> str:
    values = connection.settings_dict
    user = f"{quote(values['USER'])}:{quote(values['PASSWORD'])}"
    return f"postgres://{user}@{quote(values['HOST'], safe='')}:{values['PORT']}/{values['NAME']}"


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_an_export_whose_worker_is_killed_is_written_whole_by_the_next(
    project: Project, eric: User, imports: Imports, files_root: Path
) -> None:
    imports(diamante_file(dialogues=4000))
    export = started(project, eric)
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "FILES_ROOT": str(files_root),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", RUN.format(str(export.pk))], cwd=settings.BASE_DIR, env=environment
    )
    while child.poll() is None and not any(path.stat().st_size > 10_000 for path in files(files_root)):
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert Job.objects.get(pk=export.pk).state == JobState.RUNNING, "it was killed half-way"
    assert [path.suffix for path in files(files_root / "exports")] == [".part"]

    Job.objects.update(heartbeat_at=timezone.now() - 2 * LOST_AFTER)
    take_over_lost_jobs()
    assert run_job(job_id=export.job_id).state == JobState.DONE
    done = Export.objects.select_related("job").get()
    lines = file_of(done).read_text().split("\n")[:-1]
    assert (len(lines), json.loads(lines[-1])["turn"]) == (4000 * 3, 3)
    assert len(files(files_root / "exports")) == 2
