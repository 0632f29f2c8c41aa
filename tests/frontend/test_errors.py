"""Pages that are shown when the wanted one cannot be."""

import json
from unittest.mock import patch

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path, reverse

from accounts.models import User
from common.refusals import NotAllowed, Refusal
from frontend.pages import errors
from tests.frontend.urls import handler400, handler403, handler404, handler500
from tests.frontend.urls import urlpatterns as site

__all__ = ["handler400", "handler403", "handler404", "handler500"]


def refuses(request: HttpRequest) -> HttpResponse:
    raise Refusal("lease_gone", "This task was given to somebody else.", "Take the next one.")


def not_allowed(request: HttpRequest) -> HttpResponse:
    raise NotAllowed("Only managers may do this.", "Ask one of them.")


def denied(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("You need the role Trainer.")


def broken(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


urlpatterns = [
    *site,
    path("refuses/", refuses),
    path("not-allowed/", not_allowed),
    path("denied/", denied),
    path("broken/", broken),
]
pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create(username="ann"))
    client.raise_request_exception = False
    return client


def test_a_missing_page_says_so_and_leads_home(browser: Client) -> None:
    response = browser.get("/nothing/<b>/")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()
    assert "<b>" not in response.content.decode()
    assert f'href="{reverse("home")}"' in response.content.decode()


def test_a_forbidden_page_names_the_role(browser: Client) -> None:
    response = browser.get("/denied/")
    assert response.status_code == 403
    assert "You need the role Trainer." in response.content.decode()


def test_a_fault_shows_the_number_of_the_request(browser: Client) -> None:
    response = browser.get("/broken/", headers={"X-Request-ID": "abcd-1234-efgh"})
    assert response.status_code == 500
    assert "abcd-1234-efgh" in response.content.decode()


def test_the_page_of_a_fault_needs_no_database() -> None:
    request = RequestFactory().get("/")
    with patch.object(connection, "ensure_connection", side_effect=AssertionError):
        assert errors.server_error(request).status_code == 500
        assert errors.bad_request(request).status_code == 400


def test_a_refusal_is_a_page_with_cause_and_remedy(browser: Client) -> None:
    response = browser.get("/refuses/")
    assert response.status_code == 409
    assert "given to somebody else" in response.content.decode()
    assert "Take the next one." in response.content.decode()


def test_a_refused_form_comes_back_with_a_message(browser: Client) -> None:
    referer = {"Referer": f"http://testserver{reverse('profile')}"}
    response = browser.post("/refuses/", headers=referer, follow=True)
    assert response.redirect_chain == [(reverse("profile"), 302)]
    assert "given to somebody else" in response.content.decode()


@pytest.mark.parametrize(
    ("referer", "page"),
    [
        ("https://evil.example/", "/"),
        ("http://testserver//evil.example/", "/"),
        ("http://testserver/nothing/here/", "/"),
        ("http://testserver/p/chat/invitations/one/", "/p/chat/invitations/"),
    ],
    ids=["another site", "a path that is one", "nothing", "an address that only takes forms"],
)
def test_a_refusal_leads_only_to_pages_that_can_be_opened(browser: Client, referer: str, page: str) -> None:
    response = browser.post("/refuses/", headers={"Referer": referer})
    assert response.headers["Location"] == page


def test_htmx_gets_a_refusal_as_a_note(browser: Client) -> None:
    response = browser.post("/refuses/", headers={"HX-Request": "true"})
    note = json.loads(response.headers["HX-Trigger"])["toast"]
    assert response.status_code == 409
    assert note == {"text": "This task was given to somebody else. Take the next one.", "tone": "bad"}


def test_a_page_that_the_role_may_not_open_is_403(browser: Client) -> None:
    response = browser.post("/not-allowed/")
    assert response.status_code == 403
    assert "Only managers may do this." in response.content.decode()


def test_a_form_without_its_token_says_that_nothing_was_stored() -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post(reverse("set_theme"), {"theme": "dark"})
    assert response.status_code == 403
    assert "Nothing was stored" in response.content.decode()


@pytest.mark.parametrize(
    ("referer", "link"),
    [
        ("http://testserver/p/chat/?page=2", 'href="/p/chat/?page=2"'),
        ("http://testserver", 'href="/"'),
        ("http://testserver/p/chat/invitations/one/?q=2", 'href="/p/chat/invitations/"'),
        ("http://testserver//evil.example/p/chat/", ""),
        ("http://testserver/nothing/here/", ""),
        ("https://elsewhere.example/p/chat/", ""),
        ("", ""),
    ],
)
def test_an_expired_form_offers_to_reload_its_page(referer: str, link: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post(reverse("set_theme"), {"theme": "dark"}, headers={"Referer": referer})
    page = response.content.decode()
    assert link in page
    assert ("Reload the page</a>" in page) == bool(link)


def test_an_expired_sign_out_offers_the_current_question(browser: Client) -> None:
    browser.handler.enforce_csrf_checks = True
    page = browser.post(reverse("account_logout")).content.decode()
    assert f'href="{reverse("account_logout")}"' in page
    assert "You are still signed in" in page


def test_an_expired_sign_out_of_somebody_signed_out_asks_nothing() -> None:
    page = Client(enforce_csrf_checks=True).post(reverse("account_logout")).content.decode()
    assert "You are signed out now" in page
    assert f'href="{reverse("account_logout")}"' not in page


def test_an_expired_form_of_htmx_is_a_toast() -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post(reverse("set_theme"), {"theme": "dark"}, headers={"HX-Request": "true"})
    assert response.status_code == 403
    assert "Reload the page" in json.loads(response["HX-Trigger"])["toast"]["text"]
