"""From a snapshot to the model that writes the next candidates, with the real trainer and evaluator."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils.translation import override

from accounts.models import User
from generation.models import BackendKind, Generator
from generation.protocol import Sampling
from generation.services import CandidateOptions, request_candidates
from generation.worker import drain
from jobs.models import JobState
from jobs.services import run_job
from preference.data.storage import snapshots_root
from preference.evaluation.models import Evaluation
from preference.evaluation.selectors import comparisons_of
from preference.registry.files import folder_of_model
from preference.registry.services.promotion import promote_model
from preference.runs.files import folder_of_run
from preference.runs.selectors import curve_of
from projects.models import Project
from tests.candidate_requests import create_dialogue
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.learning import carried_out, generator_of, snapshot_of, training

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CHANGES = {"batch": 16, "epochs": 1, "warmup": 2}


def test_train_compare_promote_and_train_further_with_adapters(
    project: Project, eric: User, tiny_model: Callable[..., Path]
) -> None:
    base = str(tiny_model("llama"))
    project.authoring.generator = Generator.objects.create(
        slug="tiny", backend=BackendKind.HF, options={"model": base}
    )
    project.authoring.save()
    run = carried_out(training(project, eric, changes=CHANGES))
    assert run.job.state == JobState.DONE, (run.job.error, run.job.remedy)
    assert run.layout == "trees"
    curve = curve_of(run)
    assert [point.step for point in curve.points] == list(range(1, curve.steps + 1))
    assert run.job.done == run.job.total == curve.steps
    model = run.model
    assert (model.fault, model.base) == ("", base)
    assert model.version.startswith("chit-chat-1/model@")
    assert model.config["data"]["sha256"] == run.snapshot.sha256
    assert not (folder_of_run(run) / "checkpoints").exists()

    for row in Evaluation.objects.all():
        done = run_job(job_id=row.job_id)
        assert done.state == JobState.DONE, (done.error, done.remedy)
    (comparison,) = comparisons_of(project)
    assert {row.model for row in comparison.rows} == {model, None}
    for row in comparison.rows:
        figure: dict[str, Any] = row.report["overall"]["preference"]["p_at_1"]
        assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1

    promote_model(
        promotion_id=uuid4(),
        model=model,
        project=project,
        actor=eric,
        expected_current="tiny",
        reason="better",
    )
    project.authoring.refresh_from_db()
    assert project.authoring.generator == generator_of(model)
    options = CandidateOptions(project.authoring.generator, 3, Sampling(max_new_tokens=4))
    request = request_candidates(dialogue=create_dialogue(project, "tea and rain"), options=options)
    assert drain("worker") == 1
    request.refresh_from_db()
    assert request.candidate_set is not None, request.error
    assert request.candidate_set.model_version == model.version
    assert all(candidate["score"] is not None for candidate in request.candidate_set.candidates)

    further = carried_out(training(project, eric, run.snapshot, changes=CHANGES, is_lora=True))
    assert further.job.state == JobState.DONE, (further.job.error, further.job.remedy)
    assert further.model.parent == model
    assert further.model.config["base_model"]["name"] == str(folder_of_model(model))
    assert further.model.sha256 != model.sha256


def test_the_trainer_reports_a_failure_in_the_language_of_who_started_it(
    project: Project, tiny_model: Callable[..., Path]
) -> None:
    snapshot = snapshot_of(project)
    rows = snapshots_root() / snapshot.path / "dialogues.jsonl"
    rows.write_text(rows.read_text().replace('"train"', '"test"'))
    with override("zh-hans"):
        waiting = training(project, None, snapshot, model=str(tiny_model("llama")))
    run = carried_out(waiting)
    assert run.job.state == JobState.FAILED
    assert run.job.error == f"{rows.parent} 中的 12 段对话都不属于“train”划分。"
    assert run.job.remedy == "请生成包含训练对话的数据快照。"
    assert run.message == run.job.error
