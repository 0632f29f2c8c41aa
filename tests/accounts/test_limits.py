"""Limits of failed logins and of requests."""

import pytest
from django.core.cache import cache
from django.test import Client
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from accounts.models import User
from accounts.rest.throttling import PersonRateThrottle

pytestmark = pytest.mark.django_db
ATTACKER, OWNER = "203.0.113.9", "198.51.100.7"


@pytest.fixture(autouse=True)
def _fresh_counts() -> None:
    cache.clear()


def sign_in(address: str, password: str) -> int:
    sent = {"login": "olga", "password": password}
    return Client(REMOTE_ADDR=address).post("/accounts/login/", sent).status_code


def test_failures_elsewhere_do_not_lock_the_owner_out() -> None:
    User.objects.create_user(username="olga", password="a long pass phrase")
    for _failure in range(6):
        assert sign_in(ATTACKER, "wrong") == 200  # the form again
    assert sign_in(ATTACKER, "a long pass phrase") == 200  # refused: too many failures
    assert sign_in(OWNER, "a long pass phrase") == 302


def test_an_address_that_a_client_adds_does_not_change_where_it_comes_from(settings: object) -> None:
    """Only the proxies that are configured are believed; the rest of X-Forwarded-For is the client's word."""
    User.objects.create_user(username="olga", password="a long pass phrase")
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1  # type: ignore[attr-defined]
    sent = {"login": "olga", "password": "wrong"}
    for n in range(6):
        forged = f"10.0.0.{n}, {ATTACKER}"  # the proxy appends the address that it sees
        Client(REMOTE_ADDR="10.1.1.1").post("/accounts/login/", sent, headers={"x-forwarded-for": forged})
    right = Client(REMOTE_ADDR="10.1.1.1").post(
        "/accounts/login/",
        {**sent, "password": "a long pass phrase"},
        headers={"x-forwarded-for": f"10.9.9.9, {ATTACKER}"},
    )
    assert right.status_code == 200


def test_every_request_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests at the same time overwrote each other's list; now each adds one to the count."""
    monkeypatch.setattr(PersonRateThrottle, "THROTTLE_RATES", {"user": "3/min"})
    monkeypatch.setattr("accounts.rest.throttling.time.time", lambda: 600.0)
    request = Request(APIRequestFactory().get("/"))
    request.user = User.objects.create_user(username="olga")
    throttles = [PersonRateThrottle() for _n in range(5)]
    assert [one.allow_request(request, None) for one in throttles] == [True, True, True, False, False]
    assert throttles[-1].wait() == 60
