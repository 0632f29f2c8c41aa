"""A real Chromium on the real stack: uvicorn, a Celery worker, PostgreSQL, Redis, on the tests' own database.

Both live as long as a module: an event loop of Playwright, or a worker that takes from the queues, would disturb the
tests of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from accounts.models import User
from generation.models import Generator
from jobs.models import Worker
from projects.models import Project
from tests import chromium
from tests.processes import Running, Stack, wait_until

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
# What Chromium itself reports of an answer that a test wants: a refusal, or none at all.
EXPECTED = re.compile(r"Failed to load resource|ERR_INTERNET_DISCONNECTED|the server responded with a status")

SignedIn = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="module", autouse=True)
def _loop_and_orm_in_one_thread() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield


@pytest.fixture(scope="module")
def stack(
    django_db_setup: None, django_db_blocker: pytest.Item, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        made = Stack.on_this_database(tmp_path_factory.mktemp("stack"))
        with made:
            made.worker("default,gpu", "worker")
            made.web()
            wait_until(Worker.objects.exists, 60, f"the worker (see {made.folder}/worker.log)")
            yield made


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.skip("no Chromium: python -m tests.chromium installs one")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def worker(stack: Stack, db: None) -> Running:
    """The worker, reported alive: the tests before have emptied the tables in which it says so."""
    process = stack.running["worker"]
    assert process.alive, (stack.folder / "worker.log").read_text()[-2000:]
    Worker.objects.update_or_create(name="until its next beat", defaults={"queues": ["default", "gpu"]})
    return process


@pytest.fixture
def complaints() -> list[str]:
    """What pages wrote to the console: a broken Content-Security-Policy, an exception."""
    return []


@pytest.fixture
def signs_in(chromium_browser: Browser, stack: Stack, worker: Running, complaints: list[str]) -> Iterator[SignedIn]:
    """signs_in(ann) is a page of a browser of her own; options are those of a Playwright context."""
    contexts: list[BrowserContext] = []

    def sign_in(person: User | None, **options: object) -> Page:
        wanted = {"viewport": {"width": 1280, "height": 800}, "locale": "en-US", **options}
        context = chromium_browser.new_context(base_url=stack.url, **wanted)  # type: ignore[arg-type]
        context.set_default_timeout(10_000)
        contexts.append(context)
        if person is not None:
            context.add_cookies([session_of(person, stack.url)])  # type: ignore[list-item]
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield sign_in
    for context in contexts:
        context.set_offline(False)
        context.close()
    unexpected = [said for said in complaints if not EXPECTED.search(said)]
    assert not unexpected, unexpected


def session_of(person: User, url: str) -> dict[str, str]:
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool], str], None]:
    """eventually(condition, "what"): polls up to ten seconds."""
    return lambda condition, what: wait_until(condition, 10, what)


@pytest.fixture
def scripted_generator(project: Project) -> Generator:
    generator = project.authoring.generator
    assert generator is not None
    return generator
