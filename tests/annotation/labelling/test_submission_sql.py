"""An assignment is locked together with everything that storing its labels reads."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.labelling.services.submission_sql import (
    DELETE_DRAFT_AND_START_NEXT,
    ModelColumns,
    lock_assignment_and_task,
)
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Utterance
from projects.models import Event, Membership, Project, Role
from tests.annotation.conftest import assigned


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


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def test_what_was_fetched_ahead_is_selected_once_whatever_the_statistics_say(
    quality: Project, anna: User
) -> None:
    task = Task.objects.select_related("dialogue").filter(project=quality).earliest("pk")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_assignment")  # says that it is empty
    people = User.objects.bulk_create(User(username=f"n{number}") for number in range(50))
    assigned([task], [anna, *people])
    mine = Assignment.objects.get(annotator=anna)
    parameters: dict[str, Any] = {
        "assignment": 0,
        "annotator": anna.pk,
        "project": quality.pk,
        "is_first": True,
        "now": timezone.now(),
    }
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {DELETE_DRAFT_AND_START_NEXT}", parameters)
        (found,) = cursor.fetchone()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    assert [node["Actual Loops"] for node in nodes(plan) if node["Node Type"] == "LockRows"] == [1]
    mine.refresh_from_db()
    assert mine.served_at is not None
