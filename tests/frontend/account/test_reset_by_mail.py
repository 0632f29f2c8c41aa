"""A forgotten password, by email: a worker sends the link, and the page is the same for everybody."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.services import create_user
from accounts.tasks import send_reset_mail
from tests.candidate_requests import flush_redis
from tests.mail_server import Mailbox, mail_server, run_sent_tasks, use_mail
from tests.processes import free_port

pytestmark = pytest.mark.django_db
OLD, NEW = "correct horse battery", "staple battery horse"


@pytest.fixture
def ann() -> User:
    return create_user(username="ann", email="ann@example.org", password=OLD)[0]


@pytest.fixture
def server(settings: Settings) -> Iterator[Mailbox]:
    flush_redis()
    with mail_server() as mailbox:
        use_mail(settings, f"smtp://127.0.0.1:{mailbox.port}")
        yield mailbox


def ask(client: Client, email: str) -> Any:
    return client.post(reverse("account_reset_password"), {"email": email})


def link_in(mailbox: Mailbox) -> str:
    found = re.search(r"http://localhost:8000(/\S+)", mailbox.last_text().partition("here:")[2])
    assert found
    return found[1]


def choose(client: Client, link: str, password: str) -> Any:
    form = client.get(link, follow=True)
    data = {"password1": password, "password2": password}
    return client.post(form.request["PATH_INFO"], data, follow=True)


def test_the_link_sets_a_new_password_once(client: Client, ann: User, server: Mailbox) -> None:
    ask(client, "ANN@example.org")
    assert run_sent_tasks("accounts.") == ["accounts.tasks.send_reset_mail"]
    link = link_in(server)
    choose(client, link, NEW)
    ann.refresh_from_db()
    assert ann.check_password(NEW)
    assert "no longer valid" in client.get(link, follow=True).content.decode()


def test_a_new_password_ends_other_sessions(client: Client, ann: User, server: Mailbox) -> None:
    elsewhere = Client()
    elsewhere.force_login(ann)
    assert elsewhere.get(reverse("profile")).status_code == 200
    ask(client, ann.email)
    run_sent_tasks("accounts.")
    choose(client, link_in(server), NEW)
    assert elsewhere.get(reverse("profile")).status_code == 302


def test_the_page_does_not_tell_whether_an_account_exists(client: Client, ann: User, server: Mailbox) -> None:
    known, unknown = ask(client, ann.email), ask(client, "nobody@example.org")
    assert known.headers["Location"] == unknown.headers["Location"] == reverse("account_reset_password_done")
    assert len(run_sent_tasks("accounts.")) == 2
    assert [message["To"] for message in server.messages] == ["ann@example.org"]


@pytest.mark.parametrize("changed", [{"is_active": False}, {"imported": True}])
def test_closed_and_imported_accounts_get_no_link(
    ann: User, server: Mailbox, changed: dict[str, bool]
) -> None:
    User.objects.update(**changed)
    send_reset_mail(ann.email, "en")
    assert server.messages == []


def test_the_message_is_in_the_language_of_the_person(ann: User, server: Mailbox) -> None:
    User.objects.update(language="zh-hans")
    send_reset_mail(ann.email, "en")
    assert "新密码" in server.messages[0]["Subject"]


def test_a_mail_server_that_is_away_holds_no_request(client: Client, ann: User, settings: Settings) -> None:
    use_mail(settings, f"smtp://127.0.0.1:{free_port()}")
    assert ask(client, ann.email).status_code == 302
    with pytest.raises(OSError, match="refused"):  # Celery tries again
        send_reset_mail(ann.email, "en")
    assert send_reset_mail.max_retries == 8


@pytest.mark.parametrize("email", ["ann@example.org", "nobody@example.org"])
def test_the_page_says_when_nothing_can_be_sent(
    client: Client, ann: User, server: Mailbox, monkeypatch: pytest.MonkeyPatch, email: str
) -> None:
    nobody = Celery(broker=f"redis://127.0.0.1:{free_port()}/0", set_as_current=False)
    nobody.conf.broker_transport_options = django_settings.CELERY_BROKER_TRANSPORT_OPTIONS
    monkeypatch.setattr("accounts.mail.current_app", nobody)
    answer = ask(client, email)
    assert answer.status_code == 503
    assert "No email can be sent right now" in answer.content.decode()


def test_without_email_the_page_names_whom_to_ask(client: Client, ann: User) -> None:
    html = client.get(reverse("account_reset_password")).content.decode()
    assert "Ask the manager of your project" in html
    assert 'name="email"' not in html
    assert ask(client, ann.email).status_code == 503


def test_a_new_address_is_confirmed_only_with_e_mail(client: Client, ann: User, server: Mailbox) -> None:
    client.force_login(ann)
    client.post(reverse("account_email"), {"action_add": "", "email": "other@example.org"})
    assert run_sent_tasks("accounts.") == ["accounts.tasks.send_message"]
    assert "other@example.org" in str(server.messages[0]["To"])
    assert "/accounts/confirm-email/" in server.last_text()


def test_without_e_mail_an_address_is_added_unconfirmed(client: Client, ann: User) -> None:
    flush_redis()
    client.force_login(ann)
    answer = client.post(
        reverse("account_email"), {"action_add": "", "email": "other@example.org"}, follow=True
    )
    html = answer.content.decode()
    assert "other@example.org" in html
    assert "Send the confirmation again" not in html
    assert run_sent_tasks("accounts.") == []
