"""A worker that asks systems, beside the stack of the other browser tests, and a server with systems of every kind."""

from collections.abc import Iterator

import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.systems.services.asking import QUEUE
from jobs.selectors import live_workers
from projects.models import Project
from tests.assessment.conftest import server
from tests.processes import Stack, wait_until

__all__ = ["server"]


@pytest.fixture(scope="package")
def chat_worker(stack: Stack, django_db_blocker: pytest.Item) -> Iterator[None]:
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        worker = stack.chat_worker()
        wait_until(lambda: live_workers(QUEUE).exists(), 30, f"the worker of the chats ({worker.log})")
        yield
        worker.stop()


@pytest.fixture
def study(mara: User, chat_worker: None) -> Project:
    """Two messages a conversation, one ordinary system and the degraded one, one retry, hardly any delay."""
    project = create_project(slug="study", preset="live-assessment", actor=mara, title="Study")
    settings = project.assessment
    settings.signed_links, settings.ordinary_systems, settings.inputs = False, 1, 2
    settings.delay_ms, settings.delay_per_character_ms = 50, 0
    settings.reply_timeout_seconds, settings.reply_retries = 10, 0
    settings.completion_codes = {"completed": "DONE1", "system_failure": "PAID2", "timed_out": "LATE3"}
    settings.save()
    return project
