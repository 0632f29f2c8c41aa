"""The labelling projects of the demo: helpdesk dialogues labelled by three robots, and answers to judge."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from random import Random
from typing import Any, Final
from uuid import uuid5

from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.services.cutting import cut_batches
from annotation.demo.dialogue_writer import NAMESPACE
from annotation.demo.helpdesk_file import helpdesk_file
from annotation.demo.quality_dialogues import QualityDialogue, quality_dialogues, quality_file
from annotation.labelling.models.labels import Submission
from annotation.labelling.services.settings import update_labelling
from annotation.labelling.services.submissions import SentLabels, serve, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue
from dialogues.services.imports import start_import
from jobs.models import JobState
from jobs.services import run_job
from projects.models import Project

DESCRIPTIONS: Final = {
    "helpdesk": "Label what helps customers on: nuggets, and whether the task was accomplished. "
    "标注客服对话：哪些话推动了问题的解决，任务是否完成。\n\n"
    "Demo data: the dialogues and the imported labels were made up. 演示数据：对话与导入的标注均为虚构。",
    "quality": "Judge how well questions are answered; two people must agree. 评判问题回答得好不好，两人须一致。\n\n"
    "Demo data: what “demo robots” answered was made up, and two scripts labelled batch 1. "
    "演示数据：“演示机器人”的答案均为虚构，第 1 批的标签由两个脚本给出。",
}
LABELLED_HELPDESK: Final = 14
# The demo has one controller, so nobody could judge a sample a second time.
PLAN: Final = {"question": "quality", "batch_size": 8, "sample_size": 5, "double_every": 0}
SHOWN_FOR: Final = timedelta(seconds=45)
NOTES: Final = {"en": "The question is not answered.", "zh": "问题没有得到解答。"}


class Reading(StrEnum):
    """How somebody scores a dialogue: as a careful reader does, or one step off."""

    CAREFUL = "careful"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Pair:
    """How two people read a dialogue, and how they read it when they confirm; None: not answered yet."""

    first: tuple[Reading, Reading] = (Reading.CAREFUL, Reading.CAREFUL)
    second: tuple[Reading | None, Reading | None] = (None, None)


# Agreed at once, agreed on the second answer, disputed, and one that waits for the second person.
BY_ROBOTS: Final = (
    *(Pair() for _agreed in range(8)),
    Pair((Reading.OFF, Reading.CAREFUL), (Reading.CAREFUL, None)),
    Pair((Reading.CAREFUL, Reading.OFF), (Reading.CAREFUL, Reading.CAREFUL)),
    Pair((Reading.CAREFUL, Reading.OFF), (Reading.CAREFUL, Reading.OFF)),
    Pair((Reading.OFF, Reading.CAREFUL), (Reading.OFF, Reading.CAREFUL)),
)
WITH_ANN: Final = (Pair(), Pair((Reading.CAREFUL, Reading.OFF), (Reading.CAREFUL, None)))


def create_helpdesk_project(manager: User, engineer: User) -> Project:
    """Two thirds of the dialogues are imported with the labels of three annotators. Safe to repeat."""
    project = _get_or_create_project("helpdesk", "dialeval", "Helpdesk 客服", manager)
    update_labelling(project=project, actor=manager, changes={"overlap": 2})
    import_file(project, engineer, helpdesk_file(LABELLED_HELPDESK), "helpdesk.json", "dialeval")
    return project


def create_quality_project(manager: User) -> Project:
    """The project, without dialogues. Safe to repeat."""
    return _get_or_create_project("quality", "diqad", "Quality 质量", manager)


def import_quality_dialogues(project: Project, engineer: User) -> None:
    """Questions and answers, each judged by two people. Safe to repeat."""
    import_file(project, engineer, quality_file(), "questions.jsonl", "messages")


def _get_or_create_project(slug: str, preset: str, title: str, manager: User) -> Project:
    found = Project.objects.filter(slug=slug).first()
    return found or create_project(
        slug=slug, preset=preset, title=title, description=DESCRIPTIONS[slug], actor=manager
    )


def import_file(
    project: Project, engineer: User, file: bytes, name: str, format: str, *, key: str = "import"
) -> None:
    """Import a file into a demo project. key: tells its files apart. Safe to repeat."""
    job = start_import(
        project=project,
        actor=engineer,
        source=io.BytesIO(file),
        name=name,
        format=format,
        submission_id=uuid5(NAMESPACE, f"{project.slug} {key}"),
        enqueue=False,
    )
    job = run_job(job_id=job.pk)
    if job.state != JobState.DONE:
        raise RuntimeError(f"The import of {name} ended as {job.state}. {job.error} {job.remedy}")


def label_quality_project(project: Project, ann: User, robots: Sequence[User]) -> None:
    """Label through the services that people use, so that tasks of every state exist. Safe to repeat."""
    for n, pair in enumerate(BY_ROBOTS):
        _label(project, n, robots, pair)
    for n, pair in enumerate(WITH_ANN, start=len(BY_ROBOTS)):
        _label(project, n, (robots[0], ann), pair)


def cut_quality_batches(project: Project, manager: User) -> None:
    """Cut batches of eight. The first is fully labelled, so it is sealed and waits for review. Safe to repeat."""
    BatchPlan.objects.get_or_create(project=project, defaults=PLAN)
    cut_batches(project=project, actor=manager, cut_id=uuid5(NAMESPACE, "quality batches"))


def _label(project: Project, n: int, people: Sequence[User], pair: Pair) -> None:
    assignments = [
        claim_next_task(annotator=person, project=project, claim_id=uuid5(NAMESPACE, f"quality {n} {place}"))
        for place, person in enumerate(people)
    ]
    for stage, readings in enumerate((pair.first, pair.second)):
        for place, reading in enumerate(readings):
            if reading is not None:
                _submit(assignments[place], reading, f"quality {n} {place} {stage}")


def _submit(assignment: Assignment, reading: Reading, key: str) -> None:
    """Submit 45 seconds after the dialogue was shown, to respect the minimum reading time."""
    submission_id, dice = uuid5(NAMESPACE, key), Random(key)
    if Submission.objects.filter(pk=submission_id).exists():
        return
    Assignment.objects.filter(pk=assignment.pk).update(served_at=timezone.now() - SHOWN_FOR)
    schema = assignment.project.labelling.schema
    dialogue = quality_dialogues()[Dialogue.objects.get(pk=assignment.dialogue_id).external_id]
    answers = dialogue.answers if reading == Reading.CAREFUL else _one_step_off(dialogue)
    labels = SentLabels(
        id=submission_id,
        schema=schema.version if schema else 0,
        answers={"dialogue": answers, "utterances": {}},
        note="" if answers["quality"] else NOTES[dialogue.language],
        active_ms=dice.randint(18_000, 40_000),
        idle_ms=dice.randint(0, 5_000),
    )
    serve(assignment=Assignment.objects.select_related("task").get(pk=assignment.pk))
    submit_labels(annotator=assignment.annotator, assignment_id=assignment.pk, sent=labels)


def _one_step_off(dialogue: QualityDialogue) -> dict[str, Any]:
    """Answers of somebody who is stricter than a careful reader, or milder where that is impossible."""
    verify, quality = dialogue.answers["verify"], dialogue.answers["quality"]
    stricter = {2: {"quality": 1, "reasons_1": ["incomplete"]}, 1: {"quality": 0, "reasons_0": ["no_answer"]}}
    return {"verify": verify, **stricter.get(quality, {"quality": 1, "reasons_1": ["incomplete"]})}
