"""The accepted batch of the demo's quality project: dialogues labelled by two scripts, for assessors to learn from."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import uuid5

from accounts.models import User
from annotation.batch_review.models import BatchPlan, SampleItem
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round
from annotation.demo.dialogue_writer import NAMESPACE
from annotation.demo.labelling_projects import PLAN, import_file
from annotation.demo.quality_chats import LabelledChat, labelled_chats_file, write_labelled_chats
from annotation.labelling.services.resolution import decide_dispute
from annotation.tasks.models.work import Task, TaskState
from projects.models import Project

IN_SAMPLE: Final = 20


def create_accepted_batch(project: Project, *, engineer: User, trainer: User, controller: User) -> None:
    """Import the labelled dialogues, decide where the scripts differ, and accept them. The project must be empty."""
    chats = {chat.id: chat for chat in write_labelled_chats()}
    file = labelled_chats_file(list(chats.values()))
    import_file(project, engineer, file, "answers.jsonl", "messages", key="labelled import")
    _decide_disputes(project, trainer, chats)
    _accept(project, controller, chats)


def _decide_disputes(project: Project, trainer: User, chats: Mapping[str, LabelledChat]) -> None:
    disputed = Task.objects.filter(project=project, state=TaskState.DISPUTED).select_related("dialogue")
    for task in disputed:
        chat = _chat_of(task, chats)
        decide_dispute(
            trainer=trainer,
            task_id=task.pk,
            decision_id=uuid5(NAMESPACE, f"{chat.id} decision"),
            answers={"dialogue": chat.answers_for(chat.score), "utterances": {}},
            reason="Its weakest answer decides. 以最差的一个回答为准。",
        )


def _accept(project: Project, controller: User, chats: Mapping[str, LabelledChat]) -> None:
    plan = BatchPlan.objects.create(
        project=project, **{**PLAN, "batch_size": len(chats), "sample_size": IN_SAMPLE}
    )
    [batch] = cut_batches(project=project, actor=None, cut_id=uuid5(NAMESPACE, "quality accepted batch"))
    round_id = batch.rounds.get().pk
    sample = draw_sample(
        controller=controller, round_id=round_id, sample_id=uuid5(NAMESPACE, "quality sample")
    )
    _judge(controller, list(sample.items.select_related("task__dialogue")), chats)
    accept_round(controller=controller, round_id=round_id, decision_id=uuid5(NAMESPACE, "quality acceptance"))
    BatchPlan.objects.filter(pk=plan.pk).update(**PLAN)


def _judge(controller: User, items: Sequence[SampleItem], chats: Mapping[str, LabelledChat]) -> None:
    for item in items:
        chat = _chat_of(item.task, chats)
        answers = {"dialogue": chat.answers_for(chat.score), "utterances": {}}
        judge(
            controller=controller,
            item_id=item.pk,
            sent=SentJudgement(uuid5(NAMESPACE, f"{chat.id} judgement"), answers, active_ms=30_000),
        )


def _chat_of(task: Task, chats: Mapping[str, LabelledChat]) -> LabelledChat:
    if task.dialogue is None:
        raise ValueError("A labelling task has a dialogue.")
    return chats[task.dialogue.external_id]
