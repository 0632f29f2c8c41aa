"""Setting up, using and leaving two-factor sign-in, page by page."""

import base64
import hmac
import re
import struct
import time

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import User

PASSWORD = "correct horse battery"

pytestmark = pytest.mark.django_db


def code_of(secret: str) -> str:
    """What an authenticator app shows for the secret now (RFC 6238)."""
    counter = struct.pack(">Q", int(time.time()) // 30)
    digest = hmac.digest(base64.b32decode(secret), counter, "sha1")
    start = digest[-1] & 0x0F
    return f"{(struct.unpack('>I', digest[start : start + 4])[0] & 0x7FFFFFFF) % 1_000_000:06d}"


def sign_in(client: Client) -> str:
    """Where the password alone leads."""
    return client.post(reverse("account_login"), {"login": "ann", "password": PASSWORD}).headers["Location"]


def recovery_codes(client: Client) -> list[str]:
    html = client.get(reverse("mfa_view_recovery_codes")).content.decode()
    return re.findall(r"<li>\s*(\w{8,})\s*</li>", html)


@pytest.fixture
def anns_browser(client: Client) -> Client:
    User.objects.create_user("ann", "ann@example.org", PASSWORD)
    sign_in(client)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


@pytest.fixture(autouse=True)
def _tolerant(settings: Settings) -> None:
    """A code stays valid if the next half minute begins before the server looks at it."""
    settings.MFA_TOTP_TOLERANCE = 1


@pytest.fixture
def protected(anns_browser: Client) -> Client:
    html = anns_browser.get(reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r"<code>([A-Z2-7]{16,})</code>", html)
    assert secret is not None
    anns_browser.post(reverse("mfa_activate_totp"), {"code": code_of(secret[1])})
    return anns_browser


def test_setting_up_a_second_factor_asks_for_the_password(client: Client) -> None:
    User.objects.create_user("ann", "ann@example.org", PASSWORD)
    sign_in(client)
    html = client.get(reverse("mfa_activate_totp"), follow=True).content.decode()
    assert "Confirm that it is you" in html
    assert 'type="password"' in html


def test_the_set_up_page_shows_the_secret_as_picture_and_as_text(anns_browser: Client) -> None:
    html = anns_browser.get(reverse("mfa_activate_totp")).content.decode()
    assert 'class="qr" src="data:image/svg+xml;base64,' in html
    assert re.search(r"<code>[A-Z2-7]{16,}</code>", html)


def test_a_wrong_code_switches_nothing_on(anns_browser: Client) -> None:
    html = anns_browser.post(reverse("mfa_activate_totp"), {"code": "000000"}).content.decode()
    assert "errorlist" in html
    assert "Set up" in anns_browser.get(reverse("mfa_index")).content.decode()


def test_after_setting_up_there_are_recovery_codes(protected: Client) -> None:
    assert len(recovery_codes(protected)) == 10
    assert "Switch off" in protected.get(reverse("mfa_index")).content.decode()


def test_signing_in_then_asks_for_a_code(protected: Client) -> None:
    spare = recovery_codes(protected)[0]
    protected.logout()
    assert sign_in(protected) == reverse("mfa_authenticate")
    assert "Enter the code" in protected.get(reverse("mfa_authenticate")).content.decode()
    assert protected.get(reverse("profile")).status_code == 302
    protected.post(reverse("mfa_authenticate"), {"code": spare})
    assert protected.get(reverse("profile")).status_code == 200


def test_a_wrong_code_does_not_sign_in(protected: Client) -> None:
    protected.logout()
    sign_in(protected)
    html = protected.post(reverse("mfa_authenticate"), {"code": "000000"}).content.decode()
    assert "errorlist" in html
    assert protected.get(reverse("profile")).status_code == 302


def test_new_recovery_codes_end_the_old_ones(protected: Client) -> None:
    old = recovery_codes(protected)
    assert (
        "10 unused codes stop working"
        in protected.get(reverse("mfa_generate_recovery_codes")).content.decode()
    )
    protected.post(reverse("mfa_generate_recovery_codes"))
    assert not set(old) & set(recovery_codes(protected))


def test_it_can_be_switched_off(protected: Client) -> None:
    assert "Your password alone" in protected.get(reverse("mfa_deactivate_totp")).content.decode()
    protected.post(reverse("mfa_deactivate_totp"))
    protected.logout()
    assert sign_in(protected) == reverse("home")
