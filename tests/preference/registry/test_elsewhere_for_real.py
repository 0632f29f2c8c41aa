"""A model that the real trainer made outside of the server comes home, is tried out and writes candidates."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from generation.backends.hf.loading import folder_hash
from generation.protocol import Sampling
from generation.services import CandidateOptions, request_candidates
from generation.worker import drain
from jobs.models import JobState
from jobs.services import run_job
from preference.data.storage import snapshots_root
from preference.evaluation.models import Evaluation
from preference.registry.services.promotion import promote_model
from preference.training.joint.command import main as train
from preference.training.joint.evaluation.command import main as evaluate
from projects.models import Project
from tests.candidate_requests import create_dialogue
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.elsewhere import come_home, registration, trained_folder
from tests.preference.learning import generator_of, snapshot_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_a_folder_of_the_trainer_comes_home_with_its_evaluation(
    project: Project, tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    snapshot = snapshot_of(project)
    data, run = snapshots_root() / snapshot.path, tmp_path / "run"
    short = ["--set", "epochs=1", "--set", "batch=16", "--set", "warmup=2"]
    assert (
        train(["--data", str(data), "--model", str(tiny_model("llama")), "--output", str(run), *short]) == 0
    )
    asked = ["--data", str(data), "--model", str(run / "model"), "--output", str(run / "evaluation.json")]
    assert evaluate(asked) == 0

    model = come_home(project, run, name="tiny")
    assert model.version == f"tiny/model@{folder_hash(run / 'model')}"
    assert (model.snapshot, model.fault, model.metrics["step"]) == (snapshot, "", model.config["steps"])
    assert Evaluation.objects.get().report == json.loads((run / "evaluation.json").read_text())

    shutil.rmtree(run)
    project.authoring.generator = None
    project.authoring.save()
    promote_model(promotion_id=uuid4(), model=model, project=project, actor=None, expected_current=None)
    options = CandidateOptions(generator_of(model), 3, Sampling(max_new_tokens=4))
    request = request_candidates(dialogue=create_dialogue(project, "tea and rain"), options=options)
    assert drain("worker") == 1
    request.refresh_from_db()
    assert request.candidate_set is not None, request.error
    assert request.candidate_set.model_version == model.version
    assert all(candidate["score"] is not None for candidate in request.candidate_set.candidates)


def test_another_architecture_is_refused_with_its_cause(
    project: Project, tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    """An encoder in the clothes of a finished training."""
    folder = trained_folder(tmp_path)
    shutil.copytree(tiny_model("llama"), folder / "model", dirs_exist_ok=True)
    (folder / "model" / "config.json").write_text('{"model_type": "vit", "architectures": ["ViTModel"]}')
    job = run_job(job_id=registration(project, folder).pk)
    assert (job.state, bool(job.remedy)) == (JobState.FAILED, True)
    assert "configuration" in job.error.lower() or "cannot be loaded" in job.error
