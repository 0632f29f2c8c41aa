"""A worker whose disk is not that of the web server: its jobs and the doctor say so."""

import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from accounts.models import Scope, User
from accounts.services import create_token
from jobs.models import Job, JobState
from jobs.selectors import live_workers
from projects.models import Project
from tests.processes import ROOT, Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
ROW = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}


def send_file(stack: Stack, project: Project, token: str) -> Job:
    job_id = uuid4()
    address = f"{stack.url}/api/v1/projects/{project.slug}/imports/?id={job_id}&format=messages&on_error=stop"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    sent = httpx.post(address, content=json.dumps(ROW) + "\n", headers=headers, timeout=60, trust_env=False)
    assert sent.status_code == 202, sent.text
    return Job.objects.get(pk=job_id)


def run_doctor(stack: Stack) -> list[dict[str, str]]:
    command = [sys.executable, "manage.py", "doctor", "--json", "--quick"]
    run = subprocess.run(command, cwd=ROOT, env=stack.env(), capture_output=True, text=True, check=False)
    findings: list[dict[str, str]] = json.loads(run.stdout)
    return [finding for finding in findings if finding["what"].startswith(("The worker", "Workers"))]


def test_a_worker_with_another_disk_is_named_by_its_jobs_and_by_the_doctor(
    stack: Stack, project: Project, eric: User, tmp_path: Path
) -> None:
    token = create_token(user=eric, name="test", scopes=list(Scope))[1]
    stack.web()
    worker = stack.worker("default", FILES_ROOT=str(tmp_path / "another disk"))
    wait_until(lambda: live_workers("default").exists(), 60, "the worker")
    job = send_file(stack, project, token)
    wait_until(lambda: has_ended(job), 60, "the job")
    assert job.state == JobState.FAILED
    assert job.error.startswith("This worker does not see the files that the web server writes")
    assert str(tmp_path / "another disk") in job.error
    assert "the same volume" in job.remedy
    (finding,) = run_doctor(stack)[:1]
    assert finding["state"] == "problem"
    assert "does not read the folder" in finding["what"]
    assert finding["remedy"] == "Give the web server and all workers the same volume."

    worker.stop()
    live_workers().delete()
    stack.worker("default", "shared")
    wait_until(lambda: live_workers("default").exists(), 60, "the worker")
    assert [finding["what"] for finding in run_doctor(stack)] == [
        "Workers read the same folders and run the same release."
    ]


def has_ended(job: Job) -> bool:
    job.refresh_from_db()
    return job.state not in (JobState.QUEUED, JobState.RUNNING)
