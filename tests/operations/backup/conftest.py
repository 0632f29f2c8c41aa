"""An installation worth backing up, and an empty one beside it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from psycopg import sql
from pytest_django.fixtures import Settings

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from jobs.services import run_job
from preference.data.services.exports import start_export
from preference.registry.models import RegisteredModel
from projects.models import Membership, Project, Role
from tests.operations.installation import Installation
from tests.preference.learning import snapshot_of, trained_model
from tests.processes import database_url

DIALOGUES = 1000  # more than anybody labels while a backup is written


@pytest.fixture(autouse=True)
def folders(settings: Settings, tmp_path: Path) -> Path:
    """FILES_ROOT, with MODELS_ROOT inside it, as by default."""
    settings.FILES_ROOT = tmp_path / "here" / "files"
    settings.MODELS_ROOT = settings.FILES_ROOT / "models"
    settings.FILES_ROOT.mkdir(parents=True)
    return tmp_path / "here" / "files"


@pytest.fixture
def helpdesk(transactional_db: None) -> Project:
    """A labelling project with dialogues that wait for labels."""
    project = create_project(slug="helpdesk", preset="dialeval", actor=None)
    rows = Dialogue.objects.bulk_create(
        Dialogue(project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, utterance_count=2)
        for _number in range(DIALOGUES)
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=row, position=position, speaker=speaker, text=f"{speaker} 你好 {row.pk}")
        for row in rows
        for position, speaker in enumerate(["customer", "helpdesk"])
    )
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    return project


@pytest.fixture
def olga(helpdesk: Project) -> User:
    """Manager and labeller of the project, with a password."""
    olga = User.objects.create_user("olga", "olga@example.org", "correct horse battery")
    Membership.objects.create(project=helpdesk, user=olga, roles=[Role.MANAGER, Role.ANNOTATOR])
    return olga


@pytest.fixture
def stored_model(helpdesk: Project, project: Project, olga: User) -> RegisteredModel:
    """A registered model with its snapshot, and a finished export."""
    export = start_export(export_id=uuid4(), project=helpdesk, actor=olga, format="judgements")
    run_job(job_id=export.job_id)
    return trained_model(project, None, snapshot_of(project), model="/models/base")


@pytest.fixture
def elsewhere(transactional_db: None, tmp_path: Path) -> Iterator[Installation]:
    """An empty database and empty folders."""
    name = f"restored_{uuid4().hex[:12]}"
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield Installation(database_url().rpartition("/")[0] + f"/{name}", tmp_path / "there")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
