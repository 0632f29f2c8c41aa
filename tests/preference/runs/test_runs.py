"""A training as a job: what is asked of the trainer, what is shown of it, how it ends, how it goes on."""

import json
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from common.refusals import NotFound, Refusal
from generation.models import Generator
from jobs.models import Job, JobState
from jobs.services import run_job
from preference import child_process
from preference.evaluation.models import Evaluation
from preference.registry.models import RegisteredModel
from preference.registry.selectors.bases import selectable_bases
from preference.registry.services.trained_models import remove_model
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.progress_tail import ProgressTail
from preference.runs.selectors import curve_of, log_of, run_for, runs_of
from preference.runs.services.trainings import remove_run_files, resume_training
from projects.models import Project
from tests.conftest import Joins
from tests.preference.conftest import refused
from tests.preference.fake_trainer import STEPS
from tests.preference.learning import (
    carried_out,
    generator_of,
    log_text,
    snapshot_of,
    trained_model,
    training,
)
from tests.preference.learning import fakes as fakes
from tests.preference.learning import local as local

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
Fakes = pytest.MonkeyPatch


def arguments_in(run: TrainingRun) -> dict[str, Any]:
    """What the fake trainer was started with."""
    line = log_text(run).splitlines()[0]
    return dict(json.loads(line.removeprefix("arguments: ")))


def test_a_training_ends_in_a_registered_model(project: Project, eric: User, local: Generator) -> None:
    run = carried_out(training(project, eric))
    assert (run.job.state, run.job.done, run.job.total) == (JobState.DONE, STEPS, STEPS), run.job.error
    model = run.model
    assert (model.slug, model.base, model.parent) == ("chit-chat-1", "/models/plato", None)
    assert (model.version, model.fault, model.code_version) == (
        "chit-chat-1/model@0123456789ab",
        "",
        "abc123",
    )
    assert model.metrics["loss"] == pytest.approx(2.2)
    assert generator_of(model).options["model"] == str(folder_of_run(run) / "model")
    assert model.created_by == eric


def test_the_trainer_is_asked_what_was_asked(project: Project, eric: User, local: Generator) -> None:
    changes = {"batch": 8, "peak_lr": 1e-4, "recompute": True, "similar": None, "layout": "packed"}
    run = carried_out(training(project, eric, changes=changes, is_lora=True, seed=7, processes=3))
    sent = arguments_in(run)
    assert (sent["model"], sent["recipe"], sent["seed"], sent["lora"]) == (
        "/models/plato",
        "quick",
        "7",
        True,
    )
    settings = ["batch=8", "layout=packed", "peak_lr=0.0001", "recompute=true", "similar=none"]
    assert sorted(sent["set"]) == settings
    assert sent["data"].endswith(str(run.snapshot_id))
    assert sent["resume"]
    assert sent["processes"] == "3"


@pytest.mark.parametrize("processes", [0, 65])
def test_a_number_of_processes_that_no_machine_has_is_refused(
    project: Project, local: Generator, processes: int
) -> None:
    with refused("invalid") as why:
        training(project, None, processes=processes)
    assert why.value.details["field"] == "processes"


def test_the_secrets_of_the_server_stay_in_the_worker(fakes: Fakes, tmp_path: Any) -> None:
    fakes.setenv("DATABASE_URL", "postgresql://ours")
    for name in ("OPENAI_API_KEY", "LAPIDARY_KEY_OTHER"):
        fakes.setenv(name, "sk-ours")
    process = child_process.start("tests.preference.print_environment", [], tmp_path, "log")
    process.wait(20)
    assert "postgresql://ours" not in (tmp_path / "log").read_text()
    assert "sk-ours" not in (tmp_path / "log").read_text()
    assert "PATH" in (tmp_path / "log").read_text()


def test_a_new_model_and_its_base_are_evaluated(project: Project, eric: User, local: Generator) -> None:
    run = carried_out(training(project, eric))
    rows = list(Evaluation.objects.order_by("model"))
    assert {(row.model, row.base, row.split) for row in rows} == {
        (run.model, "", "test"),
        (None, "/models/plato", "test"),
    }
    for row in rows:
        assert run_job(job_id=row.job_id).state == JobState.DONE
        row.refresh_from_db()
    values = {row.base: row.report["overall"]["preference"]["p_at_1"]["value"] for row in rows}
    assert values == {"": 0.4, "/models/plato": 0.2}


def test_nothing_is_evaluated_where_nothing_was_held_out(
    project: Project, eric: User, local: Generator
) -> None:
    run = carried_out(training(project, eric, snapshot_of(project, held_out=False)))
    assert run.job.state == JobState.DONE
    assert not Evaluation.objects.exists()


@pytest.mark.parametrize("model", ["", "/models/plato"])
def test_the_same_request_trains_once(project: Project, eric: User, local: Generator, model: str) -> None:
    about: dict[str, Any] = {"run_id": uuid4(), "changes": {"batch": "8", "seed": "4"}, "model": model}
    snapshot = snapshot_of(project)
    first = training(project, eric, snapshot, **about)
    assert training(project, eric, snapshot, **about) == first
    assert TrainingRun.objects.get() == first


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 3},
        {"recipe": "diamante"},
        {"changes": {"batch": 8}},
        {"is_lora": True},
        {"processes": 2},
        {"model": "/models/other"},
    ],
)
def test_an_id_sent_with_another_training_is_refused(
    project: Project, local: Generator, other: dict[str, Any]
) -> None:
    run_id, snapshot = uuid4(), snapshot_of(project)
    training(project, None, snapshot, run_id=run_id)
    with refused("id_in_use"):
        training(project, None, snapshot, run_id=run_id, **other)
    assert TrainingRun.objects.get().seed == 1


def test_an_id_of_another_thing_is_refused(project: Project, eric: User, local: Generator) -> None:
    snapshot = snapshot_of(project)
    with refused("id_in_use"):
        training(project, eric, snapshot, run_id=snapshot.job_id)
    assert not TrainingRun.objects.exists()


def test_trainings_of_a_project_are_numbered(project: Project, eric: User, local: Generator) -> None:
    snapshot = snapshot_of(project)
    assert [training(project, eric, snapshot).number for _ in range(3)] == [1, 2, 3]
    assert [run.number for run in runs_of(project)] == [3, 2, 1]


# --- what cannot be asked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked, field",
    [
        ({"recipe": "magic"}, "recipe"),
        ({"changes": {"batch": 0}}, "changes"),
        ({"changes": {"batchsize": 3}}, "changes"),
        ({"changes": {"peak_lr": "fast"}}, "changes"),
        ({"changes": {"clip": "inf"}}, "changes"),
        ({"changes": {f"n{number}": 1 for number in range(50)}}, "changes"),
        ({"seed": -1}, "changes"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused_at_once(
    project: Project, eric: User, local: Generator, asked: dict[str, Any], field: str
) -> None:
    with refused("invalid") as said:
        training(project, eric, **asked)
    assert said.value.details["field"] == field
    assert not Job.objects.filter(kind="training").exists()


def test_settings_are_kept_as_the_recipe_has_them(project: Project, eric: User, local: Generator) -> None:
    """A command line sends texts, and the next forecast computes with what was sent."""
    sent = {"batch": "32", " peak_lr": "1e-4", "similar": "none", "recompute": "true", "seed": "5"}
    run = training(project, eric, changes=sent)
    assert run.changes == {"batch": 32, "peak_lr": 1e-4, "similar": None, "recompute": True}
    assert run.seed == 5


def test_a_snapshot_of_another_project_is_refused(project: Project, eric: User, local: Generator) -> None:
    other = create_project(slug="other", preset="diamante", actor=None)
    with refused("invalid"):
        training(project, eric, snapshot_of(other))


def test_a_snapshot_without_its_files_is_refused(project: Project, eric: User, local: Generator) -> None:
    snapshot = snapshot_of(project)
    snapshot.path = ""
    snapshot.save()
    with refused("file_gone"):
        training(project, eric, snapshot)


def test_a_project_without_candidates_trains_nothing(eric: User) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=None)
    with refused("no_authoring"):
        training(helpdesk, eric, snapshot_of(helpdesk))


# --- what it begins from ----------------------------------------------------------------------------------------------


def test_without_a_local_model_one_has_to_be_named(project: Project, eric: User) -> None:
    with refused("no_base"):
        training(project, eric)


def test_the_servers_own_model_is_the_default(project: Project, eric: User, settings: Any) -> None:
    project.authoring.generator = None
    project.authoring.save()
    assert training(project, eric).base == settings.GENERATION_MODEL


def test_a_trained_model_is_trained_further(project: Project, eric: User, local: Generator) -> None:
    first = trained_model(project, eric)
    run = carried_out(training(project, eric, first.snapshot, model=first.slug))
    assert (run.parent, run.base) == (first, "/models/plato")
    assert run.model.parent == first
    assert arguments_in(run)["model"] == generator_of(first).options["model"]


def test_the_projects_own_model_may_come_from_a_project_that_one_is_not_in(
    project: Project, eric: User
) -> None:
    elsewhere = trained_model(create_project(slug="elsewhere", preset="diamante", actor=None))
    with pytest.raises(NotFound):
        training(project, eric, model=elsewhere.slug)
    project.authoring.generator = elsewhere.generator
    project.authoring.save()
    run = training(project, eric, model=elsewhere.slug)
    assert (run.parent, run.base) == (elsewhere, elsewhere.base)


def test_engineers_begin_from_listed_models_only(
    project: Project, eric: User, settings: Any, joins: Joins
) -> None:
    settings.TRAINING_BASE_MODELS = ["/models/allowed"]
    snapshot = snapshot_of(project)
    assert training(project, eric, snapshot, model="/models/allowed").base == "/models/allowed"
    for name in ("/etc", "../secret", "someone/hub-model"):
        with pytest.raises(NotFound):
            training(project, eric, snapshot, model=name)
    root = joins("root")
    root.is_superuser = True
    assert training(project, root, snapshot, model="someone/hub-model").base == "someone/hub-model"
    assert training(project, None, snapshot, model="/anywhere").base == "/anywhere"


def test_another_projects_model_is_nobodys_to_begin_from(
    project: Project, eric: User, local: Generator
) -> None:
    other = create_project(slug="other", preset="diamante", actor=None)
    theirs = trained_model(other, model="")
    with pytest.raises(NotFound):
        training(project, eric, model=theirs.slug)


def test_a_removed_model_is_nothing_to_begin_from(project: Project, eric: User, local: Generator) -> None:
    gone = remove_model(model=trained_model(project, eric), actor=eric)
    with refused("files_gone"):
        training(project, eric, gone.snapshot, model=gone.slug)


def test_what_may_be_begun_from_is_listed_with_the_projects_own_first(
    project: Project, eric: User, local: Generator, settings: Any
) -> None:
    settings.TRAINING_BASE_MODELS = ["/models/allowed"]
    first = trained_model(project, eric)
    names = [base.name for base in selectable_bases(eric, project)]
    assert names == ["/models/plato", first.slug, settings.GENERATION_MODEL, "/models/allowed"]


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_a_failure_is_reported_with_cause_and_remedy(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_TRAINER", "fails")
    run = carried_out(training(project, eric))
    assert run.job.state == JobState.FAILED
    assert (run.job.error, run.job.remedy) == ("The loss is no longer a number.", "Use a smaller peak_lr.")
    assert run.latest["step"] == 3
    assert not RegisteredModel.objects.exists()


def test_a_kill_by_the_system_is_reported_as_lack_of_memory(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_TRAINER", "is killed")
    run = carried_out(training(project, eric))
    assert run.job.state == JobState.FAILED
    assert "memory" in run.job.error
    assert "token_budget" in run.job.remedy


def test_a_crash_is_reported_with_its_last_line(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_TRAINER", "breaks")
    run = carried_out(training(project, eric))
    assert "RuntimeError: something nobody thought of" in run.job.error
    assert "Traceback" in log_text(run)


def test_a_model_that_does_not_load_is_registered_with_its_fault(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_CHECKER", "refuses")
    model = carried_out(training(project, eric)).model
    assert (model.version, model.fault) == ("", "Its weights are not numbers.")


def test_a_failed_evaluation_leaves_the_model_and_says_why(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_EVALUATOR", "refuses")
    run = carried_out(training(project, eric))
    done = run_job(job_id=run.model.evaluations.get().job_id)
    assert (done.state, done.error) == (JobState.FAILED, "No dialogue is of the split test.")
    assert done.remedy == "Name another with --split."


def test_a_long_log_keeps_its_end(project: Project, eric: User, local: Generator, fakes: Fakes) -> None:
    fakes.setattr(child_process, "TAIL", 300)
    fakes.setenv("FAKE_TRAINER", "breaks")
    text = log_text(carried_out(training(project, eric)))
    assert len(text) <= 300
    assert text.endswith("RuntimeError: something nobody thought of\n")


# --- files, and who may see -------------------------------------------------------------------------------------------


def test_files_of_a_failed_training_can_be_removed(
    project: Project, eric: User, local: Generator, fakes: Fakes, django_capture_on_commit_callbacks: Any
) -> None:
    fakes.setenv("FAKE_TRAINER", "fails")
    run = carried_out(training(project, eric))
    folder = folder_of_run(run)
    with django_capture_on_commit_callbacks(execute=True):
        run = remove_run_files(run=run, actor=eric)
    assert not folder.exists()
    assert remove_run_files(run=run, actor=eric).folder == ""
    for action in (lambda: resume_training(run=run, actor=eric), lambda: curve_of(run), lambda: log_of(run)):
        with refused("files_gone"):
            action()


def test_files_with_a_model_or_of_a_live_training_stay(
    project: Project, eric: User, local: Generator
) -> None:
    run = training(project, eric)
    with refused("not_ready"):
        remove_run_files(run=run, actor=eric)
    with refused("in_use"):
        remove_run_files(run=carried_out(run), actor=eric)


def test_a_long_curve_is_shown_in_means(project: Project, eric: User, local: Generator) -> None:
    run = carried_out(training(project, eric))
    path = folder_of_run(run) / "progress.jsonl"
    line = json.loads(path.read_text().splitlines()[0])
    lines = [
        json.dumps({**line, "step": step, "steps": 1000, "loss": float(step)}) for step in range(1, 1001)
    ]
    path.write_text("\n".join(lines) + '\n{"step": 10')
    curve = curve_of(run, most=100)
    assert (len(curve.points), curve.steps) == (100, 1000)
    assert (curve.points[0].first, curve.points[0].step, curve.points[0].loss) == (1, 10, 5.5)
    assert [point.step for point in curve_of(run, after=998).points] == [999, 1000]


def test_half_a_line_before_the_next_one_is_left_out(project: Project, eric: User, local: Generator) -> None:
    """What a disk leaves that was full for a while."""
    run = carried_out(training(project, eric))
    path = folder_of_run(run) / "progress.jsonl"
    first, second, third, *_rest = path.read_text().splitlines(keepends=True)
    path.write_text(first + second[:20] + third)
    assert [point.step for point in curve_of(run).points] == [1]
    tail = ProgressTail(path)
    assert tail.read()["step"] == 1
    with path.open("a") as file:
        file.write(third)
    assert tail.read()["step"] == 3


def test_only_engineers_and_managers_see_trainings(
    project: Project, eric: User, mara: User, ann: User, carlos: User, local: Generator
) -> None:
    run = training(project, eric)
    assert run_for(eric, run.pk) == run_for(mara, run.pk) == run
    for person in (ann, carlos):
        with pytest.raises(NotFound):
            run_for(person, run.pk)


def test_a_person_who_left_is_refused_as_if_there_were_none(eric: User) -> None:
    with pytest.raises(Refusal):
        run_for(eric, uuid4())


def test_a_training_of_the_same_number_finds_no_files_of_a_deleted_one(
    project: Project, local: Generator
) -> None:
    old = training(project, None)
    folder = folder_of_run(old)
    TrainingRun.objects.filter(pk=old.pk).delete()
    new = training(project, None)
    assert (new.number, folder_of_run(new) == folder) == (old.number, False)
