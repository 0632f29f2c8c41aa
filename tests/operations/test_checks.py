"""A server that is too old is refused by migrate and named by the doctor."""

import pytest
from django.core.checks import Tags, run_checks
from django.db import NotSupportedError, connection

from config import doctor
from operations.checks import check_postgres_version

pytestmark = pytest.mark.django_db


def test_this_server_is_new_enough() -> None:
    assert run_checks(tags=[Tags.database], databases=["default"]) == []


def test_an_older_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operations.checks.OLDEST_POSTGRES", 99)
    monkeypatch.setattr("config.doctor.OLDEST_POSTGRES", 99)
    (error,) = check_postgres_version(databases=["default"])
    assert (error.id, error.hint) == ("operations.E001", "Use PostgreSQL 99 or newer.")
    (finding,) = doctor.database()
    assert (finding.state, finding.remedy) == ("problem", "Use 99 or newer.")


def test_checks_without_a_database_ask_none() -> None:
    assert check_postgres_version() == []


def test_a_server_that_django_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise NotSupportedError("PostgreSQL 14 or later is required (found 13.4).")

    monkeypatch.setattr(connection, "ensure_connection", refuse)
    (finding,) = doctor.database()
    assert finding.what == "PostgreSQL is too old: PostgreSQL 14 or later is required (found 13.4)."
