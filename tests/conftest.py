"""The people and the project that all tests use."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import OperationalError, connection
from django.db.backends.postgresql.operations import DatabaseOperations
from django.utils import timezone, translation
from hypothesis import HealthCheck, settings
from psycopg.errors import DeadlockDetected
from pytest_django import DjangoDbBlocker

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.authoring.services.turns import SentTurn, TurnResult, submit_turn
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from common import clock
from config.database_connection import PREPARED
from generation.models import BackendKind, Generator
from jobs.selectors import live_workers
from projects.models import Membership, Project, Role
from tests.candidate_requests import flush_redis
from tests.lanes import Lanes
from tests.object_store import ObjectServer, run_object_server
from tests.processes import Running, Stack, wait_until
from tests.sizes import FULL
from tests.template_database import ensure_template

Joins = Callable[..., User]
Starts = Callable[..., Running]

# One round instead of a million, with the algorithm in use: servers that a test starts must know the hash.
PBKDF2PasswordHasher.iterations = 1
# Otherwise every client scans all static files first.
django_settings.WHITENOISE_AUTOREFRESH = True

# The time of an example depends on the load of the machine.
for profile, examples in (("test", 30), ("soak", 300)):
    settings.register_profile(
        profile, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("soak" if FULL else "test")


FLUSH_ATTEMPTS = 10


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    return Lanes(config, log)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = ensure_template()
        connection.settings_dict["OPTIONS"] |= PREPARED  # most tests do what a web process does


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The test database without autovacuum.

    Between two tests it finds every table empty. The planner then expects no rows in the next test either, and joins
    its 20,000 rows without an index, which takes minutes. Of a table that was never measured it expects some.
    """
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = false)')


@pytest.fixture(autouse=True, scope="session")
def quick_flush() -> Iterator[None]:
    """Delete the rows of tests with real transactions: TRUNCATE would create hundreds of files again."""

    def sql_flush(_self: Any, _style: Any, tables: list[str], **_: Any) -> list[str]:
        names = [f'"{table}"' for table in tables]
        lock = f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE"  # waits for transactions that still write
        return [
            lock,
            *(f"DELETE FROM {name}" for name in names),
        ]  # any order: foreign keys are checked at commit

    def execute_sql_flush(operations: Any, sql_list: list[str]) -> None:
        for attempt in range(1, FLUSH_ATTEMPTS + 1):
            try:
                execute_once(operations, sql_list)
            except OperationalError as error:
                # A server that a test started still writes, and locks the tables in another order.
                if not isinstance(error.__cause__, DeadlockDetected) or attempt == FLUSH_ATTEMPTS:
                    raise
            else:
                return

    execute_once = DatabaseOperations.execute_sql_flush
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        patch.setattr(DatabaseOperations, "execute_sql_flush", execute_sql_flush)
        yield


@pytest.fixture(autouse=True, scope="session")
def one_clock() -> Iterator[None]:
    """Tests without a database may ask for its time: it runs on this machine."""
    clock._measured = clock.Measurement(timezone.now(), clock._seconds_since_boot())
    with pytest.MonkeyPatch.context() as patch:
        # On a busy machine an answer may take a second, and its time would be half a second off.
        patch.setattr(clock, "TOLERATED_DELAY", 0.01)
        yield


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    """Reset the language that a request of an earlier test activated in this thread."""
    with translation.override("en"):
        yield


def create_authoring_project(manager: User) -> Project:
    """With the paper's settings and scripted candidates."""
    project = create_project(slug="chit-chat", preset="diamante", actor=manager, title="Chit-chat")
    project.authoring.generator = Generator.objects.create(slug="scripted", backend=BackendKind.SCRIPTED)
    project.authoring.save()
    return project


@pytest.fixture
def joins(db: None) -> Joins:
    """joins("ann", project, Role.ANNOTATOR) creates the person and grants the roles."""

    def join(name: str, project: Project | None = None, *roles: Role) -> User:
        person, _ = User.objects.get_or_create(username=name, defaults={"email": f"{name}@example.org"})
        if project is not None:
            Membership.objects.update_or_create(project=project, user=person, defaults={"roles": list(roles)})
        return person

    return join


@pytest.fixture
def mara(joins: Joins) -> User:
    """Manager of the project."""
    return joins("mara")


@pytest.fixture
def project(mara: User) -> Project:
    return create_authoring_project(mara)


@pytest.fixture
def ann(joins: Joins, project: Project) -> User:
    return joins("ann", project, Role.ANNOTATOR)


@pytest.fixture
def bob(joins: Joins, project: Project) -> User:
    return joins("bob", project, Role.ANNOTATOR)


@pytest.fixture
def carlos(joins: Joins, project: Project) -> User:
    """Quality controller."""
    return joins("carlos", project, Role.CONTROLLER)


@pytest.fixture
def eric(joins: Joins, project: Project) -> User:
    """ML engineer."""
    return joins("eric", project, Role.ENGINEER)


@pytest.fixture
def planned(project: Project, mara: User) -> Project:
    """The project, with three planned dialogues."""
    plan_dialogues(project=project, actor=mara, count=3, plan_id=uuid4())
    return project


@pytest.fixture
def anns_assignment(planned: Project, ann: User) -> Assignment:
    return claim_next_task(annotator=ann, project=planned, claim_id=uuid4())


@pytest.fixture
def writes() -> Callable[..., TurnResult]:
    """writes(assignment, "text", 0) sends an utterance as the assignment's annotator."""

    def write(assignment: Assignment, text: str, position: int, **sent: object) -> TurnResult:
        turn = SentTurn(**{"id": uuid4(), "position": position, "text": text, **sent})  # type: ignore[arg-type]
        return submit_turn(annotator=assignment.annotator, assignment_id=assignment.pk, sent=turn)

    return write


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path) -> Iterator[Stack]:
    """Real servers and workers on the test database. The test starts those that it needs."""
    flush_redis()
    with Stack.on_this_database(tmp_path, GENERATION_WARM_UP="0", GENERATION_TIMEOUT="60") as stack:
        yield stack
    flush_redis()


@pytest.fixture
def starts(stack: Stack) -> Starts:
    """starts("worker-1") runs a worker of the queue `gpu` and waits for its first report."""

    def reported() -> set[str]:
        return set(live_workers("gpu").values_list("name", flat=True))

    def start(name: str = "worker-gpu") -> Running:
        before = reported()
        running = stack.worker("gpu", name)
        wait_until(lambda: bool(reported() - before), 30, f"{name} (see {running.log})")
        return running

    return start


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    """Started for the first test that needs it; tests keep apart by the prefix of `url()`."""
    with run_object_server(tmp_path_factory.mktemp("objects")) as running:
        yield running
