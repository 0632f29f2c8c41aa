"""Rows of several models out of one statement."""

import pytest
from django.db import models
from pytest_django import DjangoAssertNumQueries

from accounts.joined import Joined, Side
from accounts.models import User
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
