"""A labelling project in which two people judged most dialogues, with the scores of an assessor."""

from random import Random
from typing import Any, Final

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.tasks.models.work import Task
from dialogues.models import Utterance
from preference.evaluators.models import MetaEvaluation, ScoringRun
from projects.models import Project
from tests.browser.labelling import planned
from tests.preference.evaluators.assessed import assessed_run
from tests.preference.evaluators.test_meta_evaluations import compared, label
from tests.preference.evaluators.test_scoring import scored

JUDGED, OPEN = 36, 12
ENDINGS: Final = (
    "去柜台问。",
    "Take your passport to any branch.",
    "打开手机银行，进入“我的账户”，点右上角的眼睛，就能看到完整的卡号；看不到的话，带身份证到任何一个网点都可以查。",
)


def judged_project(manager: User, first: User, second: User, slug: str = "judged") -> Project:
    """36 dialogues have labels on which the two mostly agree; 12 wait for people."""
    chance = Random(3)
    project = planned("diqad", manager, count=JUDGED + OPEN, slug=slug)
    BatchPlan.objects.create(project=project, question="quality", batch_size=10, sample_size=4)
    for number, task in enumerate(Task.objects.filter(project=project).order_by("pk")):
        value = number % 3
        Utterance.objects.filter(dialogue=task.dialogue, position=3).update(text=ENDINGS[value])
        if number < JUDGED:
            other = value if chance.random() < 0.8 else min(2, value + 1)
            label(task, value, (first, value), (second, other))
            Task.objects.filter(pk=task.pk).update(open_slots=0)
    return project


def assess(project: Project) -> ScoringRun:
    """An assessor that is right three times in four, and unsure now and then."""
    chance, rows = Random(5), {}
    tasks = Task.objects.filter(project=project).order_by("pk").values_list("dialogue", flat=True)
    for number, dialogue in enumerate(tasks):
        sure = chance.uniform(0.36, 0.97)
        label_ = number % 3 if chance.random() < 0.75 else (number + 1) % 3
        rest = (1 - sure) / 2
        rows[dialogue or 0] = [sure if place == label_ else rest for place in range(3)]
    return assessed_run(project, rows)


def fill_judged(people: dict[str, Any]) -> tuple[ScoringRun, MetaEvaluation]:
    """The scores of an assessor, and three evaluators compared with people."""
    project = judged_project(people["mara"], people["ann"], people["lina"])
    run = assess(project)
    others = [scored(project, name) for name in ("length", "random")]
    return run, compared(project, runs=[run.pk, *(other.pk for other in others)])
