"""One stuck lock, slow statement or forgotten transaction does not hold a thread for ever."""

import pytest
from django.db import InternalError, OperationalError, connection
from django.test import Client
from environs import Env
from pytest_django.fixtures import Settings

from config.database_timeouts import connection_options


def test_a_web_process_waits_less_than_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_LOCK_TIMEOUT", "DATABASE_STATEMENT_TIMEOUT", "DATABASE_IDLE_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAPIDARY_PROCESS", "web")
    assert connection_options(Env()) == (
        "-c lock_timeout=10000 -c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000"
    )
    monkeypatch.setenv("LAPIDARY_PROCESS", "")
    assert "statement_timeout" not in connection_options(Env())
    assert "-c lock_timeout=60000" in connection_options(Env())


def test_timeouts_are_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_LOCK_TIMEOUT", "0.5")
    monkeypatch.setenv("DATABASE_IDLE_TIMEOUT", "0")
    assert connection_options(Env(), "-c search_path=other") == "-c lock_timeout=500 -c search_path=other"


@pytest.mark.django_db
def test_the_connection_has_them() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("1min",)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, client: Client) -> Client:
    """The first query of a request, in a middleware, meets a database that does not answer."""

    def fail(*_args: object) -> None:
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr("frontend.middleware.LanguageMiddleware.__call__", fail)
    client.raise_request_exception = False
    return client


def test_a_page_is_answered_with_a_time_to_try_again(broken: Client, settings: Settings) -> None:
    settings.DEBUG = False
    page = broken.get("/accounts/login/")
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert "The database does not answer." in page.content.decode()


def test_the_api_answers_with_problem_details(broken: Client) -> None:
    response = broken.get("/api/v1/me/")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "unavailable"


def test_other_errors_remain_errors_of_the_server(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    def fail(*_args: object) -> None:
        raise InternalError("something else")

    monkeypatch.setattr("frontend.middleware.LanguageMiddleware.__call__", fail)
    client.raise_request_exception = False
    assert client.get("/api/v1/me/").status_code == 500
