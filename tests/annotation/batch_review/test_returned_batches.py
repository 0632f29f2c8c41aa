"""Returned batches as the annotators see them who label them again."""

from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.batch_review.selectors.returned_batches import ReturnedBatch, returned_batches
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Project, Role
from projects.services import set_group
from tests.annotation.conftest import Joins


@pytest.fixture
def bela(quality: Project, joins: Joins) -> User:
    return joins("bela", quality, Role.ANNOTATOR)


def test_it_takes_one_query(
    quality: Project, returned: Round, anna: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert returned_batches(anna, quality) == [ReturnedBatch(1, 8, "Read twice.")]


def test_what_the_annotator_has_had_does_not_wait_for_them(
    quality: Project, returned: Round, anna: User, bela: User
) -> None:
    Task.objects.filter(round=returned).update(overlap=2, open_slots=2)
    claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert [one.waiting for one in returned_batches(anna, quality)] == [7]
    assert [one.waiting for one in returned_batches(bela, quality)] == [8]


def test_only_languages_that_the_annotator_reads_wait(quality: Project, returned: Round, anna: User) -> None:
    anna.reading_languages = ["de"]
    tasks = Task.objects.filter(round=returned)
    tasks.update(language="fr")
    assert returned_batches(anna, quality) == []
    Task.objects.filter(pk=tasks.latest("rank").pk).update(language="de")
    assert [one.waiting for one in returned_batches(anna, quality)] == [1]


def test_another_group_reads_nothing(quality: Project, returned: Round, anna: User, bela: User) -> None:
    set_group(project=quality, actor=None, user=bela, group="west")
    Task.objects.filter(round=returned).update(group="west")
    assert returned_batches(anna, quality) == []
    assert [one.waiting for one in returned_batches(bela, quality)] == [8]
