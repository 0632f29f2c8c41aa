"""Trainings, models and promotions over the REST API."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import Scope, User
from annotation.project_setup.services import create_project
from generation.models import Generator
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.evaluation.models import Evaluation
from preference.registry.models import Promotion
from preference.runs.models import TrainingRun
from projects.models import Project, Role
from tests.api.conftest import program as program
from tests.conftest import Joins
from tests.preference.elsewhere import HASH, incoming
from tests.preference.learning import carried_out, run_of, snapshot_of, trained_model, training
from tests.preference.learning import fakes as fakes
from tests.preference.learning import local as local

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
RUNS, MODELS = "/api/v1/projects/chit-chat/training-runs/", "/api/v1/projects/chit-chat/models/"
SMALL_LLAMA = {
    "model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
    "intermediate_size": 1024, "vocab_size": 32000,
}  # fmt: skip
PROMOTIONS = "/api/v1/projects/chit-chat/promotions/"


@pytest.fixture
def asks(program: Callable[..., APIClient], eric: User, local: Generator) -> APIClient:
    """A program of eric's."""
    return program(eric)


def sent(client: APIClient, address: str, status: int, **body: Any) -> dict[str, Any]:
    answer: Any = client.post(address, body, format="json")
    assert answer.status_code == status, answer.content
    return dict(answer.json())


def test_train_follow_promote_and_go_back(asks: APIClient, project: Project) -> None:
    body = {
        "id": str(uuid4()),
        "snapshot": str(snapshot_of(project).pk),
        "recipe": "quick",
        "changes": {"batch": 8},
    }
    begun = sent(asks, RUNS, 202, **body)
    assert (begun["state"], begun["number"], begun["base"], begun["latest"]) == (
        "queued",
        1,
        "/models/plato",
        {},
    )
    assert sent(asks, RUNS, 202, **body)["id"] == begun["id"]
    run_job(job_id=TrainingRun.objects.get().job_id)

    address = f"/api/v1/training-runs/{begun['id']}/"
    read = asks.get(address).json()
    assert (read["state"], read["done"], read["total"], read["model"]) == ("done", 8, 8, "chit-chat-1")
    assert read["latest"]["loss"] == pytest.approx(2.2)
    curve = asks.get(f"{address}curve/").json()
    assert ([point["step"] for point in curve["points"]], curve["steps"]) == ([1, 2, 3, 4, 5, 6, 7, 8], 8)
    later = asks.get(f"{address}curve/", {"after": 6}).json()["points"]
    assert [point["step"] for point in later] == [7, 8]

    for row in Evaluation.objects.all():
        run_job(job_id=row.job_id)
    (comparison,) = asks.get("/api/v1/projects/chit-chat/evaluations/compare/").json()["comparisons"]
    assert {row["model"] for row in comparison["rows"]} == {"chit-chat-1", None}

    made = sent(
        asks,
        PROMOTIONS,
        201,
        id=str(uuid4()),
        model="chit-chat-1",
        expected_current="plato",
        reason="Better P@1",
    )
    assert (made["before"], made["after"], made["actor"]) == ("plato", "chit-chat-1", "eric")
    back = sent(asks, f"{PROMOTIONS}roll-back/", 201, id=str(uuid4()), expected_current="chit-chat-1")
    assert (back["after"], back["undoes"]) == ("plato", made["id"])
    assert [row["id"] for row in asks.get(PROMOTIONS).json()["results"]] == [back["id"], made["id"]]


def test_the_second_to_promote_reads_who_was_first(asks: APIClient, project: Project, eric: User) -> None:
    first = trained_model(project, eric)
    second = trained_model(project, eric, first.snapshot)
    sent(asks, PROMOTIONS, 201, id=str(uuid4()), model=first.slug, expected_current="plato")
    told = sent(asks, PROMOTIONS, 409, id=str(uuid4()), model=second.slug, expected_current="plato")
    assert (told["code"], told["by"], told["current"]) == ("changed_meanwhile", "eric", first.slug)
    assert told["remedy"]
    assert Promotion.objects.count() == 1


@pytest.mark.parametrize(
    "changes, status, code",
    [
        ({"recipe": "magic"}, 400, "invalid"),
        ({"changes": {"batch": -1}}, 400, "invalid"),
        ({"changes": {"batch": [1, 2]}}, 400, "invalid"),
        ({"model": "/etc/passwd"}, 404, "not_found"),
        ({"snapshot": str(uuid4())}, 404, "not_found"),
        ({"extra": 1}, 400, "invalid"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    asks: APIClient, project: Project, changes: dict[str, Any], status: int, code: str
) -> None:
    body = {"id": str(uuid4()), "snapshot": str(snapshot_of(project).pk), "recipe": "quick", **changes}
    told = sent(asks, RUNS, status, **body)
    assert told["code"] == code
    assert not TrainingRun.objects.exists()


def test_a_stopped_training_goes_on(asks: APIClient, project: Project, eric: User) -> None:
    run = training(project, eric)
    sent(asks, f"/api/v1/jobs/{run.pk}/cancel/", 200)
    assert asks.get(f"/api/v1/training-runs/{run.pk}/").json()["state"] == "cancelled"
    assert sent(asks, f"/api/v1/training-runs/{run.pk}/resume/", 200)["state"] == "queued"
    assert carried_out(run).job.state == JobState.DONE
    assert sent(asks, f"/api/v1/training-runs/{run.pk}/resume/", 409)["code"] == "already_done"


def test_a_failed_training_has_a_log_and_files_that_can_go(
    asks: APIClient, project: Project, eric: User, fakes: pytest.MonkeyPatch
) -> None:
    fakes.setenv("FAKE_TRAINER", "breaks")
    run = carried_out(training(project, eric))
    address = f"/api/v1/training-runs/{run.pk}/"
    log: Any = asks.get(f"{address}log/")
    assert b"something nobody thought of" in b"".join(log.streaming_content)
    assert asks.delete(f"{address}files/").json()["has_files"] is False
    gone = asks.get(f"{address}curve/")
    assert (gone.status_code, gone.json()["code"]) == (410, "files_gone")


def test_a_model_is_read_renamed_and_removed(asks: APIClient, project: Project, eric: User) -> None:
    first = trained_model(project, eric)
    second = trained_model(project, eric, first.snapshot, model=first.slug)
    assert [row["slug"] for row in asks.get(MODELS).json()["results"]] == [second.slug, first.slug]
    lineage = asks.get(f"/api/v1/models/{second.slug}/lineage/").json()
    assert [row["slug"] for row in lineage["models"]] == [second.slug, first.slug]
    assert lineage["base"] == "/models/plato"
    # Ancestors may be of projects that eric is not in.
    assert not {"note", "config", "files", "created_by"} & lineage["models"][0].keys()
    renamed = asks.patch(
        f"/api/v1/models/{second.slug}/", {"slug": "calm", "note": "Calmer."}, format="json"
    ).json()
    assert (renamed["slug"], renamed["generator"], renamed["note"]) == ("calm", "calm", "Calmer.")
    assert asks.delete(f"/api/v1/models/{first.slug}/").json()["code"] == "in_use"
    assert asks.delete("/api/v1/models/calm/").json()["has_files"] is False


def test_an_evaluation_is_asked_for(asks: APIClient, project: Project, eric: User) -> None:
    model = trained_model(project, eric)
    body = {"id": str(uuid4()), "snapshot": str(model.snapshot_id), "model": model.slug, "split": "train"}
    begun = sent(asks, "/api/v1/projects/chit-chat/evaluations/", 202, **body)
    assert (begun["model"], begun["split"], begun["report"]) == (model.slug, "train", {})
    run_job(job_id=Evaluation.objects.get().job_id)
    read = asks.get(f"/api/v1/evaluations/{begun['id']}/").json()
    assert (read["state"], read["report"]["n_turns"]) == ("done", 30)
    (row,) = asks.get(f"/api/v1/models/{model.slug}/evaluations/").json()["results"]
    assert row["id"] == begun["id"]


def test_what_a_training_may_begin_from(asks: APIClient, project: Project, eric: User) -> None:
    model = trained_model(project, eric)
    bases = asks.get(f"{RUNS}bases/").json()["bases"]
    assert bases[:2] == [
        {"name": "/models/plato", "is_trained": False},
        {"name": model.slug, "is_trained": True},
    ]


def test_roles_and_scopes_decide(
    program: Callable[..., APIClient], project: Project, local: Generator, eric: User, joins: Joins
) -> None:
    model = trained_model(project, eric)
    run = run_of(model)
    ann, tara = joins("ann", project, Role.ANNOTATOR), joins("tara", project, Role.TRAINER)
    nora = joins("nora", create_project(slug="other", preset="diamante", actor=None), Role.ENGINEER)
    for person in (ann, tara):
        assert program(person).get(RUNS).status_code == 403
    for person in (ann, tara, nora):
        for address in (f"/api/v1/training-runs/{run.pk}/", f"/api/v1/models/{model.slug}/"):
            assert program(person).get(address).status_code == 404
    reads = program(eric, Scope.READ)
    body = {"id": str(uuid4()), "model": model.slug, "expected_current": "plato"}
    assert sent(reads, PROMOTIONS, 403, **body)["code"] == "scope_missing"
    assert not Promotion.objects.exists()


# ---- trained elsewhere -----------------------------------------------------------------------------------------------


def test_a_model_comes_home(asks: APIClient, project: Project, settings: Settings) -> None:
    folder = incoming(Path(settings.MODELS_ROOT))
    snapshot = snapshot_of(project)
    body = {"id": str(uuid4()), "folder": "run7b", "name": "qwen-7b", "note": "8 GPUs"}
    begun = sent(asks, MODELS, 202, **body)
    assert (begun["state"], begun["result"]) == ("queued", {})
    assert sent(asks, MODELS, 202, **body)["id"] == begun["id"]
    assert sent(asks, MODELS, 409, **{**body, "note": "9 GPUs"})["code"] == "id_in_use"
    run_job(job_id=UUID(begun["id"]))
    job = asks.get(f"/api/v1/jobs/{begun['id']}/").json()
    assert (job["state"], job["result"]["model"], job["unit"]) == ("done", "qwen-7b", "bytes")
    assert (
        job["done"] == job["total"] == 3 * sum(path.stat().st_size for path in (folder / "model").iterdir())
    )
    model = asks.get("/api/v1/models/qwen-7b/").json()
    assert (model["training"], model["snapshot"], model["deleted_dialogues"]) == (None, None, 0)
    assert (model["note"], model["base"], model["created_by"]) == ("8 GPUs", "Qwen/Qwen3-8B", "eric")
    assert asks.get("/api/v1/models/qwen-7b/lineage/").json()["base"] == "Qwen/Qwen3-8B"
    assert [row["slug"] for row in asks.get(MODELS).json()["results"]] == ["qwen-7b"]
    shutil.rmtree(folder)
    assert sent(asks, MODELS, 202, **body)["state"] == "done"

    evaluation = {"id": str(uuid4()), "snapshot": str(snapshot.pk), "model": "qwen-7b"}
    sent(asks, "/api/v1/projects/chit-chat/evaluations/", 202, **evaluation)
    sent(asks, PROMOTIONS, 201, id=str(uuid4()), model="qwen-7b", expected_current="plato")


@pytest.mark.parametrize(
    "changes, status, code",
    [
        ({"folder": "../incoming/run7b"}, 400, "invalid"),
        ({"folder": "/etc"}, 400, "invalid"),
        ({"folder": "missing"}, 400, "invalid"),
        ({"folder": ""}, 400, "invalid"),
        ({"snapshot": str(uuid4())}, 400, "invalid"),
        ({"parent": "theirs"}, 404, "not_found"),
        ({"evaluation": "/etc/passwd"}, 400, "invalid"),
    ],
)
def test_what_cannot_come_home_is_refused(
    asks: APIClient, project: Project, settings: Settings, changes: dict[str, Any], status: int, code: str
) -> None:
    incoming(Path(settings.MODELS_ROOT))
    told = sent(asks, MODELS, status, **{"id": str(uuid4()), "folder": "run7b", **changes})
    assert told["code"] == code
    assert not Job.objects.filter(kind="registration").exists()


def test_a_parent_of_another_project_is_unknown(
    asks: APIClient, project: Project, settings: Settings
) -> None:
    theirs = trained_model(create_project(slug="other", preset="diamante", actor=None), model="/models/base")
    incoming(Path(settings.MODELS_ROOT), base_hash=HASH)
    told = sent(asks, MODELS, 404, id=str(uuid4()), folder="run7b", parent=theirs.slug)
    assert told["code"] == "not_found"


def test_a_job_that_brings_a_model_home_is_cancelled(
    asks: APIClient, project: Project, settings: Settings
) -> None:
    incoming(Path(settings.MODELS_ROOT))
    begun = sent(asks, MODELS, 202, id=str(uuid4()), folder="run7b")
    assert sent(asks, f"/api/v1/jobs/{begun['id']}/cancel/", 200)["state"] == "cancelled"


def test_annotators_bring_no_models(
    program: Callable[..., APIClient], project: Project, joins: Joins
) -> None:
    ann = program(joins("ann", project, Role.ANNOTATOR))
    sent(ann, MODELS, 403, id=str(uuid4()), folder="run7b")


def test_the_memory_of_a_training_is_planned_before_it_starts(
    asks: APIClient, project: Project, local: Generator, tmp_path: Path
) -> None:
    assert sent(asks, f"{RUNS}memory/", 409)["code"] == "not_plannable"
    (tmp_path / "config.json").write_text(json.dumps(SMALL_LLAMA))
    local.options = {"model": str(tmp_path)}
    local.save()
    body = {"recipe": "quick", "changes": {"token_budget": 512}, "processes": 2}
    found = sent(asks, f"{RUNS}memory/", 200, **body)
    assert (found["device"], found["processes"], found["tokens"]) == ("cpu", 2, 512)
    assert found["moments"] == 8 * found["trained_weights"] == 8 * found["total_weights"]
    assert found["main_memory"] == 2 * found["peak"]
    assert found["needed"] > found["peak"]
    lora = sent(asks, f"{RUNS}memory/", 200, **body, is_lora=True)
    assert lora["peak"] < found["peak"]
    assert sent(asks, f"{RUNS}memory/", 400, changes={"batch": 0})["code"] == "invalid"
