"""The labelling projects of the demo: helpdesk dialogues labelled by three robots, and chats to judge."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Final
from uuid import uuid5

from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.services.cutting import cut_batches
from annotation.demo.dialogue_writer import NAMESPACE
from annotation.demo.helpdesk_file import helpdesk_file
from annotation.labelling.models.labels import Submission
from annotation.labelling.services.settings import update_labelling
from annotation.labelling.services.submissions import SentLabels, serve, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.services.imports import start_import
from generation.demo_model.corpus import write_corpus
from jobs.models import JobState
from jobs.services import run_job
from projects.models import Project

DESCRIPTIONS: Final = {
    "helpdesk": "Label what helps customers on: nuggets, and whether the task was accomplished. "
    "标注客服对话：哪些话推动了问题的解决，任务是否完成。\n\n"
    "Demo data: the dialogues and the imported labels were made up. 演示数据：对话与导入的标注均为虚构。",
    "quality": "Judge the quality of chats; two people must agree. 评判对话质量，两人须一致。\n\n"
    "Demo data: what “demo robots” answered was made up, and the labels of batch 1 are two scripts'. "
    "演示数据：“演示机器人”的答案均为虚构，第 1 批的标签由两个脚本给出。",
}
LABELLED_HELPDESK: Final = 14
CHATS: Final = 30
# The demo has one controller, so nobody could judge a sample a second time.
PLAN: Final = {"question": "quality", "batch_size": 8, "sample_size": 5, "double_every": 0}
READING: Final = timedelta(seconds=45)
REASONS: Final[Mapping[int, Sequence[str]]] = {
    0: ("not_empathetic", "no_answer"),
    1: ("incomplete", "less_proactive"),
    2: (),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The answers of two people about the quality of a dialogue, and their second answers; None: not answered yet."""

    first: tuple[int, int]
    second: tuple[int | None, int | None] = (None, None)


# Agreed at once, agreed on the second answer, disputed, and one that waits for the second person.
BY_ROBOTS: Final = (
    *(Pair((score, score)) for score in (2, 1, 2, 0, 2, 1, 1, 2)),
    Pair((2, 1), (1, None)),
    Pair((1, 0), (1, 1)),
    Pair((2, 0), (2, 0)),
    Pair((1, 2), (1, 2)),
)
WITH_ANN: Final = (Pair((1, 1)), Pair((2, 1), (2, None)))


def create_helpdesk_project(manager: User, engineer: User) -> Project:
    """Two thirds of the dialogues are imported with the labels of three annotators. Safe to repeat."""
    project = _get_or_create_project("helpdesk", "dialeval", "Helpdesk 客服", manager)
    update_labelling(project=project, actor=manager, changes={"overlap": 2})
    import_file(project, engineer, helpdesk_file(LABELLED_HELPDESK), "helpdesk.json", "dialeval")
    return project


def create_quality_project(manager: User) -> Project:
    """The project, without dialogues. Safe to repeat."""
    return _get_or_create_project("quality", "diqad", "Quality 质量", manager)


def import_quality_chats(project: Project, engineer: User) -> None:
    """Chats of the demo's corpus, each judged by two people. Safe to repeat."""
    rows = [
        {
            "id": f"chat-{n}",
            "language": language,
            "messages": [
                {"role": ("user", "assistant")[place % 2], "content": text}
                for place, (_speaker, text) in enumerate(messages)
            ],
        }
        for n, (language, messages) in enumerate(write_corpus(11, CHATS))
    ]
    file = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    import_file(project, engineer, file.encode(), "chats.jsonl", "messages")


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
    for stage, scores in enumerate((pair.first, pair.second)):
        for place, score in enumerate(scores):
            if score is not None:
                _submit(assignments[place], score, f"quality {n} {place} {stage}")


def _submit(assignment: Assignment, score: int, key: str) -> None:
    """Submit 45 seconds after the dialogue was shown, to respect the minimum reading time."""
    submission_id, dice = uuid5(NAMESPACE, key), Random(key)
    if Submission.objects.filter(pk=submission_id).exists():
        return
    Assignment.objects.filter(pk=assignment.pk).update(served_at=timezone.now() - READING)
    schema = assignment.project.labelling.schema
    labels = SentLabels(
        id=submission_id,
        schema=schema.version if schema else 0,
        answers={"dialogue": _answers(score, dice), "utterances": {}},
        note="" if score else dice.choice(["He was simply sent away.", "没有理会对方的心情。"]),
        active_ms=dice.randint(18_000, 40_000),
        idle_ms=dice.randint(0, 5_000),
    )
    serve(assignment=Assignment.objects.select_related("task").get(pk=assignment.pk))
    submit_labels(annotator=assignment.annotator, assignment_id=assignment.pk, sent=labels)


def _answers(score: int, dice: Random) -> dict[str, Any]:
    answers: dict[str, Any] = {"verify": 0, "quality": score}
    if REASONS[score]:
        answers[f"reasons_{score}"] = [dice.choice(REASONS[score])]
    return answers
