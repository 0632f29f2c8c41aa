"""The Python client against a real server with a worker, which all tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.project_setup.services import create_project
from jobs.models import Worker
from lapidary import Client, Retries
from projects.models import Project
from tests.candidate_requests import flush_redis
from tests.client.broken_line import BrokenLine
from tests.preference.elsewhere import trained_folder
from tests.processes import Stack

QUICK = Retries(tries=4, pause=0.01)
Connects = Callable[..., Client]


@pytest.fixture(scope="package")
def server(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    with django_db_blocker.unblock():
        flush_redis()
        with Stack.on_this_database(tmp_path_factory.mktemp("server")) as stack:
            stack.worker("default,training", "worker")
            stack.web()
            yield stack
            for process in stack.running.values():
                process.kill()  # a worker takes seconds to leave by itself
            Worker.objects.all().delete()
        flush_redis()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def token(mara: User) -> str:
    return create_token(user=mara, name="notebook", scopes=list(Scope))[1]


@pytest.fixture
def connects(server: Stack, token: str) -> Iterator[Connects]:
    """connects() is a client in mara's name; connects(url=…) at another address."""
    opened = []

    def connect(url: str = "", token: str = token, retries: Retries = QUICK) -> Client:
        opened.append(Client(url or server.url, token, retries=retries))
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
def line(server: Stack) -> Iterator[BrokenLine]:
    """An address of the server at which connections can be cut."""
    with BrokenLine(server.port) as line:
        yield line


@pytest.fixture
def quality(mara: User) -> Project:
    """A labelling project in which one person labels a dialogue, without waiting."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    return project


@pytest.fixture
def run7b(tmp_path: Path) -> Path:
    """The folder of a finished training, with nothing of the size of a model in it."""
    return trained_folder(tmp_path)
