"""What an overview says of labels that cannot be exported yet, and of work that waits for others."""

from dataclasses import replace
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.overview.selectors import overviews
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from frontend.pages.projects.waiting_for_others import waiting_for_others
from projects.models import Project
from projects.selectors import capabilities_of
from tests.annotation.batch_review.conftest import get_page, label_next
from tests.annotation.conftest import imported


@pytest.fixture
def unsettled(sealed: Round) -> Round:
    """Two dialogues of the sealed batch are open again: one disputed, one to be confirmed."""
    disputed, confirming = Task.objects.filter(round=sealed).order_by("pk")[:2]
    Task.objects.filter(pk=disputed.pk).update(state=TaskState.DISPUTED)
    Task.objects.filter(pk=confirming.pk).update(state=TaskState.CONFIRMING)
    return sealed


def test_the_overview_says_why_labels_cannot_be_exported(
    client: Client, quality: Project, unsettled: Round, anna: User, mara: User
) -> None:
    imported(quality, 1)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    label_next(quality, anna, [2])
    shown = " ".join(get_page(client, mara, "/p/quality/").split())
    assert "6 dialogues with final labels cannot be exported yet: their batches are not accepted." in shown
    assert "1 dialogue with a final label cannot be exported yet: it is in no batch." in shown
    Round.objects.update(state=RoundState.ACCEPTED)
    Task.objects.update(state=TaskState.FINAL)
    Task.objects.filter(round=None).delete()
    assert "cannot be exported yet" not in get_page(client, mara, "/p/quality/")


def test_the_overview_says_what_waits_for_others(
    client: Client, quality: Project, unsettled: Round, carla: User, mara: User
) -> None:
    shown = " ".join(get_page(client, mara, "/p/quality/").split())
    assert 'href="/p/quality/dialogues/?label=disputed">1 disputed dialogue</a>' in shown
    to_confirm = "1 dialogue to be confirmed by its annotators"
    assert f'href="/p/quality/dialogues/?label=confirming">{to_confirm}<' in shown
    assert 'href="/p/quality/batches/">1 batch for the controllers</a>' in shown
    assert "Waiting for others" not in get_page(client, carla, "/p/quality/")
    Round.objects.update(state=RoundState.ACCEPTED)
    Task.objects.update(state=TaskState.FINAL)
    assert "Waiting for others" not in get_page(client, mara, "/p/quality/")


@pytest.mark.parametrize(("to_confirm", "is_shown"), [(0, True), (1, False)])
def test_what_the_reader_has_to_confirm_does_not_wait_for_others(
    quality: Project, unsettled: Round, mara: User, to_confirm: int, is_shown: bool
) -> None:
    seen = replace(overviews(mara, [quality])[quality.pk], to_confirm=to_confirm)
    waiting = waiting_for_others(quality, capabilities_of(mara, quality), seen)
    assert any("to be confirmed" in words for words, _address in waiting) == is_shown
