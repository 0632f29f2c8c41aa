"""An import whose process is killed, and two at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.utils import timezone

from dialogues.models import Dialogue, Utterance
from jobs.models import Job, JobState
from jobs.services import LOST_AFTER, run_job
from projects.models import Project
from tests.dialogues.conftest import Import, chats

ROWS = 6000


def database_url() -> str:
    values = connection.settings_dict
    user = f"{quote(values['USER'])}:{quote(values['PASSWORD'])}"
    return f"postgres://{user}@{quote(values['HOST'], safe='')}:{values['PORT']}/{values['NAME']}"


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_a_killed_import_is_taken_up_again_without_loss_or_duplicates(
    chitchat: Project, tmp_path: Path, files_root: Path
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("".join(chats(str(number), id=number) for number in range(ROWS)))
    command = [
        sys.executable,
        "manage.py",
        "import_dialogues",
        "chitchat",
        str(file),
        "--format",
        "messages",
        "--skip-checks",
    ]
    environment = os.environ | {"DATABASE_URL": database_url(), "FILES_ROOT": str(files_root)}
    child = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment)
    while child.poll() is None and not Dialogue.objects.exists():
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert 0 < Dialogue.objects.count() < ROWS

    Job.objects.update(state=JobState.QUEUED, heartbeat_at=timezone.now() - LOST_AFTER)  # as the reaper does
    job = run_job(job_id=Job.objects.get().pk)
    assert (job.state, job.result["stored"], job.result["already_there"]) == (JobState.DONE, ROWS, 0)
    assert Dialogue.objects.count() == Utterance.objects.count() == ROWS


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_the_same_dialogues_at_once_store_each_once(chitchat: Project, start: Import) -> None:
    rows = [chats(str(number), id=number) for number in range(1500)]
    jobs = [start("".join(rows)), start("".join(reversed(rows)))]

    def carry_out(job: Job) -> None:
        run_job(job_id=job.pk)
        connection.close()

    threads = [threading.Thread(target=carry_out, args=[job]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {job.state for job in Job.objects.all()} == {JobState.DONE}
    assert sum(job.result["stored"] for job in Job.objects.all()) == 1500
    assert Dialogue.objects.count() == 1500
    assert not Dialogue.objects.annotate(n=Count("utterances")).exclude(n=1).exists()
