"""Trained models: where they came from, their names, how they compare, and which of them can go."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from common.refusals import NotFound
from generation.models import BackendKind, Generator
from generation.selectors import generators_for
from jobs.models import Job, JobState
from preference.evaluation.models import Evaluation
from preference.evaluation.selectors import comparisons_of
from preference.evaluation.services import evaluate_trained, start_evaluation
from preference.registry.files import folder_of_model
from preference.registry.hashing import sha256_of
from preference.registry.models import RegisteredModel
from preference.registry.selectors.trained_models import children_of, lineage_of, model_for, models_of
from preference.registry.services.trained_models import remove_model, update_model
from preference.runs.files import folder_of_run
from preference.runs.services.registration import free_slug
from projects.models import Event, Project
from tests.preference.conftest import refused
from tests.preference.learning import data_of, generator_of, run_of, snapshot_of, trained_model, training

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def local(project: Project) -> Generator:
    """The project's candidates come from a local model."""
    made = Generator.objects.create(slug="plato", backend=BackendKind.HF, options={"model": "/models/plato"})
    project.authoring.generator = made
    project.authoring.save()
    return made


def evaluated(model: RegisteredModel | None, snapshot: Any, value: float, base: str = "") -> Evaluation:
    """A finished evaluation whose P@1 is `value`."""
    made = start_evaluation(
        evaluation_id=uuid4(),
        project=snapshot.project,
        actor=None,
        snapshot=snapshot,
        model=model.slug if model else base,
    )
    Job.objects.filter(pk=made.job_id).update(state=JobState.DONE)
    made.report = {"overall": {"preference": {"p_at_1": {"value": value}}}}
    made.save()
    return made


def test_the_lineage_leads_back_to_what_was_there_first(project: Project) -> None:
    first = trained_model(project)
    second = trained_model(project, snapshot=first.snapshot, model=first.slug)
    third = trained_model(project, snapshot=first.snapshot, model=second.slug)
    assert lineage_of(third) == [third, second, first]
    assert first.base == third.base == "/models/plato"
    assert list(children_of(first)) == [second]
    assert list(models_of(project)) == [third, second, first]


def test_a_generator_of_the_same_name_serves_the_model(project: Project, eric: User) -> None:
    model = trained_model(project, eric)
    assert (generator_of(model).slug, generator_of(model).backend) == (model.slug, BackendKind.HF)
    assert generator_of(model).options["model"] == str(folder_of_model(model))
    registered = Event.objects.get(kind="registered")
    assert (registered.actor, registered.data["slug"]) == (eric, model.slug)


def test_a_name_that_is_taken_gets_a_letter(project: Project) -> None:
    Generator.objects.create(slug="chit-chat-1", backend=BackendKind.SCRIPTED)
    assert trained_model(project).slug == "chit-chat-1b"


def test_there_is_always_a_free_name(project: Project, django_assert_num_queries: Any) -> None:
    for name in ("plato-1", *(f"plato-1{letter}" for letter in "bcdefghijklmnopqrstuvwxyz"), "plato-1bb"):
        Generator.objects.create(slug=name, backend=BackendKind.SCRIPTED)
    with django_assert_num_queries(2):
        assert free_slug("plato-1") == "plato-1bc"


def test_a_long_project_name_makes_no_name_that_is_too_long(eric: User) -> None:
    long = create_project(slug="a" * 80, preset="diamante", actor=None)
    assert len(trained_model(long).slug) <= 80


def test_renaming_takes_the_generator_along(project: Project, eric: User) -> None:
    model = update_model(
        model=trained_model(project), actor=eric, changes={"slug": "best-yet", "note": "Calm."}
    )
    model.refresh_from_db()
    assert (model.slug, model.note, generator_of(model).slug) == ("best-yet", "Calm.", "best-yet")
    again = update_model(model=model, actor=eric, changes={"slug": "best-yet"})
    assert again.slug == "best-yet"
    assert Event.objects.filter(kind="changed").count() == 1


@pytest.mark.parametrize(
    "slug, code", [("Ünwise", "invalid"), ("", "invalid"), ("a" * 81, "invalid"), ("plato", "name_taken")]
)
def test_a_name_that_cannot_be_is_refused(project: Project, eric: User, slug: str, code: str) -> None:
    model = trained_model(project)
    with refused(code):
        update_model(model=model, actor=eric, changes={"slug": slug})
    model.refresh_from_db()
    assert model.slug == "chit-chat-1"


def test_what_its_files_say_is_what_was_registered(project: Project) -> None:
    model = trained_model(project)
    folder = folder_of_model(model)
    assert sha256_of(folder) == model.sha256
    assert model.bytes == sum(model.files.values()) > 0


@pytest.mark.parametrize("damage", ["gone", "shorter", "moved out"])
def test_damaged_files_are_noticed(project: Project, damage: str, tmp_path: Path) -> None:
    model = trained_model(project)
    weights = folder_of_model(model) / "model.safetensors"
    if damage == "gone":
        weights.unlink()
    elif damage == "shorter":
        weights.write_text("half")
    else:
        folder_of_model(model).rename(tmp_path / "elsewhere")
        model.folder = "../../elsewhere"
    with refused("files_gone"):
        folder_of_model(model)


def test_removing_a_model_frees_its_space_and_keeps_its_row(
    project: Project, eric: User, django_capture_on_commit_callbacks: Any
) -> None:
    model = trained_model(project)
    folder = folder_of_run(run_of(model))
    with django_capture_on_commit_callbacks(execute=True):
        remove_model(model=model, actor=eric)
    assert not folder.exists()
    model.refresh_from_db()
    assert (model.folder, run_of(model).folder) == ("", "")
    assert remove_model(model=model, actor=eric).folder == ""
    with refused("files_gone"):
        folder_of_model(model)


def test_a_removed_model_cannot_be_chosen_in_a_projects_settings(project: Project, eric: User) -> None:
    gone, kept = trained_model(project), trained_model(project)
    remove_model(model=gone, actor=eric)
    offered = set(generators_for(eric))
    assert generator_of(kept) in offered
    assert generator_of(gone) not in offered


def test_a_model_that_a_project_uses_stays(project: Project, eric: User) -> None:
    model = trained_model(project)
    other = create_project(slug="other", preset="diamante", actor=None)
    other.authoring.generator = model.generator
    other.authoring.save()
    with refused("in_use") as said:
        remove_model(model=model, actor=eric)
    assert "other" in str(said.value.message)


def test_a_model_that_others_came_from_stays(project: Project, eric: User) -> None:
    parent = trained_model(project)
    training(project, eric, parent.snapshot, model=parent.slug)
    with refused("in_use"):
        remove_model(model=parent, actor=eric)
    Job.objects.filter(kind="training").update(state=JobState.FAILED)
    child = trained_model(project, eric, parent.snapshot, model=parent.slug)
    with refused("in_use") as said:
        remove_model(model=parent, actor=eric)
    assert child.slug in str(said.value.message)


def test_models_on_the_same_data_are_compared(project: Project) -> None:
    first = trained_model(project)
    second = trained_model(project, snapshot=first.snapshot, model=first.slug)
    evaluated(None, first.snapshot, 0.1, base="/models/plato")
    evaluated(first, first.snapshot, 0.2)
    evaluated(second, first.snapshot, 0.3)
    newest = evaluated(second, first.snapshot, 0.4)
    elsewhere = evaluated(first, snapshot_of(project), 0.9)
    one, other = comparisons_of(project)
    assert (one.snapshot, one.rows) == (elsewhere.snapshot, (elsewhere,))
    assert [row.model for row in other.rows] == [second, first, None]
    assert other.rows[0] == newest


def test_an_evaluation_that_is_not_done_is_not_compared(project: Project) -> None:
    model = trained_model(project)
    evaluate_trained(model=model, ids=(uuid4(), uuid4()))
    assert comparisons_of(project) == []


def test_what_a_model_began_from_is_evaluated_once(project: Project) -> None:
    first = trained_model(project)
    evaluate_trained(model=first, ids=(uuid4(), uuid4()))
    again = trained_model(project, snapshot=first.snapshot)
    evaluate_trained(model=again, ids=(uuid4(), uuid4()))
    further = trained_model(project, snapshot=first.snapshot, model=first.slug)
    evaluate_trained(model=further, ids=(uuid4(), uuid4()))
    names = [row.model.slug if row.model else row.base for row in Evaluation.objects.order_by("created_at")]
    assert sorted(names) == ["/models/plato", first.slug, again.slug, further.slug]


def test_what_a_model_began_from_is_evaluated_again_where_that_failed(project: Project) -> None:
    first = trained_model(project)
    evaluate_trained(model=first, ids=(uuid4(), uuid4()))
    Job.objects.filter(evaluation__model=None).update(state=JobState.FAILED)
    again = trained_model(project, snapshot=first.snapshot)
    made = evaluate_trained(model=again, ids=(uuid4(), uuid4()))
    assert [row.base for row in made] == ["", "/models/plato"]


def test_the_same_evaluation_is_made_once(project: Project, eric: User) -> None:
    model, number = trained_model(project), uuid4()
    asked: dict[str, Any] = {
        "project": project,
        "actor": eric,
        "snapshot": data_of(model),
        "model": model.slug,
    }
    first = start_evaluation(evaluation_id=number, **asked)
    assert start_evaluation(evaluation_id=number, **asked) == first
    for other in ({"split": "train"}, {"model": "/models/other"}):
        with refused("id_in_use"):
            start_evaluation(evaluation_id=number, **{**asked, **other})
    assert (first.split, first.job.queue) == ("test", "training")


@pytest.mark.parametrize("split, held_out", [("holdout", True), ("", False)])
def test_a_split_that_is_not_there_is_refused(
    project: Project, eric: User, split: str, held_out: bool
) -> None:
    model = trained_model(project, snapshot=snapshot_of(project, held_out=held_out))
    with refused("invalid") as said:
        start_evaluation(
            evaluation_id=uuid4(),
            project=project,
            actor=eric,
            snapshot=data_of(model),
            model=model.slug,
            split=split,
        )
    assert said.value.details["field"] == "split"


def test_a_removed_model_is_not_evaluated(project: Project, eric: User) -> None:
    model = remove_model(model=trained_model(project), actor=eric)
    with refused("files_gone"):
        start_evaluation(
            evaluation_id=uuid4(), project=project, actor=eric, snapshot=data_of(model), model=model.slug
        )


def test_only_engineers_and_managers_see_models(project: Project, eric: User, mara: User, ann: User) -> None:
    model = trained_model(project)
    assert model_for(eric, model.slug) == model_for(mara, model.slug) == model
    with pytest.raises(NotFound):
        model_for(ann, model.slug)
