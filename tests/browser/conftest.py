"""A real Chromium on the real stack: gunicorn, a Celery worker, PostgreSQL, Redis, on the tests' own database.

Both live as long as tests of this folder run: an event loop of Playwright, or a worker that takes from the queues,
would disturb the tests of others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator
from typing import Final

import pytest
from django.conf import settings
from django.db import connection, connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from accounts.models import User
from annotation.project_setup.services import create_project
from generation.models import Generator as GeneratorRow
from jobs.models import Worker
from projects.models import Project
from tests import chromium
from tests.candidate_requests import (
    create_dialogue,
    create_generator,
    create_request,
    flush_redis,
    wait_for_state,
)
from tests.processes import Running, Stack, wait_until

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
# What Chromium itself reports of an answer that a test wants: a refusal, or none at all; and what htmx says when a page
# is left while it renews itself.
EXPECTED = re.compile(
    r"Failed to load resource|ERR_INTERNET_DISCONNECTED|the server responded with a status"
    r"|htmx:(sendAbort|sendError|afterRequest), "
)

# A machine that also does other work is slower, not wrong: what fails waits this long, what passes does not wait.
ARRIVES_MS: Final = 40_000
expect.set_options(timeout=ARRIVES_MS)

# For signs_in(), where a test answers requests itself: what falls through a service worker may pass a route by.
ROUTED: Final = {"service_workers": "block"}

SignedIn = Callable[..., Page]
FAILED = pytest.StashKey[bool]()


def pytest_itemcollected(item: pytest.Item) -> None:
    if is_browser_test(item):
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests share one browser and one stack, so they run one after the other."""
    items.sort(key=is_browser_test, reverse=True)


def is_browser_test(item: pytest.Item) -> bool:
    return "tests/browser/" in item.path.as_posix()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(scope="package", autouse=True)
def _loop_and_orm_in_one_thread() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield


@pytest.fixture(scope="package")
def stack(
    django_db_setup: None,
    django_db_blocker: pytest.Item,
    chromium_browser: Browser,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        # A worker loads the model that was asked last; a script is loaded in no time.
        project = create_project(slug="asked-last", preset="diamante", actor=None)
        request = create_request(create_dialogue(project, "Hello?"), create_generator("asked-last"))
        with Stack.on_this_database(tmp_path_factory.mktemp("stack")) as stack:
            stack.worker("default,gpu", "worker")
            stack.web()
            wait_for_state(request, seconds=60)
            project.delete()
            yield stack
            for process in stack.running.values():
                process.kill()  # a worker takes seconds to leave by itself
            Worker.objects.all().delete()  # who it was, said since the last test's tables were emptied
        flush_redis()


@pytest.fixture(scope="package")
def chromium_browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.skip("no Chromium: python -m tests.chromium installs one")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        # While a loop runs in a thread, Django keeps other connections for it than before and after.
        connections.close_all()
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
def signs_in(
    request: pytest.FixtureRequest,
    chromium_browser: Browser,
    stack: Stack,
    worker: Running,
    complaints: list[str],
) -> Iterator[SignedIn]:
    """signs_in(ann) is a page of a browser of her own; options are those of a Playwright context. A test that fails
    leaves a picture of every page beside the stack's logs."""
    contexts: list[BrowserContext] = []

    def sign_in(person: User | None, **options: object) -> Page:
        options_with_defaults = {"viewport": {"width": 1280, "height": 800}, "locale": "en-US", **options}
        context = chromium_browser.new_context(base_url=stack.url, **options_with_defaults)  # type: ignore[arg-type]
        context.set_default_timeout(ARRIVES_MS)
        contexts.append(context)
        if person is not None:
            take_over(context, person, stack.url)
        page = context.new_page()
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield sign_in
    if request.node.stash.get(FAILED, False):
        for number, context in enumerate(contexts):
            for page in context.pages:
                page.screenshot(path=stack.folder / f"{request.node.name}-{number}.png")
    for context in contexts:
        context.set_offline(False)
        context.close()
    wait_until(is_quiet, 20, "the end of what pages asked for")
    unexpected = [complaint for complaint in complaints if not EXPECTED.search(complaint)]
    assert not unexpected, unexpected


def is_quiet() -> bool:
    """Nobody else works in the database, for a moment: emptying its tables would end in a deadlock."""
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute(f"{others} AND state <> 'idle'")
            if cursor.fetchone() != (0,):
                return False
        time.sleep(0.05)
    return True


def take_over(context: BrowserContext, person: User, url: str) -> None:
    """Have the browser signed in as this person from now on."""
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool], str], None]:
    """eventually(condition, "what"): polls until it holds."""
    return lambda condition, what: wait_until(condition, 10, what)


@pytest.fixture
def scripted_generator(project: Project) -> GeneratorRow:
    generator = project.authoring.generator
    assert generator is not None
    return generator
