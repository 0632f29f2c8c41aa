"""The pages of jobs: a list, one job, live progress, stop, start again."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from frontend.templatetags.jobs import TITLES, job_title
from jobs.models import Job, JobState, Worker
from jobs.services import record_heartbeat
from projects.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture
def erics_browser(client: Client, eric: User) -> Client:
    client.force_login(eric)
    return client


@pytest.fixture
def job(project: Project, eric: User) -> Job:
    return Job.objects.create(
        project=project,
        kind="import",
        parameters={"name": "chats.jsonl", "format": "messages"},
        state=JobState.RUNNING,
        created_by=eric,
        done=30,
        total=120,
        attempts=1,
        started_at=timezone.now(),
        heartbeat_at=timezone.now(),
    )


def page(job: Job, name: str = "job") -> str:
    return reverse(name, args=["chit-chat", job.pk])


def text_of(response: Any) -> str:
    html: str = response.content.decode()
    return html


def test_the_list_names_jobs_and_renews_those_that_run(erics_browser: Client, job: Job) -> None:
    html = text_of(erics_browser.get(reverse("jobs", args=["chit-chat"])))
    assert "Import of chats.jsonl" in html
    assert f'hx-get="{page(job)}?part=row"' in html
    assert "25&nbsp;%" in html


def test_a_running_job_is_asked_for_again_and_a_done_one_is_not(erics_browser: Client, job: Job) -> None:
    live = text_of(erics_browser.get(page(job), {"part": "live"}))
    assert 'hx-trigger="every 1s"' in live
    assert "<html" not in live
    Job.objects.update(state=JobState.DONE, done=120, result={"stored": 118, "sha256": "ab"})
    ended = text_of(erics_browser.get(page(job), {"part": "live"}))
    assert "hx-trigger" not in ended
    assert "118" in ended


def test_a_row_alone_is_what_the_list_asks_for(erics_browser: Client, job: Job) -> None:
    row = text_of(erics_browser.get(page(job), {"part": "row"}))
    assert row.strip().startswith("<article")
    assert "25&nbsp;%" in row


def test_a_waiting_job_says_when_no_worker_is_alive(erics_browser: Client, job: Job) -> None:
    Worker.objects.all().delete()
    Job.objects.update(state=JobState.QUEUED)
    assert "No worker is running" in text_of(erics_browser.get(page(job)))
    record_heartbeat(name="w", queues=["default"], details={})
    assert "No worker is running" not in text_of(erics_browser.get(page(job)))


def test_a_failure_is_shown_with_its_remedy_as_text(erics_browser: Client, job: Job) -> None:
    Job.objects.update(state=JobState.FAILED, error="Line 3: <b>", remedy="Mend it.")
    html = text_of(erics_browser.get(page(job)))
    assert "Line 3: &lt;b&gt;" in html
    assert "Mend it." in html
    assert "Start again" in html


def test_stopping_and_starting_again(erics_browser: Client, job: Job) -> None:
    assert "Stop" in text_of(erics_browser.get(page(job)))
    html = text_of(erics_browser.post(page(job, "job_cancel"), follow=True))
    assert "The job stops at the next point" in html
    assert "Stopping" in html
    Job.objects.update(state=JobState.CANCELLED)
    erics_browser.post(page(job, "job_retry"))
    job.refresh_from_db()
    assert (job.state, job.cancel_requested_at) == (JobState.QUEUED, None)


def test_a_job_is_only_found_in_its_own_project(erics_browser: Client, eric: User, job: Job) -> None:
    assert erics_browser.get(reverse("job", args=["elsewhere", job.pk])).status_code == 404
    assert erics_browser.post(reverse("job_cancel", args=["elsewhere", job.pk])).status_code == 404


def test_annotators_stop_nothing(client: Client, job: Job, ann: User) -> None:
    client.force_login(ann)
    assert client.get(page(job)).status_code == 404
    assert client.post(page(job, "job_cancel")).status_code == 404
    job.refresh_from_db()
    assert job.cancel_requested_at is None


def test_the_list_comes_in_pages_and_by_state(
    erics_browser: Client, project: Project, job: Job, django_assert_max_num_queries: Any
) -> None:
    Job.objects.bulk_create(Job(project=project, kind="export", state=JobState.DONE) for _n in range(120))
    with django_assert_max_num_queries(12):
        html = text_of(erics_browser.get(reverse("jobs", args=["chit-chat"])))
    assert html.count("<article") == 50
    assert "1–50 of 121" in html
    only = text_of(erics_browser.get(reverse("jobs", args=["chit-chat"]), {"state": "running"}))
    assert only.count("<article") == 1
    none = text_of(erics_browser.get(reverse("jobs", args=["chit-chat"]), {"state": "failed"}))
    assert "No job is in this state" in none


def test_an_unexpected_error_stands_in_small_print_and_not_among_the_facts(
    erics_browser: Client, job: Job
) -> None:
    Job.objects.update(state=JobState.FAILED, error="Something broke.", result={"exception": "KeyError: 1"})
    assert text_of(erics_browser.get(page(job))).count("KeyError: 1") == 1


def test_the_facts_of_an_import_repeat_no_number(erics_browser: Client, job: Job) -> None:
    Job.objects.update(state=JobState.DONE, result={"dialogues": 8, "stored": 8, "already_there": 0})
    facts = text_of(erics_browser.get(page(job)))
    assert facts.count('<dd dir="auto">8</dd>') == 1
    assert "Dialogues stored" in facts
    assert "Already there" in facts
    assert "Is refused" not in facts


@pytest.mark.parametrize("kind", TITLES)
def test_a_job_without_parameters_has_a_title(kind: str) -> None:
    title = job_title(Job(kind=kind))
    assert title == title.strip()
    assert not {"“”", "  "} & {title[place : place + 2] for place in range(len(title))}
