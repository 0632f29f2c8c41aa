"""A training of two processes with the real trainer: it loses one, is resumed, is cancelled, and ends."""

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from accounts.models import User
from jobs.models import JobState
from jobs.services import cancel_job
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.selectors import curve_of
from preference.runs.services.trainings import resume_training
from preference.training.common.progress import read_lines
from projects.models import Project
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.learning import carried_out, snapshot_of, training
from tests.preference.runs.test_stops import Meanwhile
from tests.processes import wait_until
from tests.sizes import FULL

CHANGES = {"batch": 256, "epochs": 15, "warmup": 2}  # a step in each epoch


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_a_training_of_two_processes_survives_the_loss_of_one(
    project: Project, eric: User, tiny_model: Callable[..., Path]
) -> None:
    base = str(tiny_model("llama"))
    data = snapshot_of(project, dialogues=60, held_out=False)  # large enough to be interrupted
    run = training(project, None, data, model=base, changes=CHANGES, processes=2)
    under_way = start_until_a_step(run)
    family = processes_of(run)
    assert len(family) == 3, family  # torchrun and two that train
    second = next(one for one in family if one.environ().get("LOCAL_RANK") == "1")
    second.kill()
    job = under_way.ended()
    assert job.state == JobState.FAILED
    assert job.error == "Process 2 of 2 was killed, probably because memory ran out."
    assert "token_budget" in job.remedy
    wait_until(lambda: not any(one.is_running() for one in family), 5, "the end of the other processes")

    if FULL:
        resume_training(run=run, actor=eric)
        under_way = start_until_a_step(run)
        family = processes_of(run)
        cancel_job(job=under_way.job(), actor=eric)
        assert under_way.ended().state == JobState.CANCELLED
        assert (folder_of_run(run) / "checkpoints").exists()
        assert not any(one.is_running() for one in family)

    resume_training(run=run, actor=eric)
    run = carried_out(run)
    assert run.job.state == JobState.DONE, (run.job.error, run.job.remedy)
    assert [point.step for point in curve_of(run).points] == list(range(1, CHANGES["epochs"] + 1))
    assert (run.model.config["processes"], run.model.config["device"]) == (2, "cpu")


def start_until_a_step(run: TrainingRun) -> Meanwhile:
    curve = folder_of_run(run) / "progress.jsonl"
    curve.unlink(missing_ok=True)
    under_way = Meanwhile(run)
    wait_until(lambda: bool(read_lines(curve)), 60, "a step")
    return under_way


def processes_of(run: TrainingRun) -> list[psutil.Process]:
    """All that write into its folder."""
    parent = psutil.Process(int((folder_of_run(run) / "process").read_text()))
    return [parent, *parent.children(recursive=True)]
