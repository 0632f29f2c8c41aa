"""The demo project of scripted annotators: enough dialogues to try “train, compare, promote”."""

import io
from typing import Final
from uuid import uuid5

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.demo.dialogue_writer import NAMESPACE
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, ReviewState
from dialogues.services.imports import start_import
from generation.demo_model.demo_log import read_log
from jobs.models import JobState
from jobs.services import run_job
from projects.models import Project

SLUG: Final = "scripted"
PLANNED: Final = 20  # dialogues left for people to write
DESCRIPTION: Final = (
    "A log to train a first model on: export it, train, compare, promote. "
    "用来训练第一个模型的标注日志：导出、训练、对比、启用。\n\n"
    "Demo data: no person wrote it. A script chose, edited and wrote the replies to real candidates of the demo model, "
    "and nobody reviewed them. 演示数据：并非真人所写。候选回复确由演示模型生成，但选用、修改和撰写都由脚本完成，"
    "“通过”也未经人工审核。"
)


def create_scripted_project(manager: User, engineer: User) -> Project:
    """Create the project and import its log. Safe to repeat.

    The dialogues count as reviewed, so that exports and training runs use them. More are planned, to be written with
    the trained model.
    """
    project = Project.objects.filter(slug=SLUG).first() or create_project(
        slug=SLUG,
        preset="diamante",
        title="Scripted chat 脚本对话",
        description=DESCRIPTION,
        actor=manager,
    )
    job = start_import(
        project=project,
        actor=engineer,
        source=io.BytesIO(read_log()),
        name="scripted-annotators.jsonl",
        format="diamante",
        submission_id=uuid5(NAMESPACE, "scripted import"),
        enqueue=False,
    )
    if job.state == JobState.QUEUED:
        run_job(job_id=job.pk)
        Dialogue.objects.filter(import_job=job).update(review_state=ReviewState.PASSED)
    plan_dialogues(project=project, actor=manager, count=PLANNED, plan_id=uuid5(NAMESPACE, "scripted plan"))
    return project
