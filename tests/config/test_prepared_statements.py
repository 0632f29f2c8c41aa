"""A web process prepares the statements that a connection sends again; nobody else does (docs/decisions/0027)."""

import pytest
from django.db import connection
from environs import Env

from config.database_connection import connection_settings
from dialogues.models import Dialogue

URL = "postgresql://l@server/l"


@pytest.mark.parametrize(
    ("process", "chosen", "prepares"),
    [("web", "", True), ("worker", "", False), ("web", "0", False), ("", "1", True)],
)
def test_only_web_processes_prepare_statements(
    monkeypatch: pytest.MonkeyPatch, process: str, chosen: str, prepares: bool
) -> None:
    monkeypatch.setenv("LAPIDARY_PROCESS", process)
    monkeypatch.delenv("DATABASE_PREPARE", raising=False)
    if chosen:
        monkeypatch.setenv("DATABASE_PREPARE", chosen)
    options = connection_settings(Env(), URL)["OPTIONS"]
    assert (options.get("server_side_binding"), options.get("prepare_threshold")) == (
        (True, 1) if prepares else (None, None)
    )


@pytest.mark.django_db
def test_a_statement_is_prepared_when_it_comes_again() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
        for number, prepared in ((1, 0), (2, 1), (3, 1)):
            Dialogue.objects.filter(pk=number).exists()
            cursor.execute(
                "SELECT statement FROM pg_prepared_statements WHERE statement ~ 'FROM .dialogues_'"
            )
            statements = [text for (text,) in cursor.fetchall() if Dialogue._meta.db_table in text]
            assert len(statements) == prepared
