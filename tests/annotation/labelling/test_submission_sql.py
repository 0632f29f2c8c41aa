"""An assignment is locked together with everything that storing its labels reads."""

from uuid import uuid4

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.labelling.services.submission_sql import ModelColumns, lock_assignment_and_task
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Utterance
from projects.models import Event, Membership, Project, Role


@pytest.fixture
def annas_assignment(anna: User, quality: Project) -> Assignment:
    return claim_next_task(annotator=anna, project=quality, claim_id=uuid4())


def field_values(row: models.Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_its_rows_are_those_that_django_reads(
    annas_assignment: Assignment, anna: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        locked = lock_assignment_and_task(assignment=annas_assignment.pk, annotator=anna.pk)
    assert locked is not None
    assignment = locked.assignment
    settings = assignment.project.labelling
    assert isinstance(settings.schema, Schema)
    for row in (assignment, assignment.task, assignment.project, settings, settings.schema):
        assert field_values(row) == field_values(type(row)._default_manager.get(pk=row.pk))
        assert not row._state.adding


def test_long_texts_are_fetched_when_they_are_read(annas_assignment: Assignment, anna: User) -> None:
    locked = lock_assignment_and_task(assignment=annas_assignment.pk, annotator=anna.pk)
    assert locked is not None
    project = locked.assignment.project
    assert project.get_deferred_fields() == {"guidelines_en", "guidelines_zh"}
    with CaptureQueriesContext(connection) as queries:
        assert project.guidelines_en == Project.objects.get(pk=project.pk).guidelines_en
    assert len(queries) == 2


def test_it_comes_with_roles_and_speakers(annas_assignment: Assignment, anna: User) -> None:
    speakers = Utterance.objects.filter(dialogue=annas_assignment.dialogue_id).order_by("position")
    locked = lock_assignment_and_task(assignment=annas_assignment.pk, annotator=anna.pk)
    assert locked is not None
    assert locked.roles == [Role.ANNOTATOR]
    assert locked.speakers == list(speakers.values_list("speaker", flat=True)) != []


def test_somebody_who_left_the_project_has_no_roles(annas_assignment: Assignment, anna: User) -> None:
    Membership.objects.filter(user=anna).delete()
    locked = lock_assignment_and_task(assignment=annas_assignment.pk, annotator=anna.pk)
    assert locked is not None
    assert locked.roles == []


def test_a_project_without_questions_has_no_schema(annas_assignment: Assignment, anna: User) -> None:
    LabellingSettings.objects.update(schema=None)
    locked = lock_assignment_and_task(assignment=annas_assignment.pk, annotator=anna.pk)
    assert locked is not None
    assert locked.assignment.project.labelling.schema is None


def test_bela_cannot_lock_annas_assignment(annas_assignment: Assignment, bela: User) -> None:
    assert lock_assignment_and_task(assignment=annas_assignment.pk, annotator=bela.pk) is None


def test_fields_that_django_converts_must_be_deferred() -> None:
    with pytest.raises(TypeError, match="Event: defer data"):
        ModelColumns(Event, "event")
    assert "data" not in ModelColumns(Event, "event", defer=("data",)).names


def test_generated_columns_can_be_read() -> None:
    assert "rank" in ModelColumns(Task, "task").names
