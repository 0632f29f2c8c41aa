"""Sends what is due. Rows are the order to send: neither a lost broker nor a receiver that is away loses one.

One task sends to one webhook at a time, in the order of the events, and a delivery waits while an earlier one of the
same subject waits. A delivery that fails is tried again for three days. A receiver that fails often is left in peace
for a while, and its webhook is switched off at last.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from common.sealing import Unreadable
from projects.models import (
    DeliveryProblem,
    DeliveryState,
    Webhook,
    WebhookDelivery,
    WebhookFault,
    WebhookState,
)
from projects.transitions import move
from projects.webhooks.payloads import body_of, delivery_id
from projects.webhooks.receivers import GONE, Answer, Receiver
from projects.webhooks.signing import secrets_of, signature_headers
from projects.webhooks.states import MOVES

logger = logging.getLogger(__name__)
QUEUE: Final = "webhooks"
AT_ONCE: Final = 16  # webhooks that are sent to at a time, by all workers together
SLICE: Final = timedelta(seconds=20)  # then it is another webhook's turn
TASK_SECONDS: Final = 10  # after which a task that no worker has taken is forgotten
LEASE: Final = timedelta(seconds=60)  # far longer than one request takes
BATCH: Final = 25
FIRST_PAUSE: Final = timedelta(seconds=10)
LONGEST_PAUSE: Final = timedelta(minutes=10)
GIVE_UP_AFTER: Final = timedelta(days=3)
PAUSE_AFTER: Final = 3  # failures in a row; a single event that a receiver cannot take does not delay others
OFF_AFTER: Final = 300  # failures in a row: about two days


def due_webhooks() -> list[UUID]:
    """The webhooks that have something to send now and that nobody sends to, those first that waited longest."""
    now = timezone.now()
    _give_up_old(now)
    running = Webhook.objects.filter(state=WebhookState.ON, leased_until__gt=now).count()
    waiting = WebhookDelivery.objects.filter(
        webhook=OuterRef("pk"), state=DeliveryState.WAITING, due_at__lte=now
    )
    free = _ready(now).filter(Exists(waiting)).order_by(F("leased_until").asc(nulls_first=True))
    return list(free.values_list("pk", flat=True)[: max(0, AT_ONCE - running)])


def _ready(now: datetime) -> QuerySet[Webhook]:
    return Webhook.objects.filter(
        Q(leased_until=None) | Q(leased_until__lte=now),
        Q(paused_until=None) | Q(paused_until__lte=now),
        state=WebhookState.ON,
    )


def _give_up_old(now: datetime) -> None:
    waiting = WebhookDelivery.objects.filter(state=DeliveryState.WAITING)
    old = waiting.filter(waiting_since__lt=now - GIVE_UP_AFTER)
    failed = {"state": DeliveryState.FAILED, "ended_at": now}
    old.filter(problem="").update(problem=DeliveryProblem.EXPIRED, **failed)
    old.exclude(problem="").update(**failed)


def deliver_due(*, webhook_id: UUID) -> int:
    """Send what is due for one webhook, for at most SLICE; returns how many requests were made.

    Does nothing if another worker sends to it.
    """
    begun = timezone.now()
    lease = begun + LEASE
    if not _ready(begun).filter(pk=webhook_id).update(leased_until=lease):
        return 0
    webhook = Webhook.objects.select_related("project").get(pk=webhook_id)
    webhook.leased_until, sent = lease, 0
    with Receiver(webhook.url) as receiver:
        for delivery in _due_deliveries(webhook):
            answer = _send(webhook, delivery, receiver)
            sent += 1
            if not note_answer(webhook, delivery, answer) or timezone.now() > begun + SLICE:
                break
    Webhook.objects.filter(pk=webhook_id, leased_until=webhook.leased_until).update(
        leased_until=timezone.now()
    )
    return sent


def _due_deliveries(webhook: Webhook) -> Iterator[WebhookDelivery]:
    """In the order of their events, a batch at a time; of each subject only the earliest that waits."""
    waiting = WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    earlier = waiting.filter(subject=OuterRef("subject"), event__lt=OuterRef("event"))
    rows = waiting.filter(~Exists(earlier)).select_related("event").order_by("event_id")
    while batch := list(rows.filter(due_at__lte=timezone.now())[:BATCH]):
        if not _renew_lease(webhook):
            return
        for delivery in batch:
            delivery.webhook = webhook
            yield delivery


def _renew_lease(webhook: Webhook) -> bool:
    """Whether the webhook is still on, as it was when this worker read it, and nobody else has taken it over."""
    renewed = timezone.now() + LEASE
    same = {"url": webhook.url, "secret_version": webhook.secret_version, "state": WebhookState.ON}
    own = Webhook.objects.filter(pk=webhook.pk, leased_until=webhook.leased_until, **same)
    if not own.update(leased_until=renewed):
        return False
    webhook.leased_until = renewed
    return True


def _send(webhook: Webhook, delivery: WebhookDelivery, receiver: Receiver) -> Answer:
    try:
        signing = secrets_of(webhook)
    except Unreadable:
        return Answer(DeliveryProblem.SECRET)
    body = body_of(delivery)
    headers = {"content-type": "application/json", "user-agent": "Lapidary"}
    if not connection.in_atomic_block:
        connection.close()  # none is held while a receiver is asked
    return receiver.post(body, headers | signature_headers(signing, delivery_id(delivery), body))


@transaction.atomic
def note_answer(webhook: Webhook, delivery: WebhookDelivery, answer: Answer) -> bool:
    """Store what came of an attempt. Returns whether to go on with this webhook now."""
    now = timezone.now()
    result = {
        "attempts": delivery.attempts + 1,
        "tried_at": now,
        "status": answer.status,
        "problem": answer.problem,
        "detail": answer.detail.replace("\0", ""),
        "milliseconds": answer.milliseconds,
    }
    same = WebhookDelivery.objects.filter(pk=delivery.pk, waiting_since=delivery.waiting_since)
    if not answer.problem:
        same.update(state=DeliveryState.DELIVERED, ended_at=now, **result)
        return _note_success(webhook)
    due = now + pause_after(delivery.attempts + 1)
    same.filter(state=DeliveryState.WAITING).update(due_at=due, **result)
    return _note_failure(webhook, answer, now)


def pause_after(failures: int) -> timedelta:
    factor: int = 3 ** min(failures - 1, 10)
    return min(FIRST_PAUSE * factor, LONGEST_PAUSE)


def _note_success(webhook: Webhook) -> bool:
    if webhook.failures:
        webhook.failures = 0
        cleared = {"failures": 0, "failing_since": None, "paused_until": None}
        Webhook.objects.filter(pk=webhook.pk).update(**cleared)
    return True


def _note_failure(webhook: Webhook, answer: Answer, now: datetime) -> bool:
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or now
    if webhook.failures >= PAUSE_AFTER:
        webhook.paused_until = now + pause_after(webhook.failures - PAUSE_AFTER + 1)
    Webhook.objects.filter(pk=webhook.pk).update(
        failures=webhook.failures, failing_since=webhook.failing_since, paused_until=webhook.paused_until
    )
    if answer.status == GONE or webhook.failures >= OFF_AFTER:
        _switch_off(webhook, WebhookFault.GONE if answer.status == GONE else WebhookFault.FAILING)
        return False
    return webhook.failures < PAUSE_AFTER


def _switch_off(webhook: Webhook, fault: WebhookFault) -> None:
    """Its deliveries wait until a manager switches it on again, and fail after GIVE_UP_AFTER."""
    stored = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    if stored.state == WebhookState.ON:
        off = WebhookState.OFF
        move(stored, to=off, moves=MOVES, project=webhook.project, data={"fault": fault}, fault=fault)
        logger.warning("webhook switched off", extra={"webhook": str(webhook.pk), "fault": fault})
