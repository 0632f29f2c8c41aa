"""Sends what is due. Rows are the order to send: neither a lost broker nor a receiver that is away loses one.

One task sends to one webhook at a time, in the order of the events, and a delivery waits while an earlier one of the
same subject waits. A delivery that fails is tried again for three days. A receiver that fails often is left in peace
for a while, and its webhook is switched off at last.

What came of a batch is stored in one transaction, because annotators wait for the same database and processors. A
worker that is killed before that leaves a batch to be sent again.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from common import clock
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
# After which a task that no worker has taken is forgotten, by the worker's clock: it may be a minute ahead.
TASK_SECONDS: Final = 120
LEASE: Final = timedelta(seconds=60)  # far longer than one request takes
BATCH: Final = 25  # deliveries whose results are stored together
BATCH_SPAN: Final = timedelta(
    seconds=2
)  # then they are stored, however few: a slow receiver's page stays fresh
LOOKED_AT: Final = 200  # rows that are read at a time to find a batch
RESULT: Final = (
    *("state", "attempts", "due_at", "tried_at", "ended_at", "status", "problem", "detail", "milliseconds"),
)
FIRST_PAUSE: Final = timedelta(seconds=10)
LONGEST_PAUSE: Final = timedelta(minutes=10)
GIVE_UP_AFTER: Final = timedelta(days=3)
PAUSE_AFTER: Final = 3  # failures in a row; a single event that a receiver cannot take does not delay others
OFF_AFTER: Final = 300  # failures in a row: about two days


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a receiver answered to a delivery, and when."""

    delivery: WebhookDelivery
    answer: Answer
    at: datetime


def due_webhooks() -> list[UUID]:
    """The webhooks that have something to send now and that nobody sends to, those first that waited longest."""
    now = clock.now()
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
    begun = clock.now()
    lease = begun + LEASE
    if not _ready(begun).filter(pk=webhook_id).update(leased_until=lease):
        return 0
    webhook = Webhook.objects.select_related("project").get(pk=webhook_id)
    webhook.leased_until, sent = lease, 0
    with Receiver(webhook.url) as receiver:
        for batch in _due_batches(webhook):
            attempts = _send_batch(webhook, batch, receiver)
            sent += len(attempts)
            if not note_attempts(webhook, attempts) or clock.now() > begun + SLICE:
                break
    Webhook.objects.filter(pk=webhook_id, leased_until=webhook.leased_until).update(leased_until=clock.now())
    return sent


def _due_batches(webhook: Webhook) -> Iterator[list[WebhookDelivery]]:
    """In the order of their events, as long as this worker may send to the webhook."""
    while (chosen := _due_keys(webhook)) and _renew_lease(webhook):
        rows = WebhookDelivery.objects.filter(pk__in=chosen).select_related("event")
        batch = list(rows.order_by("event_id"))
        for delivery in batch:
            delivery.webhook = webhook
        if batch:  # else they were deleted a moment ago
            yield batch


def _due_keys(webhook: Webhook) -> list[int]:
    """Of each subject only the earliest delivery that waits, if it is due.

    Not a query that joins the waiting deliveries with themselves: while PostgreSQL has no statistics of a new backlog,
    it compares each with each (10,000 deliveries: 8 seconds of a processor for every batch).
    """
    waiting = WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    columns = waiting.order_by("event_id").values_list("event_id", "pk", "subject", "due_at")
    now, after, subjects = clock.now(), 0, set[str]()
    chosen: list[int] = []
    while len(chosen) < BATCH and (rows := list(columns.filter(event__gt=after)[:LOOKED_AT])):
        for event_id, key, subject, due_at in rows:
            if subject not in subjects and due_at <= now:
                chosen.append(key)
            subjects.add(subject)
            after = event_id
    return chosen[:BATCH]


def _renew_lease(webhook: Webhook) -> bool:
    """Whether the webhook is still on, as it was when this worker read it, and nobody else has taken it over."""
    renewed = clock.now() + LEASE
    same = {"url": webhook.url, "secret_version": webhook.secret_version, "state": WebhookState.ON}
    own = Webhook.objects.filter(pk=webhook.pk, leased_until=webhook.leased_until, **same)
    if not own.update(leased_until=renewed):
        return False
    webhook.leased_until = renewed
    return True


def _send_batch(webhook: Webhook, batch: Sequence[WebhookDelivery], receiver: Receiver) -> list[Attempt]:
    """Up to the first failure, or until BATCH_SPAN is over."""
    begun = clock.now()
    try:
        signing = secrets_of(webhook)
    except Unreadable:
        return [Attempt(batch[0], Answer(DeliveryProblem.SECRET), begun)]
    if not connection.in_atomic_block:
        connection.close()  # none is held while a receiver is asked
    attempts: list[Attempt] = []
    for delivery in batch:
        answer = _send(delivery, receiver, signing)
        attempts.append(Attempt(delivery, answer, clock.now()))
        if answer.problem or attempts[-1].at > begun + BATCH_SPAN:
            break
    return attempts


def _send(delivery: WebhookDelivery, receiver: Receiver, signing: list[str]) -> Answer:
    body = body_of(delivery)
    headers = {"content-type": "application/json", "user-agent": "Lapidary"}
    return receiver.post(body, headers | signature_headers(signing, delivery_id(delivery), body))


@transaction.atomic
def note_attempts(webhook: Webhook, attempts: Sequence[Attempt]) -> bool:
    """Store what came of a batch, of which only the last attempt can have failed.

    Returns whether to go on with this webhook now.
    """
    keys = [attempt.delivery.pk for attempt in attempts]
    # The webhook first, as those who switch it do, or each could wait for the other's rows.
    Webhook.objects.select_for_update(no_key=True).filter(pk=webhook.pk).values_list("pk").first()
    # Who else has locked a row deletes it or gives it up; nobody waits for them.
    stored = WebhookDelivery.objects.select_for_update(skip_locked=True).in_bulk(keys)
    changed = [
        row for attempt in attempts if (row := stored.get(attempt.delivery.pk)) and _apply(attempt, row)
    ]
    # They exist and are locked, so this only updates, in an eighth of the processor time of bulk_update.
    WebhookDelivery.objects.bulk_create(
        changed, update_conflicts=True, unique_fields=["id"], update_fields=RESULT
    )
    last = attempts[-1]
    if not attempts[0].answer.problem:
        _note_success(webhook)
    return not last.answer.problem or _note_failure(webhook, last.answer, last.at)


def _apply(attempt: Attempt, row: WebhookDelivery) -> bool:
    """Set the result; False if it no longer counts: the delivery was replayed meanwhile, or given up and failed."""
    answer = attempt.answer
    if row.waiting_since != attempt.delivery.waiting_since:
        return False
    if answer.problem and row.state != DeliveryState.WAITING:
        return False
    row.attempts += 1
    row.tried_at, row.status, row.milliseconds = attempt.at, answer.status, answer.milliseconds
    row.problem, row.detail = answer.problem, answer.detail.replace("\0", "")
    if answer.problem:
        row.due_at = attempt.at + pause_after(row.attempts)
    else:
        row.state, row.ended_at = DeliveryState.DELIVERED, attempt.at
    return True


def pause_after(failures: int) -> timedelta:
    factor: int = 3 ** min(failures - 1, 10)
    return min(FIRST_PAUSE * factor, LONGEST_PAUSE)


def _note_success(webhook: Webhook) -> None:
    if webhook.failures:
        webhook.failures, webhook.failing_since, webhook.paused_until = 0, None, None
        cleared = {"failures": 0, "failing_since": None, "paused_until": None}
        Webhook.objects.filter(pk=webhook.pk).update(**cleared)


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
