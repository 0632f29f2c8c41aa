"""A row that others refer to is locked without its key: nothing waits for a row about it that is being stored."""

from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, models, transaction

from accounts.models import Scope, User
from accounts.services import create_token, create_user, renew_one_time_password
from annotation.expert_review.models import ExpertReview
from annotation.expert_review.services import claim_next_review, submit_verdict
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, DialogueState, Origin, ReviewState
from projects.models import Membership, Project, Role
from tests.concurrency.test_labels import run_concurrently

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def project(transactional_db: None) -> Project:
    return create_project(slug="diamante", preset="diamante", actor=None)


@pytest.fixture
def carlos(project: Project) -> User:
    made = User.objects.create(username="carlos")
    Membership.objects.create(project=project, user=made, roles=[Role.CONTROLLER])
    return made


@pytest.fixture
def finished(project: Project) -> Dialogue:
    return Dialogue.objects.create(project=project, origin=Origin.AUTHORED, state=DialogueState.FINISHED)


def while_referred_to(row: models.Model, act: Callable[[], Any]) -> Any:
    """What `act` makes while another transaction stores something about the row, and ends only after it."""
    stored, done = Event(), Event()

    def refers() -> bool:
        with transaction.atomic(), connection.cursor() as cursor:
            # What PostgreSQL itself does where a row with a foreign key to it is stored.
            cursor.execute(f"SELECT FROM {row._meta.db_table} WHERE id = %s FOR KEY SHARE", [row.pk])
            stored.set()
            return done.wait(10)

    def acts() -> Any:
        assert stored.wait(10)
        try:
            return act()
        finally:
            done.set()

    in_time, made = run_concurrently(refers, acts)
    assert in_time is True, in_time or "it waited until the other one had ended"
    assert not isinstance(made, Exception), made
    return made


def test_a_token_is_made_while_its_owner_works(carlos: User) -> None:
    make = partial(create_token, user=carlos, name="script", scopes=[Scope.READ])
    token, _plain = while_referred_to(carlos, make)
    assert token.user == carlos


def test_a_one_time_password_is_renewed_while_somebody_adds_the_person(transactional_db: None) -> None:
    dora, before = create_user(username="dora")
    assert while_referred_to(dora, partial(renew_one_time_password, user=dora)) != before


def test_a_dialogue_is_given_to_an_expert_while_somebody_asks_about_it(
    project: Project, carlos: User, finished: Dialogue
) -> None:
    claims = partial(claim_next_review, reviewer=carlos, project=project, claim_id=uuid4())
    claim = while_referred_to(finished, claims)
    assert isinstance(claim, ExpertReview), claim
    assert claim.dialogue == finished


def test_a_verdict_is_stored_while_somebody_asks_about_the_dialogue(carlos: User, finished: Dialogue) -> None:
    passes = partial(
        submit_verdict, reviewer=carlos, dialogue_id=finished.pk, review_id=uuid4(), verdict="pass"
    )
    assert isinstance(while_referred_to(finished, passes), ExpertReview)
    finished.refresh_from_db()
    assert finished.review_state == ReviewState.PASSED
