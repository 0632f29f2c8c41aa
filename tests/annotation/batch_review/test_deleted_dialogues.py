"""Deleting a dialogue of a batch: before, during and after its review."""

import pytest
from django.test import Client, TestCase

from accounts.models import User
from annotation.batch_review.models import Judgement, Sample, SampleItem
from annotation.batch_review.selectors.eligibility import items_left_for
from annotation.batch_review.selectors.sample_progress import sample_progress
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Task
from dialogues.models import Dialogue
from dialogues.services.deleting import delete_dialogue
from projects.models import Project
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    get_page,
    judge_item,
    label_next,
    latest_round,
    sample_items,
)

pytestmark = pytest.mark.django_db


def delete(item: SampleItem, mara: User) -> None:
    dialogue = item.task.dialogue
    assert dialogue is not None
    delete_dialogue(dialogue=dialogue, actor=mara, reason="Asked for.")


def test_a_judged_sample_keeps_its_verdict_without_the_text(
    returned: Round, quality: Project, carla: User, mara: User, client: Client
) -> None:
    sample = Sample.objects.get(round=returned.batch.rounds.get(number=1))
    before, figures = sample_progress(sample), sample.round.figures
    wrong = next(item for item in sample_items(sample) if not item.judgements.get().is_right)
    delete(wrong, mara)
    stored = SampleItem.objects.get(pk=wrong.pk)
    assert stored.task.dialogue is None
    assert set(stored.final.answers["dialogue"]) == {"quality"}
    judgement = Judgement.objects.get(item=wrong)
    assert (set(judgement.answers["dialogue"]), judgement.reason) == ({"quality"}, "")
    assert not Submission.objects.filter(task=wrong.task).exists()
    after = sample_progress(sample)
    assert (after.right, after.judged, after.sample) == (before.right, before.judged, before.sample)
    sample.round.refresh_from_db()
    assert sample.round.figures == figures
    # The next round, which is open, gets smaller.
    assert Task.objects.filter(round=latest_round(returned.batch)).count() == 7
    assert Batch.objects.get().size == 7
    page = get_page(client, carla, f"/p/quality/batches/{returned.batch.number}/?round=1")
    assert "deleted dialogue" in page


def test_one_that_is_not_judged_yet_leaves_the_sample(drawn: Sample, carla: User, mara: User) -> None:
    first, second, *rest = sample_items(drawn)
    judge_item(carla, first, right=True)
    delete(second, mara)
    delete(first, mara)
    assert SampleItem.objects.filter(sample=drawn).count() == 3
    assert set(items_left_for(carla, drawn).values_list("pk", flat=True)) == {item.pk for item in rest}
    progress = sample_progress(drawn)
    assert (progress.judged, progress.sample) == (1, 3)


def test_an_open_batch_is_sealed_if_only_the_deleted_one_was_missing(
    quality: Project, anna: User, mara: User
) -> None:
    batch = cut_one_batch(quality, 3)
    label_next(quality, anna, [2, 2])
    last = Dialogue.objects.get(tasks__state="open")
    with TestCase.captureOnCommitCallbacks(execute=True):
        delete_dialogue(dialogue=last, actor=mara, reason="Asked for.")
    batch.refresh_from_db()
    assert (batch.size, latest_round(batch).state) == (2, RoundState.SEALED)
    assert FinalLabel.objects.filter(superseded_at=None).count() == 2
