"""Removes people's work on dialogues that are deleted.

A round that is in review or has its verdict keeps a place for the dialogue, so that its counts stay as they were
judged: a task without a dialogue and, in a judged sample, the label and the correction in the checked question
alone.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.batch_review.models import Appeal, AppealState, Judgement, LaterJudgement, SampleItem
from annotation.batch_review.services.sealing import seal_when_complete
from annotation.labelling.models.labels import FinalLabel
from annotation.onboarding.models import AdmissionTry, TryState
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.services.assignment import subtract_taken

KEEPS_PLACE = (RoundState.IN_REVIEW, RoundState.ACCEPTED, RoundState.RETURNED)


def lock_work(dialogues: Sequence[int]) -> None:
    """Lock rounds, assignments and tasks, in the order in which reviews and submissions lock them."""
    tasks = Task.objects.filter(dialogue__in=dialogues).order_by("pk")
    rounds = Round.objects.filter(Exists(tasks.filter(round=OuterRef("pk"))))
    for rows in (rounds, Assignment.objects.filter(dialogue__in=dialogues), tasks):
        list(rows.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))


def forget_work(dialogues: Sequence[int]) -> None:
    """Remove the work on these dialogues, under the locks of lock_work."""
    tasks = Task.objects.filter(dialogue__in=dialogues)
    _end_tries(dialogues)
    for project in {task.project for task in tasks.select_related("project")}:
        subtract_taken(project, list(tasks.filter(project=project).values_list("pk", flat=True)))
    Assignment.objects.filter(dialogue__in=dialogues).delete()
    _keep_places(tasks.filter(round__state__in=KEEPS_PLACE))
    _leave_rounds(tasks.filter(round__state__in=(RoundState.OPEN, RoundState.SEALED)))


def _end_tries(dialogues: Sequence[int]) -> None:
    """A try of an admission test that runs with such a dialogue begins again; it does not count as one."""
    AdmissionTry.objects.filter(state=TryState.RUNNING, items__gold__dialogue__in=dialogues).delete()


def _leave_rounds(tasks: QuerySet[Task]) -> None:
    """A round that is not in review yet gets smaller, and is sealed if nothing else was missing."""
    for round_id, batch in tasks.values_list("round", "round__batch"):
        Batch.objects.filter(pk=batch).update(size=F("size") - 1)
        transaction.on_commit(partial(seal_when_complete, round_id=round_id), robust=True)


def _keep_places(tasks: QuerySet[Task]) -> None:
    keys = list(tasks.values_list("pk", flat=True))
    items = SampleItem.objects.filter(task__in=keys).select_related("sample", "final")
    unjudged = items.exclude(Exists(Judgement.objects.filter(item=OuterRef("pk"), superseded_at=None)))
    unjudged.filter(sample__round__state=RoundState.IN_REVIEW).delete()  # or the verdict would wait for it
    for item in items:
        _empty_item(item)
    in_sample = Q(drawn__isnull=False)
    FinalLabel.objects.filter(~in_sample, task__in=keys).delete()
    FinalLabel.objects.filter(task__in=keys, superseded_at=None).update(superseded_at=timezone.now())
    Task.objects.filter(pk__in=keys).update(dialogue=None, open_slots=0, disagreement=None)


def _empty_item(item: SampleItem) -> None:
    """Keep the class of the label and of the right answer, which the verdict rests on, and nothing else."""
    question = item.sample.question
    FinalLabel.objects.filter(pk=item.final_id).update(
        answers=only_answer(item.final.answers, question), dialogue=None, undecided=[], reason=""
    )
    for model in (Judgement, LaterJudgement):
        for row in model._default_manager.filter(item=item):
            row.answers, row.reason = only_answer(row.answers, question), ""
            row.save(update_fields=["answers", "reason"])
    Appeal.objects.filter(item=item, state=AppealState.OPEN).delete()  # nobody can settle it any more
    Appeal.objects.filter(item=item).update(reason="", settlement="")


def only_answer(answers: Mapping[str, Any], question: str) -> dict[str, Any]:
    """The answer to one question of the dialogue, without the others."""
    given = answers.get("dialogue", {})
    return {"dialogue": {question: given[question]} if question in given else {}, "utterances": {}}
