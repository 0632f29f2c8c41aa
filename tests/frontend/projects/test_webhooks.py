"""The pages of webhooks, in both languages."""

from collections.abc import Iterator
from ipaddress import ip_network
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from accounts.models import User
from jobs.models import Job
from projects.models import DeliveryState, Project, Webhook, WebhookDelivery, WebhookFault, WebhookState
from projects.webhooks.services import create_webhook
from tests.frontend.data_pages import html
from tests.projects.webhooks.conftest import deliver, happened
from tests.projects.webhooks.receiver import Inbox, receiver

pytestmark = pytest.mark.django_db
EVENTS = ["job.ended", "label.final"]


@pytest.fixture
def inbox(settings: Settings) -> Iterator[Inbox]:
    settings.WEBHOOK_NETWORKS = [ip_network("127.0.0.0/8")]
    with receiver() as made:
        yield made


@pytest.fixture
def maras(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


@pytest.fixture
def webhook(project: Project, mara: User, inbox: Inbox) -> Webhook:
    return create_webhook(project=project, actor=mara, webhook_id=uuid4(), url=inbox.url, events=EVENTS)[0]


def at(name: str, webhook: Webhook) -> str:
    return reverse(name, args=[webhook.project.slug, webhook.pk])


def ends(project: Project, job: str) -> None:
    happened(job, kind="state", project=project, before="running", after="done")


def test_a_manager_adds_one_and_sees_its_secret_once(maras: Client, project: Project, inbox: Inbox) -> None:
    address = reverse("webhooks", args=[project.slug])
    assert address in html(maras.get(reverse("project_settings", args=[project.slug])))
    assert "No webhooks yet" in html(maras.get(address))
    form = {"url": inbox.url, "events": EVENTS, "description": "Lake", "webhook_id": str(uuid4())}
    page = html(maras.post(address, form))
    assert page.count("whsec_") == 1
    assert "shown only once" in page
    assert "whsec_" not in html(maras.post(address, form))  # sent twice
    assert "whsec_" not in html(maras.get(address))
    assert Webhook.objects.get().events == ["label.final", "job.ended"]


@pytest.mark.parametrize(
    ("url", "says"),
    [("https://10.0.0.1/", "is an internal address"), ("no address", "is not the address of a receiver")],
)
def test_a_wrong_address_is_explained_at_its_field(
    maras: Client, project: Project, url: str, says: str
) -> None:
    form = {"url": url, "events": EVENTS, "webhook_id": str(uuid4())}
    answer = maras.post(reverse("webhooks", args=[project.slug]), form)
    assert answer.status_code == 422
    assert says in html(answer)
    assert url in html(answer)  # what was written is still there


def test_the_log_shows_the_answers_and_sends_again(
    maras: Client, project: Project, webhook: Webhook, inbox: Inbox
) -> None:
    inbox.answer = lambda request: 500 if request.subject == "job:1" else 200
    for job in ("1", "2"):
        ends(project, job)
    maras.post(at("webhook_test", webhook), {"request_id": str(uuid4())})
    deliver()
    WebhookDelivery.objects.filter(subject="job:1").update(state=DeliveryState.FAILED)
    page = html(maras.get(at("webhook", webhook)))
    assert "2 delivered, 0 waiting, 1 failed." in page
    assert "HTTP 500" in page
    assert "The receiver answered with an error." in page
    failed = html(maras.get(at("webhook", webhook), {"state": "failed"}))
    assert "job:1" in failed
    assert "job:2" not in failed
    inbox.answer = lambda request: 200
    again = {"request_id": str(uuid4())}
    for _ in range(2):
        page = html(maras.post(at("webhook_replay", webhook), again, follow=True))
        assert "1 delivery will be sent again." in page
    assert deliver() == 1
    one = WebhookDelivery.objects.get(subject="job:2")
    maras.post(at("webhook_replay", webhook), {"delivery": one.pk, "request_id": str(uuid4())})
    assert deliver() == 1
    assert [request.subject for request in inbox.got[-2:]] == ["job:1", "job:2"]


def test_the_log_names_jobs_and_joins_the_answer_with_a_colon(
    maras: Client, project: Project, webhook: Webhook, inbox: Inbox
) -> None:
    inbox.answer = lambda request: 500
    job = Job.objects.create(project=project, kind="export", parameters={"format": "sft"})
    ends(project, str(job.pk))
    deliver()
    page = html(maras.get(at("webhook", webhook)))
    assert "HTTP 500: The receiver answered with an error." in page
    assert ">Export as sft</a>" in page
    assert reverse("job", args=[project.slug, job.pk]) in page
    assert f"job:{job.pk}" not in page


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["This webhook was switched off.", "Too many attempts in a row failed.", "Switch on"]),
        ("zh-hans", ["此网络钩子已被关闭。", "连续失败的次数过多。", "开启"]),
    ],
)
def test_one_that_was_switched_off_says_so_and_how_to_go_on(
    language: str, words: list[str], maras: Client, mara: User, webhook: Webhook, inbox: Inbox
) -> None:
    User.objects.filter(pk=mara.pk).update(language=language)
    Webhook.objects.update(state=WebhookState.OFF, fault=WebhookFault.FAILING, failures=300)
    ends(webhook.project, "1")
    page = html(maras.get(at("webhook", webhook)))
    assert [word for word in words if word not in page] == []
    maras.post(at("webhook_switch", webhook), {"on": "1"})
    assert words[0] not in html(maras.get(at("webhook", webhook)))
    assert deliver() == 1
    listed = html(maras.get(reverse("webhooks", args=[webhook.project.slug])))
    assert inbox.url in listed


def test_a_secret_is_replaced_and_a_webhook_changed_and_removed(
    maras: Client, project: Project, webhook: Webhook
) -> None:
    page = html(maras.post(at("webhook_secret", webhook), {"version": 1}))
    assert page.count("whsec_") == 1
    assert "whsec_" not in html(maras.post(at("webhook_secret", webhook), {"version": 1}, follow=True))
    Webhook.objects.update(secret_version=4)
    late = html(maras.post(at("webhook_secret", webhook), {"version": 1}))
    assert "Somebody has made another secret in the meantime." in late
    Webhook.objects.update(secret_version=2)
    form = {"url": webhook.url, "events": ["job.ended"], "description": "云端"}
    assert "云端" in html(maras.post(at("webhook", webhook), form, follow=True))
    wrong = maras.post(at("webhook", webhook), {**form, "url": "https://10.1.1.1/"})
    assert wrong.status_code == 422
    page = html(maras.post(at("webhook_remove", webhook), follow=True))
    assert "No webhooks yet" in page
    assert maras.get(at("webhook", webhook)).status_code == 404
