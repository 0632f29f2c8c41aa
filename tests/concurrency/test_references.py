"""Services lock rows FOR NO KEY UPDATE, so they do not wait for transactions that insert a reference to the row."""

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
    user = User.objects.create(username="carlos")
    Membership.objects.create(project=project, user=user, roles=[Role.CONTROLLER])
    return user


@pytest.fixture
def finished(project: Project) -> Dialogue:
    return Dialogue.objects.create(project=project, origin=Origin.AUTHORED, state=DialogueState.FINISHED)


def run_during_reference(row: models.Model, act: Callable[[], Any]) -> Any:
    """Run `act` while another transaction holds the lock of a foreign key to the row. Returns the result of `act`."""
    locked, done = Event(), Event()

    def hold_key_share_lock() -> bool:
        with transaction.atomic(), connection.cursor() as cursor:
            # PostgreSQL takes this lock when a row with a foreign key to the row is inserted.
            cursor.execute(f"SELECT FROM {row._meta.db_table} WHERE id = %s FOR KEY SHARE", [row.pk])
            locked.set()
            return done.wait(60)

    def act_then_release() -> Any:
        assert locked.wait(60)
        try:
            return act()
        finally:
            done.set()

    released_in_time, result = run_concurrently(hold_key_share_lock, act_then_release)
    assert released_in_time is True, released_in_time or "it waited for the other transaction"
    assert not isinstance(result, Exception), result
    return result


def test_a_token_is_created_while_its_owner_is_referenced(carlos: User) -> None:
    make = partial(create_token, user=carlos, name="script", scopes=[Scope.READ])
    token, _plain = run_during_reference(carlos, make)
    assert token.user == carlos


def test_a_one_time_password_is_renewed_while_its_user_is_referenced(transactional_db: None) -> None:
    dora, before = create_user(username="dora")
    assert run_during_reference(dora, partial(renew_one_time_password, user=dora)) != before


def test_a_dialogue_is_claimed_while_it_is_referenced(
    project: Project, carlos: User, finished: Dialogue
) -> None:
    claims = partial(claim_next_review, reviewer=carlos, project=project, claim_id=uuid4())
    claim = run_during_reference(finished, claims)
    assert isinstance(claim, ExpertReview), claim
    assert claim.dialogue == finished


def test_a_verdict_is_stored_while_the_dialogue_is_referenced(carlos: User, finished: Dialogue) -> None:
    passes = partial(
        submit_verdict, reviewer=carlos, dialogue_id=finished.pk, review_id=uuid4(), verdict="pass"
    )
    assert isinstance(run_during_reference(finished, passes), ExpertReview)
    finished.refresh_from_db()
    assert finished.review_state == ReviewState.PASSED
