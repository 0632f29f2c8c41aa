"""Managers' changes of webhooks."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.idempotency import check_repeat
from common.refusals import Invalid, NotFound, Refusal
from projects.locking import lock_project
from projects.models import (
    DeliveryState,
    Event,
    Project,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
    WebhookState,
)
from projects.outbox import TESTED, WEBHOOK
from projects.transitions import move, record, record_request
from projects.webhooks.addresses import check_url
from projects.webhooks.signing import new_secret, seal_secret
from projects.webhooks.states import MOVES

MOST: Final = 20  # webhooks of a project
REPLAYED_AT_ONCE: Final = 100_000
OVERLAP: Final = timedelta(days=1)  # in which the secret before signs, too
REPLAY: Final = "projects.webhook_replay"
# Of the events of all webhooks; the test goes to the one that is tested.
CHOICES: Final = tuple(event for event in WebhookEvent if event != WebhookEvent.TEST)


@transaction.atomic
def create_webhook(
    *,
    project: Project,
    actor: User,
    webhook_id: UUID,
    url: str,
    events: Collection[str],
    description: str = "",
) -> tuple[Webhook, str]:
    """Create a webhook; returns it with its secret. The same webhook_id again returns it without the secret.

    Raises Invalid (url, events), Refusal: too_many, id_in_use.
    """
    url, chosen = check_url(url), _check_events(events)
    lock_project(project.pk)
    earlier = Webhook.objects.filter(pk=webhook_id).first()
    if earlier is not None:
        check_repeat(earlier, project_id=project.pk)
        return earlier, ""
    if Webhook.objects.filter(project=project).exclude(state=WebhookState.REMOVED).count() >= MOST:
        raise Refusal(
            "too_many",
            _("A project has at most %(most)d webhooks.") % {"most": MOST},
            _("Remove one, or let one receiver pass the events on to others."),
        )
    about: dict[str, Any] = {"url": url, "events": chosen, "description": description.strip()[:200]}
    row, secret = Webhook(id=webhook_id, project=project, made_by=actor, **about), new_secret()
    row.secret = seal_secret(row, secret)
    row.save(force_insert=True)
    record(row, kind="webhook_made", project=project, actor=actor, data={"url": url, "events": chosen})
    return row, secret


def _check_events(events: Collection[str]) -> list[str]:
    chosen = [str(event) for event in CHOICES if event in events]
    if unknown := sorted(set(events) - set(chosen)):
        raise Invalid(_("There is no event “%(name)s”.") % {"name": unknown[0][:80]}, field="events")
    if not chosen:
        raise Invalid(_("Choose at least one event."), field="events")
    return chosen


@transaction.atomic
def change_webhook(
    *,
    webhook: Webhook,
    actor: User,
    url: str | None = None,
    events: Collection[str] | None = None,
    description: str | None = None,
) -> Webhook:
    """Change what is given. Deliveries that wait go to the new address. Raises Invalid, NotFound."""
    row = _lock(webhook)
    changes: dict[str, Any] = {
        "url": row.url if url is None else check_url(url),
        "events": row.events if events is None else _check_events(events),
        "description": row.description if description is None else description.strip()[:200],
    }
    before = {name: getattr(row, name) for name in changes}
    if changes != before:
        data = {"before": before, "after": changes}
        Webhook.objects.filter(pk=row.pk).update(**changes)
        record(row, kind="webhook_changed", project=row.project, actor=actor, data=data)
        row = _lock(webhook)
    return row


@transaction.atomic
def switch_webhook(*, webhook: Webhook, actor: User, on: bool) -> Webhook:
    """Switch it on or off; safe to repeat. Events that happen while it is off wait."""
    row = _lock(webhook)
    state = WebhookState.ON if on else WebhookState.OFF
    if row.state != state:
        fresh: dict[str, Any] = {"fault": "", "failures": 0, "failing_since": None, "paused_until": None}
        move(row, to=state, moves=MOVES, project=row.project, actor=actor, **fresh)
        if on:
            _waiting(row).update(due_at=clock.now())
    return row


@transaction.atomic
def rotate_secret(*, webhook: Webhook, actor: User, version: int) -> tuple[Webhook, str]:
    """Make a new secret; returns it. The one before signs beside it for a day, so that receivers can change over.

    version: of the secret that is replaced; a second send returns the webhook without the secret. Raises Refusal
    changed_meanwhile.
    """
    row = _lock(webhook)
    if row.secret_version == version + 1:
        return row, ""
    if row.secret_version != version:
        raise Refusal(
            "changed_meanwhile",
            _("Somebody has made another secret in the meantime."),
            _("Reload the page and look again before you decide."),
        )
    secret = new_secret()
    row.previous_secret, row.previous_until = row.secret, clock.now() + OVERLAP
    row.secret, row.secret_version = seal_secret(row, secret), version + 1
    row.save(update_fields=["secret", "secret_version", "previous_secret", "previous_until"])
    record(row, kind="webhook_secret", project=row.project, actor=actor, data={"version": row.secret_version})
    return row, secret


def remove_webhook(*, webhook: Webhook, actor: User) -> None:
    """Remove it with its deliveries; safe to repeat. What is being sent at this moment still arrives."""
    _end_webhook(webhook, actor)
    # Not under its lock: events of the project refer to the webhook, and people would wait for this.
    WebhookDelivery.objects.filter(webhook=webhook.pk).delete()


@transaction.atomic
def _end_webhook(webhook: Webhook, actor: User) -> None:
    row = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    if row.state != WebhookState.REMOVED:
        nothing: dict[str, Any] = {"secret": "", "previous_secret": "", "events": []}
        removed = WebhookState.REMOVED
        project, now = webhook.project, clock.now()
        move(row, to=removed, moves=MOVES, project=project, actor=actor, removed_at=now, **nothing)


@transaction.atomic
def send_test(*, webhook: Webhook, actor: User, test_id: UUID) -> Event:
    """Send a test event to this webhook only, on the way of all others. The same test_id again sends none."""
    row = _lock(webhook)
    sent = Event.objects.filter(subject_type=WEBHOOK, subject_id=str(row.pk), kind=TESTED)
    earlier = sent.filter(data__test=str(test_id)).first()
    data = {"test": str(test_id)}
    return earlier or record(row, kind=TESTED, project=row.project, actor=actor, data=data)


@transaction.atomic
def replay_deliveries(
    *,
    webhook: Webhook,
    actor: User,
    replay_id: UUID,
    deliveries: Sequence[int] = (),
    all_failed: bool = False,
) -> int:
    """Send deliveries again, with their ids of before; returns how many. The same replay_id again sends none.

    deliveries: their numbers, if not all that failed. Raises NotFound, Invalid, Refusal id_in_use.
    """
    row = _lock(webhook)
    about = {"webhook": str(row.pk), "all_failed": all_failed, "deliveries": sorted(deliveries)}
    earlier = Event.objects.filter(subject_type=REPLAY, subject_id=str(replay_id)).first()
    if earlier is not None:
        check_repeat(earlier.data, **about)
        return int(earlier.data["count"])
    chosen = _chosen_deliveries(row, deliveries, all_failed=all_failed)
    now = clock.now()
    waiting = DeliveryState.WAITING
    count = chosen.exclude(state=waiting).update(
        state=waiting, attempts=0, waiting_since=now, due_at=now, ended_at=None
    )
    data = {**about, "count": count}
    record_request(REPLAY, replay_id, kind="webhook_replayed", project=row.project, actor=actor, data=data)
    return count


def _chosen_deliveries(
    row: Webhook, deliveries: Sequence[int], *, all_failed: bool
) -> QuerySet[WebhookDelivery]:
    rows = WebhookDelivery.objects.filter(webhook=row)
    if all_failed:
        oldest = rows.filter(state=DeliveryState.FAILED).order_by("event_id")[:REPLAYED_AT_ONCE]
        return rows.filter(pk__in=oldest.values("pk"))
    if not deliveries:
        raise Invalid(_("Name the deliveries to send again, or choose all that failed."), field="deliveries")
    chosen = rows.filter(pk__in=deliveries)
    if chosen.count() != len(set(deliveries)):
        raise NotFound(_("One of these deliveries does not exist."), _("Load the list again."))
    return chosen


def _waiting(row: Webhook) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(webhook=row, state=DeliveryState.WAITING)


def _lock(webhook: Webhook) -> Webhook:
    """Not its key: deliveries of events that happen meanwhile refer to it."""
    rows = Webhook.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    row = rows.filter(pk=webhook.pk).exclude(state=WebhookState.REMOVED).first()
    if row is None:
        raise NotFound(_("There is no such webhook."), _("Go back to the list."))
    return row
