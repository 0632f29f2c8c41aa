"""What trainer and evaluator say is shown in the language of the person who started them."""

from uuid import uuid4

import pytest
from django.utils.translation import override

from accounts.models import User
from generation.models import Generator
from jobs.models import JobState
from jobs.services import run_job
from preference import child_process
from preference.evaluation.services import start_evaluation
from projects.models import Project
from tests.preference.conftest import refused
from tests.preference.learning import local as local
from tests.preference.learning import snapshot_of, training

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("language", "cause", "remedy"),
    [
        (
            "zh-hans",
            "中没有“valid”划分的对话（各划分的对话数：test 3, train 9）。",
            "请用 --split 指定其他划分，或用 --split all 选取全部。",
        ),
        (
            "en",
            "is of the split valid (dialogues by split: test 3, train 9).",
            "Name another with --split, or take all with --split all.",
        ),
    ],
)
def test_a_failure_is_reported_in_the_language_of_who_started_it(
    project: Project,
    eric: User,
    local: Generator,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    cause: str,
    remedy: str,
) -> None:
    monkeypatch.setattr(child_process, "LOOK_EVERY", 0.02)
    with override(language):
        row = start_evaluation(
            evaluation_id=uuid4(),
            project=project,
            actor=eric,
            snapshot=snapshot_of(project),
            model="",
            split="valid",
        )
    job = run_job(job_id=row.job_id)
    assert (job.state, job.remedy) == (JobState.FAILED, remedy)
    assert cause in job.error


def test_a_recipe_is_refused_in_the_language_of_who_asks(
    project: Project, eric: User, local: Generator
) -> None:
    with override("zh-hans"), refused("invalid") as said:
        training(project, eric, changes={"batch": 0})
    assert (said.value.message, said.value.remedy) == ("batch 为 0，但不得小于 1。", "请改正：--set batch=…")
