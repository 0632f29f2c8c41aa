"""A receiver on loopback, which the operator allows, and a webhook of the project to it."""

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from accounts.models import User
from projects.models import Event, Project, Webhook, WebhookDelivery
from projects.transitions import record_request
from projects.webhooks.sending import deliver_due, due_webhooks
from projects.webhooks.services import CHOICES, create_webhook
from tests.projects.webhooks.receiver import Inbox, receiver

Happens = Callable[..., Event]
LOOPBACK = [ip_network("127.0.0.0/8"), ip_network("::1")]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with receiver() as made:
        yield made


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = LOOPBACK


def added(project: Project, actor: User | None, url: str, **more: Any) -> tuple[Webhook, str]:
    about = {"webhook_id": uuid4(), "events": CHOICES, **more}
    return create_webhook(project=project, actor=actor, url=url, **about)  # type: ignore[arg-type]


@pytest.fixture
def webhook(project: Project, mara: User, inbox: Inbox) -> Webhook:
    return added(project, mara, inbox.url)[0]


@pytest.fixture
def happens(project: Project) -> Happens:
    """happens("12") ends job 12."""

    def happen(job: str = "1", to: str = "done", **more: Any) -> Event:
        about = {"kind": "state", "project": project, "before": "running", "after": to, **more}
        return happened(job, **about)

    return happen


def happened(job: str, **details: Any) -> Event:
    """The event of a job that has ended, as jobs record it."""
    return record_request("jobs.job", job, **details)  # type: ignore[arg-type]


def deliver() -> int:
    """A turn of the scheduler and of the workers."""
    return sum(deliver_due(webhook_id=webhook_id) for webhook_id in due_webhooks())


def delivery(event: Event) -> WebhookDelivery:
    return WebhookDelivery.objects.get(event=event)


def make_due() -> None:
    """What was to be tried later is due now, as if the time had passed."""
    WebhookDelivery.objects.update(due_at=Event.objects.earliest("at").at)
    Webhook.objects.update(paused_until=None)
