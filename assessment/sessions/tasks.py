"""Celery entry points of sessions: calls of systems on the queue `chat`, the rest on `default`."""

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.sessions.services import calls, closing, expiry, panels, recovery
from assessment.systems.services.asking import QUEUE
from jobs.tasks import dead_neighbours, worker_name


@shared_task(name="assessment.sessions.tasks.fetch_reply")
def fetch_reply(turn_id: str) -> None:
    calls.fetch_reply(turn_id=UUID(turn_id), worker=worker_name())


@shared_task(name="assessment.sessions.tasks.take_over_lost_turns", queue="default")
def take_over_lost_turns() -> None:
    recovery.take_over_lost_turns()


@shared_task(name="assessment.sessions.tasks.close_ended_conversations")
def close_ended_conversations() -> None:
    closing.close_ended_conversations()


@shared_task(name="assessment.sessions.reap_expired_assignments")
def reap_expired_assignments() -> None:
    while expiry.reap_expired_assignments() == expiry.AT_ONCE:
        pass


@shared_task(name="assessment.sessions.sync_panel")
def sync_panel() -> None:
    """Scheduled only if a panel's token is in the environment."""
    panel = panels.configured_panel()
    if panel is not None:
        panels.sync_panel(panel)


@worker_ready.connect
def _begin(sender: Any, **_: Any) -> None:
    """A worker that was killed is usually started again at once, on the same machine: nobody waits for its leases."""
    if QUEUE not in {queue.name for queue in sender.task_consumer.queues}:
        return
    calling = Turn.objects.filter(state=TurnState.CALLING)
    names = list(calling.values_list("worker", flat=True).distinct().order_by())
    recovery.give_up_leases(dead_neighbours(names))
