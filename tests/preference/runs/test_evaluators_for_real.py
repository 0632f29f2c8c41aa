"""From a snapshot to a registered evaluator, with the real trainers at tiny size."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from accounts.models import User
from jobs.models import JobState
from preference.registry.files import folder_of_model
from preference.registry.models import ModelKind
from preference.runs.files import STATES, folder_of_run
from preference.runs.selectors import curve_of
from preference.runs.services.trainings import start_training
from projects.models import Project
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.preference.learning import carried_out, snapshot_of, training

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_paireval_learns_from_candidates_that_people_left_aside(
    project: Project, eric: User, tiny_model: Callable[..., Path]
) -> None:
    changes = {"batch": 16, "comparisons": 2, "negatives": "random unchosen"}
    run = training(
        project,
        None,
        snapshot_of(project),
        kind=ModelKind.PAIREVAL,
        model=str(tiny_model("llama")),
        changes=changes,
    )
    run = carried_out(run)
    assert run.job.state == JobState.DONE, (run.job.error, run.job.remedy)
    folder = folder_of_model(run.model)
    assert (folder / "comparisons.jsonl").is_file()
    assert run.model.config["data"]["negatives"]["unchosen"] > 0
    assert curve_of(run).points[0].nll is None


def test_assessors_are_compared_and_the_best_is_registered(mara: User) -> None:
    quality = labelled_project(mara, [0, 1, 2] * 20)
    changes = {"epochs": 2, "hidden": 16, "layers": 1, "heads": 2, "vocabulary": 300, "max_length": 64}
    run = start_training(
        run_id=uuid4(),
        project=quality,
        actor=mara,
        snapshot=labelled_snapshot(quality, mara),
        kind=ModelKind.ASSESSOR,
        models=["majority", "naive_bayes", "gru"],
        changes=changes,
    )
    run = carried_out(run)
    assert run.job.state == JobState.DONE, (run.job.error, run.job.remedy)
    model = run.model
    assert model.report["chosen"] == "gru"
    assert set(model.report["models"]) == {"majority", "naive_bayes", "gru"}
    assert model.report["models"]["gru"]["tested"] == 12
    assert (folder_of_model(model) / "assessor.json").is_file()
    assert (folder_of_run(run) / STATES).is_file()
    assert run.job.done == run.job.total == curve_of(run).steps
