"""The thread that keeps a worker on the list, and takes it off when the worker ends."""

import threading
from typing import Any

import pytest
from celery.signals import worker_ready, worker_shutdown
from django.db import OperationalError

from jobs import services, tasks
from jobs.models import Worker
from jobs.progress import worker_is_ending
from tests.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Consumer:
    queues: tuple[Any, ...] = ()
    task_consumer: "Consumer"


@pytest.fixture
def sender() -> Consumer:
    consumer = Consumer()
    consumer.task_consumer = consumer
    return consumer


@pytest.fixture(autouse=True)
def does_not_end_this_process() -> Any:
    yield
    worker_is_ending.clear()


def test_a_worker_that_ends_during_a_heartbeat_leaves_the_list(
    sender: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    record = services.record_heartbeat

    def slow_heartbeat(**about: Any) -> None:
        begun.set()
        may_go_on.wait(30)
        record(**about)

    monkeypatch.setattr(services, "record_heartbeat", slow_heartbeat)
    worker_ready.send(sender)
    assert begun.wait(30)
    threading.Timer(0.3, may_go_on.set).start()
    worker_shutdown.send(sender)
    assert not Worker.objects.exists()
    assert not tasks.heartbeats


def test_a_worker_leaves_the_list_although_the_database_is_away_at_first(
    sender: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget, refusals = services.forget_worker, [OperationalError("away")]

    def forget_at_the_second_try(**about: Any) -> None:
        if refusals:
            raise refusals.pop()
        forget(**about)

    monkeypatch.setattr(services, "forget_worker", forget_at_the_second_try)
    worker_ready.send(sender)
    wait_until(Worker.objects.exists, 30, "the worker")
    worker_shutdown.send(sender)
    assert not refusals
    assert not Worker.objects.exists()
