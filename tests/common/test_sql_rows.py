"""Rows of several models out of one statement, and new ones by one that is made once."""

from typing import Any

import pytest
from django.db import IntegrityError, models, transaction
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.tasks.models.work import Task
from common.sql_rows import Joined, NewRow, Side, Value
from jobs.models import Job, JobState
from projects.models import Event, Membership, Project

FROM = """
    FROM accounts_user person
    LEFT JOIN projects_membership member ON member.user_id = person.id
    LEFT JOIN projects_project project ON project.id = member.project_id
    WHERE person.id = %(person)s
"""
WHO_AND_WHERE = Joined(
    "SELECT {columns}" + FROM,
    Side(User, "person"),
    Side(Membership, "member"),
    Side(Project, "project", without=("guidelines_en",)),
)


def values(row: models.Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_rows_are_those_that_django_reads(
    project: Project, ann: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        found = WHO_AND_WHERE.first({"person": ann.pk})
    assert found is not None
    person, member, where = found
    assert (person, where) == (ann, project)
    assert values(person) == values(User.objects.get(pk=ann.pk))
    assert values(member) == values(Membership.objects.get(user=ann, project=project))
    assert where.get_deferred_fields() == {"guidelines_en"}
    assert values(where) == values(Project.objects.get(pk=project.pk))  # fetched now
    where.save()
    assert not where._state.adding


def test_what_an_outer_join_does_not_find_is_none(db: None) -> None:
    nobody = User.objects.create(username="nobody")
    assert WHO_AND_WHERE.first({"person": nobody.pk}) == [nobody, None, None]


def test_nothing_found_is_none(db: None) -> None:
    assert WHO_AND_WHERE.first({"person": 0}) is None


def test_fields_that_django_converts_are_to_be_left_out() -> None:
    with pytest.raises(TypeError, match="Event: leave out data"):
        Side(Event, "event")
    assert "data" not in Side(Event, "event", without=("data",)).names


def test_a_value_stands_among_the_rows(ann: User) -> None:
    names = Value("ARRAY(SELECT username FROM accounts_user WHERE id = person.id)")
    asked = Joined("SELECT {columns}" + FROM, names, Side(User, "person"))
    assert asked.first({"person": ann.pk}) == [[ann.username], ann]


def test_a_new_row_is_stored_as_django_stores_it(
    project: Project, ann: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    told: dict[str, Any] = {
        "project": project,
        "actor": ann,
        "subject_type": "t",
        "subject_id": "1",
        "kind": "k",
        "reason": "“100 %”",
        "data": {"a": [None, "é"]},
    }
    row, by_django = Event(**told), Event.objects.create(**told)
    with django_assert_num_queries(1):
        NewRow(Event).insert(row)
    assert not row._state.adding
    stored = Event.objects.get(pk=row.pk)
    assert values(stored) == values(row)
    assert {**values(by_django), "id": row.pk, "at": row.at} == values(row)


def test_a_key_of_its_own_is_kept_and_taken_once(project: Project) -> None:
    new = NewRow(Job)
    job = Job(project=project, kind="import")
    key = job.pk
    new.insert(job)
    assert job.pk == key
    assert Job.objects.get(pk=key).state == JobState.QUEUED
    with pytest.raises(IntegrityError), transaction.atomic():
        new.insert(Job(pk=key, kind="import"))


def test_rows_that_something_else_fills_are_refused() -> None:
    with pytest.raises(TypeError, match="Task: rank"):
        NewRow(Task)
