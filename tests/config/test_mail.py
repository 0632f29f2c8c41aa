"""EMAIL_URL, and what the doctor finds out about the server that it names."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from config.findings import Finding
from config.mail_check import mail
from config.mail_url import MailServer, parse_mail_url
from tests.mail_server import NAME, PASSWORD, Mailbox, mail_server, use_mail

ENCODED_PASSWORD = "p%40ss%3Aword%2F%25"


@pytest.mark.parametrize(
    ("url", "port", "use_ssl", "use_tls"),
    [
        ("smtp://mail.example.org", 25, False, False),
        ("submission://mail.example.org", 587, False, True),
        ("smtps://mail.example.org", 465, True, False),
        ("submission://mail.example.org:2587", 2587, False, True),
    ],
)
def test_the_scheme_decides_about_encryption(url: str, port: int, use_ssl: bool, use_tls: bool) -> None:
    server = parse_mail_url(url)
    assert (server.host, server.port) == ("mail.example.org", port)
    assert (server.use_ssl, server.use_tls) == (use_ssl, use_tls)


def test_a_password_may_have_every_sign() -> None:
    server = parse_mail_url(f"smtps://ann%40example.org:{ENCODED_PASSWORD}@mail.example.org")
    assert (server.user, server.password) == ("ann@example.org", PASSWORD)


def test_the_console_and_a_folder_are_for_development(tmp_path: Path) -> None:
    assert "console" in parse_mail_url("console:").backend
    assert parse_mail_url(f"file://{tmp_path}").file_path == str(tmp_path)
    assert parse_mail_url("") == MailServer()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mail.example.org", "scheme"),
        ("http://mail.example.org", "scheme"),
        ("smtp://", "host"),
        ("smtp://mail:70000", "port"),
        ("smtp://mail:x", "port"),
        ("smtp://ann:gr%C3%BCn@mail", "ASCII"),
        ("smtp://ann@mail", "both a name and a password"),
        ("smtp://ann:se/cret@mail", "port"),
        ("smtp://mail/?tls=1", "nothing may follow"),
        ("file:mail", "full path"),
    ],
)
def test_each_mistake_is_named(url: str, why: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=why) as refused:
        parse_mail_url(url)
    assert "se/cret" not in str(refused.value)


@pytest.fixture
def server() -> Iterator[Mailbox]:
    with mail_server() as mailbox:
        yield mailbox


def findings(settings: Settings, url: str, mail_to: str = "", seconds: float = 20) -> list[Finding]:
    use_mail(settings, url, seconds)
    return list(mail(mail_to=mail_to))


def test_without_a_setting_all_is_well_unless_a_message_is_wanted(settings: Settings) -> None:
    assert [finding.state for finding in findings(settings, "")] == ["ok"]
    (refused,) = findings(settings, "", "ann@example.org")
    assert (refused.state, refused.remedy) == ("problem", "Set: EMAIL_URL=submission://…")


def test_a_server_that_answers_is_ok_and_gets_no_message(settings: Settings, server: Mailbox) -> None:
    (found,) = findings(settings, f"smtp://127.0.0.1:{server.port}")
    assert (found.state, found.what) == ("ok", f"The mail server 127.0.0.1:{server.port} takes email.")
    assert server.messages == []


def test_a_message_is_sent_to_a_named_address(settings: Settings, server: Mailbox) -> None:
    *_rest, sent = findings(settings, f"smtp://127.0.0.1:{server.port}", "ann@example.org")
    assert sent.state == "ok"
    assert server.messages[0]["To"] == "ann@example.org"


def test_the_right_password_signs_in_and_a_wrong_one_is_named(settings: Settings) -> None:
    with mail_server(with_password=True) as server:
        here = f"127.0.0.1:{server.port}"
        (right,) = findings(settings, f"smtp://{NAME}:{ENCODED_PASSWORD}@{here}")
        (wrong,) = findings(settings, f"smtp://{NAME}:wrong@{here}")
    assert right.state == "ok"
    assert wrong.state == "problem"
    assert "refuses the name or password" in wrong.what
    assert "wrong" not in wrong.what.partition("535")[2].split()


def test_a_server_that_is_away_is_a_problem(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    (found,) = findings(settings, f"smtp://127.0.0.1:{port}")
    assert (found.state, found.remedy) == ("problem", "Start it, or correct host and port.")


def test_a_server_that_says_nothing_ends_in_a_timeout(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (found,) = findings(settings, f"smtp://127.0.0.1:{silent.getsockname()[1]}", seconds=1)
    assert found.state == "problem"
    assert "does not answer" in found.what


def test_encryption_that_the_server_does_not_offer_is_named(settings: Settings, server: Mailbox) -> None:
    (starttls,) = findings(settings, f"submission://127.0.0.1:{server.port}")
    (tls,) = findings(settings, f"smtps://127.0.0.1:{server.port}")
    assert "does not offer" in starttls.what
    assert "disagree about encryption" in tls.what


def test_a_folder_is_only_warned_about(settings: Settings, tmp_path: Path) -> None:
    warned, sent = findings(settings, f"file://{tmp_path}", "ann@example.org")
    assert (warned.state, sent.state) == ("warning", "ok")
    assert len(list(tmp_path.iterdir())) == 1
