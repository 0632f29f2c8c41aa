"""Receivers that answer, fail, hang, redirect, come back; the order of deliveries; when a webhook is switched off."""

import socket
import time
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from accounts.models import User
from common import clock
from projects.models import (
    DeliveryProblem,
    DeliveryState,
    Event,
    Project,
    Webhook,
    WebhookDelivery,
    WebhookFault,
    WebhookState,
)
from projects.webhooks import receivers, sending
from projects.webhooks.sending import Attempt, deliver_due, due_webhooks, note_attempts, pause_after
from projects.webhooks.services import (
    change_webhook,
    replay_deliveries,
    switch_webhook,
)
from tests.processes import free_port
from tests.projects.webhooks.conftest import Happens, added, deliver, delivery, make_due
from tests.projects.webhooks.receiver import Inbox, receiver, write_certificate

pytestmark = pytest.mark.django_db


def test_a_delivery_says_what_happened_and_to_what(
    webhook: Webhook, inbox: Inbox, happens: Happens, project: Project
) -> None:
    event = happens("7", data={"kind": "import"})
    assert (deliver(), deliver()) == (1, 0)
    [sent] = inbox.got
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["webhook-id"] == f"msg_{webhook.pk.hex}_{event.pk}"
    assert sent.json["type"] == "job.ended"
    assert sent.json["data"] == {
        "event": event.pk,
        "project": project.slug,
        "subject": {"type": "job", "id": "7"},
        "before": "running",
        "after": "done",
        "details": {"kind": "import"},
    }
    row = delivery(event)
    assert (row.state, row.status, row.attempts, row.problem) == (DeliveryState.DELIVERED, 200, 1, "")


def test_a_failed_delivery_holds_up_its_subject_and_no_other(
    webhook: Webhook, inbox: Inbox, happens: Happens
) -> None:
    inbox.answer = lambda request: 500 if request.event == first.pk else 200
    first, other, second = happens("1"), happens("2"), happens("1", "failed")
    assert deliver() == 2
    assert inbox.events == [first.pk, other.pk]
    row = delivery(first)
    assert (row.state, row.status, row.problem) == (DeliveryState.WAITING, 500, DeliveryProblem.ANSWER)
    assert deliver() == 0  # neither is due
    inbox.answer = lambda request: 200
    make_due()
    assert deliver() == 2
    assert inbox.of("job:1") == [first.pk, first.pk, second.pk]
    ids = {request.headers["webhook-id"] for request in inbox.got if request.event == first.pk}
    assert len(ids) == 1


def test_a_delivery_that_failed_for_good_lets_the_next_of_its_subject_go(
    webhook: Webhook, inbox: Inbox, happens: Happens
) -> None:
    first, second = happens("1"), happens("1", "failed")
    WebhookDelivery.objects.filter(event=first).update(
        waiting_since=timezone.now() - sending.GIVE_UP_AFTER - timedelta(minutes=1),
        due_at=timezone.now() + timedelta(hours=1),
    )
    assert deliver() == 1
    assert inbox.events == [second.pk]
    row = delivery(first)
    assert (row.state, row.problem) == (DeliveryState.FAILED, DeliveryProblem.EXPIRED)
    assert row.ended_at


def test_a_receiver_that_hangs_costs_a_limited_time(
    webhook: Webhook, inbox: Inbox, happens: Happens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "SECONDS", 0.3)
    inbox.answer, inbox.hang = lambda request: 0, 60
    event, begun = happens(), time.monotonic()
    deliver()
    assert time.monotonic() - begun < 30
    assert delivery(event).problem == DeliveryProblem.TIMEOUT


def test_an_endless_answer_is_not_read_to_its_end(
    webhook: Webhook, inbox: Inbox, happens: Happens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "BODY_SECONDS", 0.2)
    inbox.answer_body, inbox.drip = b"x" * 1200, 0.05  # a minute
    event, begun = happens(), time.monotonic()
    deliver()
    assert time.monotonic() - begun < 30
    assert delivery(event).state == DeliveryState.DELIVERED  # its status said so


def test_a_long_answer_is_cut_off(webhook: Webhook, inbox: Inbox, happens: Happens) -> None:
    inbox.answer_body = b"x" * 20_000_000
    one, two = happens("1"), happens("2")
    assert deliver() == 2
    assert {delivery(event).state for event in (one, two)} == {DeliveryState.DELIVERED}


def test_a_redirect_to_an_inner_address_is_not_followed(
    webhook: Webhook, inbox: Inbox, happens: Happens
) -> None:
    with receiver() as inner:
        inbox.answer, inbox.location = lambda request: 307, inner.url
        event = happens()
        assert deliver() == 1
        assert inner.got == []
    row = delivery(event)
    assert (row.state, row.status, row.problem) == (DeliveryState.WAITING, 307, DeliveryProblem.REDIRECT)


def resolves(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[Any]:
    """The name server of hooks.example.org gives another answer each time. Returns the questions."""
    asked: list[Any] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: int, *args: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name != "hooks.example.org":
            return real(host, port, *args, **more)
        address = answers[min(len(asked), len(answers) - 1)]
        asked.append(address)
        return real(address, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_a_name_that_leads_to_an_inner_address_is_refused(
    project: Project, inbox: Inbox, happens: Happens, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_NETWORKS = []
    resolves(monkeypatch, "127.0.0.1")
    added(project, None, f"https://hooks.example.org:{inbox.port}/")
    event = happens()
    deliver()
    row = delivery(event)
    assert (row.state, row.problem, row.detail) == (
        DeliveryState.WAITING,
        DeliveryProblem.ADDRESS,
        "127.0.0.1",
    )
    assert inbox.got == []


def test_the_address_that_was_checked_is_the_one_that_is_used(
    project: Project, inbox: Inbox, happens: Happens, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the second answer would be another address."""
    settings.WEBHOOK_NETWORKS = [ip_network("127.0.0.1")]
    asked = resolves(monkeypatch, "127.0.0.1", "127.0.0.2")
    added(project, None, f"http://hooks.example.org:{inbox.port}/hook")
    event = happens()
    deliver()
    assert delivery(event).state == DeliveryState.DELIVERED
    assert asked == ["127.0.0.1"]
    assert inbox.got[0].headers["host"] == f"hooks.example.org:{inbox.port}"
    happens("2")
    deliver()
    assert len(inbox.got) == 1  # the name leads to an address now that is not allowed


def test_text_without_tls_does_not_go_to_the_internet(
    project: Project, happens: Happens, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves(monkeypatch, "203.0.113.7")
    monkeypatch.setattr("projects.webhooks.addresses.is_internal", lambda ip: False)
    added(project, None, "http://hooks.example.org/")
    event = happens()
    deliver()
    assert delivery(event).problem == DeliveryProblem.ADDRESS


def test_a_receiver_that_is_away_is_left_in_peace_and_gets_everything_later(
    project: Project, mara: User, happens: Happens
) -> None:
    port = free_port()
    webhook, _ = added(project, mara, f"http://127.0.0.1:{port}/hook")
    events = [happens(str(job)) for job in range(8)] + [happens("0", "failed")]
    assert deliver() == sending.PAUSE_AFTER
    webhook.refresh_from_db()
    assert webhook.failures == sending.PAUSE_AFTER
    assert webhook.paused_until
    assert webhook.paused_until > timezone.now() + timedelta(seconds=5)
    assert deliver() == 0  # not even those that were never tried
    make_due()
    assert deliver() == 1  # one attempt, then a longer pause
    make_due()  # an hour later
    with receiver(port) as inbox:
        assert deliver() == len(events)
        assert inbox.events == [event.pk for event in events]
    assert Webhook.objects.filter(failures=0, paused_until=None, failing_since=None).exists()
    assert not WebhookDelivery.objects.exclude(state=DeliveryState.DELIVERED).exists()


def test_pauses_grow_to_ten_minutes() -> None:
    seconds = [pause_after(failures).total_seconds() for failures in (1, 2, 3, 4, 5, 6, 300)]
    assert seconds == [10, 30, 90, 270, 600, 600, 600]


def test_a_webhook_that_fails_too_often_is_switched_off_and_its_events_wait(
    webhook: Webhook, mara: User, inbox: Inbox, happens: Happens
) -> None:
    inbox.answer = lambda request: 500
    Webhook.objects.update(failures=sending.OFF_AFTER - 1)
    first = happens("1")
    deliver()
    webhook.refresh_from_db()
    assert (webhook.state, webhook.fault) == (WebhookState.OFF, WebhookFault.FAILING)
    assert Event.objects.filter(subject_id=str(webhook.pk), after="off", actor=None).exists()
    second, inbox.answer = happens("2"), lambda request: 200
    make_due()
    assert deliver() == 0
    for _ in range(2):
        switch_webhook(webhook=webhook, actor=mara, on=True)
    assert deliver() == 2
    assert inbox.events == [first.pk, first.pk, second.pk]
    webhook.refresh_from_db()
    assert (webhook.state, webhook.fault, webhook.failures) == (WebhookState.ON, "", 0)


def test_a_receiver_that_is_gone_for_good_is_switched_off_at_once(
    webhook: Webhook, inbox: Inbox, happens: Happens
) -> None:
    inbox.answer = lambda request: 410
    happens("1"), happens("2")
    assert deliver() == 1
    webhook.refresh_from_db()
    assert (webhook.state, webhook.fault) == (WebhookState.OFF, WebhookFault.GONE)


def test_a_secret_of_another_secret_key_is_named(
    webhook: Webhook, inbox: Inbox, happens: Happens, settings: Settings
) -> None:
    settings.SECRET_KEY = "another " * 10
    event = happens()
    deliver()
    assert delivery(event).problem == DeliveryProblem.SECRET
    assert inbox.got == []


def test_one_worker_at_a_time_sends_to_a_webhook(webhook: Webhook, inbox: Inbox, happens: Happens) -> None:
    happens()
    Webhook.objects.update(leased_until=timezone.now() + timedelta(seconds=30))
    assert due_webhooks() == []
    assert deliver_due(webhook_id=webhook.pk) == 0
    Webhook.objects.update(leased_until=timezone.now() - timedelta(seconds=1))  # its worker was killed
    assert deliver() == 1


def test_a_worker_that_was_thought_dead_sends_no_further_batch(
    webhook: Webhook, inbox: Inbox, happens: Happens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BATCH", 2)
    for job in range(5):
        happens(str(job))

    def note_and_lose_the_lease(webhook: Webhook, attempts: list[Attempt]) -> bool:
        Webhook.objects.update(leased_until=timezone.now() + timedelta(minutes=5))
        return note_attempts(webhook, attempts)

    monkeypatch.setattr(sending, "note_attempts", note_and_lose_the_lease)
    assert deliver() == 2
    assert Webhook.objects.get().leased_until > timezone.now()  # type: ignore[operator]  # the other one has it


def test_a_slice_ends_so_that_others_have_their_turn(
    webhook: Webhook, inbox: Inbox, happens: Happens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SLICE", timedelta(0))
    monkeypatch.setattr(sending, "BATCH", 1)
    events = [happens(str(job)) for job in range(3)]
    assert [deliver(), deliver(), deliver(), deliver()] == [1, 1, 1, 0]
    assert inbox.events == [event.pk for event in events]


def test_a_batch_is_stored_at_once_and_found_in_few_queries(
    webhook: Webhook,
    inbox: Inbox,
    happens: Happens,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(sending, "LOOKED_AT", 10)
    # Otherwise a slow machine needs two batches.
    monkeypatch.setattr(sending, "BATCH_SPAN", timedelta(minutes=5))
    monkeypatch.setattr(sending, "SLICE", timedelta(minutes=5))
    blocked = [happens("0", "failed" if number % 2 else "done") for number in range(30)]
    WebhookDelivery.objects.filter(event=blocked[0]).update(due_at=timezone.now() + timedelta(hours=1))
    events = [happens(str(job)) for job in range(1, 26)]
    # Of it 6 + 6 to find the batch and that nothing follows it; none for each delivery.
    with django_assert_max_num_queries(24):
        assert deliver_due(webhook_id=webhook.pk) == len(events)
    assert inbox.events == [event.pk for event in events]
    rows = WebhookDelivery.objects.filter(event__in=events, state=DeliveryState.DELIVERED, status=200)
    assert rows.filter(attempts=1, ended_at__isnull=False, milliseconds__isnull=False).count() == len(events)
    assert WebhookDelivery.objects.filter(state=DeliveryState.WAITING).count() == len(blocked)


def test_a_slow_receiver_is_not_waited_for_to_store_results(
    webhook: Webhook, inbox: Inbox, happens: Happens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BATCH_SPAN", timedelta(0))
    sizes: list[int] = []

    def note(webhook: Webhook, attempts: list[Attempt]) -> bool:
        sizes.append(len(attempts))
        return note_attempts(webhook, attempts)

    monkeypatch.setattr(sending, "note_attempts", note)
    for job in range(3):
        happens(str(job))
    assert deliver() == 3
    assert sizes == [1, 1, 1]


def test_a_delivery_that_was_removed_or_replayed_meanwhile_is_left_as_it_is(
    webhook: Webhook, happens: Happens
) -> None:
    removed, replayed, arrived = (delivery(happens(str(job))) for job in range(3))
    WebhookDelivery.objects.filter(pk=removed.pk).delete()
    WebhookDelivery.objects.filter(pk=replayed.pk).update(waiting_since=timezone.now())
    answer = receivers.Answer(status=204, milliseconds=7)
    assert note_attempts(
        webhook, [Attempt(row, answer, timezone.now()) for row in (removed, replayed, arrived)]
    )
    states = dict(WebhookDelivery.objects.values_list("pk", "state"))
    assert states == {replayed.pk: DeliveryState.WAITING, arrived.pk: DeliveryState.DELIVERED}


def test_a_failure_after_a_success_is_the_first_one(webhook: Webhook, inbox: Inbox, happens: Happens) -> None:
    Webhook.objects.update(failures=2, failing_since=timezone.now() - timedelta(hours=1))
    inbox.answer = lambda request: 500 if request.event == second.pk else 200
    _first, second = happens("1"), happens("2")
    assert deliver() == 2
    webhook.refresh_from_db()
    assert webhook.failures == 1
    assert webhook.failing_since
    assert webhook.failing_since > timezone.now() - timedelta(minutes=1)


def test_so_many_webhooks_at_a_time(
    project: Project, happens: Happens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "AT_ONCE", 2)
    rows = [added(project, None, "https://hooks.example.org/")[0] for _ in range(4)]
    happens()
    Webhook.objects.filter(pk=rows[0].pk).update(leased_until=clock.now() + timedelta(seconds=30))
    Webhook.objects.filter(pk=rows[1].pk).update(leased_until=clock.now())  # it had its turn
    [chosen] = due_webhooks()
    assert chosen in {rows[2].pk, rows[3].pk}


def test_a_replay_sends_the_same_id_again(
    webhook: Webhook, mara: User, inbox: Inbox, happens: Happens
) -> None:
    event, other = happens("1"), happens("2")
    deliver()
    WebhookDelivery.objects.filter(event=other).update(state=DeliveryState.FAILED)
    choices: list[dict[str, Any]] = [{"all_failed": True}, {"deliveries": [delivery(event).pk]}]
    for chosen in choices:
        replay = {"webhook": webhook, "actor": mara, "replay_id": uuid4(), **chosen}
        assert [replay_deliveries(**replay) for _ in range(2)] == [1, 1]
    assert deliver() == 2
    assert inbox.events == [event.pk, other.pk, event.pk, other.pk]
    assert len({request.headers["webhook-id"] for request in inbox.got}) == 2


def test_waiting_deliveries_go_to_a_new_address(
    webhook: Webhook, mara: User, inbox: Inbox, happens: Happens
) -> None:
    happens()
    with receiver() as other:
        change_webhook(webhook=webhook, actor=mara, url=other.url)
        assert deliver() == 1
        assert (len(other.got), inbox.got) == (1, [])


@pytest.mark.parametrize("name, arrives", [("hooks.example.org", True), ("elsewhere.example.org", False)])
def test_the_certificate_must_be_that_of_the_name(
    name: str,
    arrives: bool,
    project: Project,
    happens: Happens,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Although the request goes to an address, and the certificate names none."""
    certificate = write_certificate(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    resolves(monkeypatch, "127.0.0.1")
    with receiver(certificate=certificate) as inbox:
        added(project, None, f"https://hooks.example.org:{inbox.port}/")
        event = happens()
        deliver()
        assert len(inbox.got) == int(arrives)
    row = delivery(event)
    assert (row.state == DeliveryState.DELIVERED) is arrives
    assert ("certificate" in row.detail.lower()) is not arrives
