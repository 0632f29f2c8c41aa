"""Real workers of the queue `webhooks`, with the scheduler, on the real broker."""

import time
from collections import Counter
from pathlib import Path

import pytest
from django.utils import timezone

from accounts.models import User
from jobs.selectors import live_workers
from projects.models import DeliveryState, Project, Webhook, WebhookDelivery
from projects.tasks import deliver_webhooks
from projects.webhooks.sending import BATCH
from tests.processes import PATIENCE, ROOT, Running, Stack, wait_until
from tests.projects.webhooks.conftest import added, happened
from tests.projects.webhooks.receiver import Received, receiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SUBJECTS, EVENTS = 20, 160


def webhook_worker(stack: Stack, schedule: Path) -> Running:
    options = ["--pool", "threads", "--concurrency", "4", "--beat", "--schedule", str(schedule)]
    networks = {"WEBHOOK_NETWORKS": "127.0.0.0/8", "DATABASE_POOL": "2"}
    worker = stack.worker("webhooks", "webhooks", *options, **networks)
    wait_until(lambda: live_workers("webhooks").exists(), 60, f"the worker ({worker.log})")
    return worker


def happen(project: Project, count: int) -> None:
    for number in range(count):
        job, after = str(number % SUBJECTS), "done" if number % 2 else "failed"
        happened(job, kind="state", project=project, before="running", after=after)


def delivered(webhook: Webhook) -> int:
    return WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.DELIVERED).count()


def test_each_event_arrives_in_order_although_receivers_fail_and_the_worker_is_killed(
    project: Project, mara: User, stack: Stack, tmp_path: Path
) -> None:
    with receiver() as inbox, receiver() as hanging:
        hanging.answer, hanging.hang = lambda request: 0, 30
        slow, _ = added(project, mara, hanging.url)
        webhook, _ = added(project, mara, inbox.url)
        failed: Counter[int] = Counter()

        def sometimes_fails(request: Received) -> int:
            failed[request.event] += 1
            return 503 if request.event % 50 == 0 and failed[request.event] == 1 else 200

        inbox.answer = sometimes_fails
        worker = webhook_worker(stack, tmp_path / "beat")
        begun = time.monotonic()
        happen(project, EVENTS // 2)
        wait_until(lambda: len(inbox.got) > EVENTS // 4, 60, "the first deliveries")
        first = time.monotonic() - begun
        worker.kill()
        happen(project, EVENTS // 2)
        Webhook.objects.filter(pk=webhook.pk).update(leased_until=timezone.now())  # or after a minute
        worker.start()
        wait_until(lambda: delivered(webhook) == EVENTS, 120, "all deliveries")
        got = inbox.got
        assert delivered(slow) == 0
    assert first < 20 * PATIENCE  # the receiver that hangs keeps nothing from the other
    for number in range(SUBJECTS):
        events = [request.event for request in got if request.subject == f"job:{number}"]
        assert events == sorted(events)
        assert len(set(events)) == EVENTS // SUBJECTS
    # Repeats: what answered 503, and the batch that was on its way when the worker was killed.
    repeats = Counter(request.headers["webhook-id"] for request in got)
    assert sum(repeats.values()) - EVENTS <= EVENTS // 50 + 1 + BATCH


def test_a_worker_a_minute_ahead_of_the_scheduler_delivers(
    project: Project, mara: User, stack: Stack
) -> None:
    """A task expires by the worker's clock."""
    skewed = {"PYTHONPATH": str(ROOT / "tests" / "skewed_clock"), "CLOCK_AHEAD": "60"}
    with receiver() as inbox:
        added(project, mara, inbox.url)
        stack.worker("webhooks", "ahead", WEBHOOK_NETWORKS="127.0.0.0/8", **skewed)
        wait_until(lambda: live_workers("webhooks").exists(), 60, "the worker")
        happen(project, 1)
        deliver_webhooks()
        wait_until(lambda: len(inbox.got) == 1, 10, "the delivery")
