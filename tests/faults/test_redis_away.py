"""Redis is stopped while people work: they stay signed in and go on, and what waited is done when it is back."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from django.test import Client

from accounts.models import User
from benchmarks.labelling import ANSWERS, create_project_with_people, fill
from frontend.urls import urlpatterns
from generation.models import CandidateRequest, RequestState
from jobs.models import Job, JobState
from jobs.selectors import live_workers
from projects.models import Project
from tests.processes import Stack, wait_until
from tests.redis_server import RedisServer, redis_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def site(transactional_db: None, tmp_path: Path, own_redis: RedisServer) -> Iterator[Stack]:
    with Stack.on_this_database(tmp_path, REDIS_URL=own_redis.url, GENERATION_WARM_UP="0") as stack:
        stack.web(workers=2)
        yield stack


@contextmanager
def browser(site: Stack, person: User) -> Iterator[httpx.Client]:
    """A browser in which the person is signed in, with the token that forms and scripts send."""
    signed_in = Client()
    signed_in.force_login(person, "allauth.account.auth_backends.AuthenticationBackend")
    cookies = {"sessionid": signed_in.cookies["sessionid"].value}
    with httpx.Client(base_url=site.url, cookies=cookies, timeout=30, trust_env=False) as client:
        client.get("/account/").raise_for_status()
        client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": site.url})
        yield client


def start_workers(site: Stack) -> None:
    site.worker("default", "default", "--beat", "--schedule", str(site.folder / "beat"))
    site.worker("gpu")
    wait_until(lambda: live_workers("default").exists() and live_workers("gpu").exists(), 60, "the workers")


def test_what_waits_says_so_and_is_done_when_redis_is_back(
    site: Stack, own_redis: RedisServer, planned: Project, ann: User, eric: User
) -> None:
    start_workers(site)
    with browser(site, ann) as anns, browser(site, eric) as erics:
        own_redis.stop()
        request = ann_writes_on(anns, planned)
        job = eric_exports(erics, planned)
        own_redis.start()
        wait_until(lambda: _state(request) == RequestState.DONE, 60, "the candidates")
        assert anns.get(f"/api/v1/candidate-requests/{request.pk}/").json()["queue_reachable"]
        wait_until(lambda: _state(job) == JobState.DONE, 90, "the export")


def ann_writes_on(anns: httpx.Client, project: Project) -> CandidateRequest:
    """Ann claims a dialogue and sends a turn, which is stored; its request for candidates waits for the queue."""
    assert anns.get("/").status_code == 200
    claimed = anns.post(f"/api/v1/projects/{project.slug}/assignments/", json={"claim_id": str(uuid4())})
    assert claimed.status_code == 201, claimed.text
    turn = {"id": str(uuid4()), "position": 0, "text": "My cat sheds everywhere."}
    stored = anns.post(f"/api/v1/assignments/{claimed.json()['id']}/turns/", json=turn)
    assert stored.status_code == 201, stored.text
    waiting = stored.json()["request"]
    assert (waiting["state"], waiting["queue_reachable"]) == ("queued", False)
    return CandidateRequest.objects.get(pk=waiting["id"])


def eric_exports(erics: httpx.Client, project: Project) -> Job:
    """Eric's export is kept; its page and the API say that it waits for the queue."""
    wanted = {"id": str(uuid4()), "format": "diamante"}
    started = erics.post(f"/api/v1/projects/{project.slug}/exports/", json=wanted)
    assert started.status_code == 202, started.text
    assert erics.get(f"/api/v1/jobs/{wanted['id']}/").json()["waits_for"] == "queue"
    page = erics.get(f"/p/{project.slug}/jobs/{wanted['id']}/")
    assert "The queue (Redis) cannot be reached. The job is kept" in page.text
    job = Job.objects.get(pk=wanted["id"])
    assert job.state == JobState.QUEUED
    return job


def _state(row: CandidateRequest | Job) -> str:
    row.refresh_from_db()
    return row.state


def test_people_label_without_redis(site: Stack, own_redis: RedisServer) -> None:
    (token,) = create_project_with_people(1)
    fill(10)
    own_redis.stop()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=site.url, headers=headers, timeout=30, trust_env=False) as client:
        claimed = client.post("/api/v1/projects/bench/labelling/claim/", json={"claim_id": str(uuid4())})
        assert claimed.status_code == 201, claimed.text
        sent = {"id": str(uuid4()), "schema": 1, "answers": ANSWERS, "next_claim": str(uuid4())}
        stored = client.post(f"/api/v1/labelling/{claimed.json()['id']}/submissions/", json=sent)
        assert stored.status_code == 201, stored.text


def test_failed_logins_stay_limited_and_a_session_that_ended_stays_ended(
    site: Stack, own_redis: RedisServer, ann: User
) -> None:
    own_redis.stop()
    with browser(site, ann) as anns:
        session = anns.cookies["sessionid"]
        left = anns.post("/accounts/logout/")
        assert left.status_code in (200, 302), left.text
    own_redis.start()
    with httpx.Client(
        base_url=site.url, cookies={"sessionid": session}, timeout=30, trust_env=False
    ) as thief:
        assert thief.get("/").status_code == 302
    own_redis.stop()
    with httpx.Client(base_url=site.url, timeout=30, trust_env=False) as guesser:
        guesser.get("/accounts/login/").raise_for_status()
        answers = [_guess(guesser, number) for number in range(2 * 5 + 1)]
    # Five of a name and address in each of the two processes.
    assert "Too many failed login attempts" in answers[-1], answers[-1]


def test_no_page_of_a_project_fails_without_redis(
    site: Stack, own_redis: RedisServer, planned: Project, mara: User
) -> None:
    own_redis.stop()
    with browser(site, mara) as maras:
        answers = {page: maras.get(page).status_code for page in pages_of(planned)}
    assert len(answers) > 30
    assert {page: status for page, status in answers.items() if status >= 500} == {}


def pages_of(project: Project) -> list[str]:
    """The addresses that need nothing but the project."""
    patterns = [str(pattern.pattern) for pattern in urlpatterns]
    of_project = [pattern for pattern in patterns if re.fullmatch(r"p/<slug:slug>/[a-z/-]*", pattern)]
    return ["/" + pattern.replace("<slug:slug>", project.slug) for pattern in of_project]


def _guess(guesser: httpx.Client, number: int) -> str:
    form = {
        "login": "ann",
        "password": f"wrong {number}",
        "csrfmiddlewaretoken": guesser.cookies["csrftoken"],
    }
    answer = guesser.post("/accounts/login/", data=form, headers={"Referer": str(guesser.base_url)})
    assert answer.status_code in (200, 429), answer.text
    return answer.text
