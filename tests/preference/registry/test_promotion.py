"""Which model a project uses: chosen, taken back, by whom, and what is refused."""

import shutil
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.authoring.services.settings import update_authoring
from annotation.project_setup.services import create_project
from generation.models import Generator
from jobs.services import record_heartbeat
from preference.registry.files import folder_of_model
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.trained_models import current_model, promotions_of
from preference.registry.services import promotion
from preference.registry.services.promotion import promote_model, roll_back
from preference.registry.services.trained_models import remove_model
from projects.models import Event, Project
from tests.preference.conftest import refused
from tests.preference.learning import generator_of, trained_model

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a worker that is not there."""
    monkeypatch.setattr(promotion, "LOADING_SECONDS", 0.2)
    monkeypatch.setattr(promotion, "LOOK_EVERY", 0.02)


@pytest.fixture(autouse=True)
def on_the_servers_own(project: Project) -> None:
    project.authoring.generator = None
    project.authoring.save()


@pytest.fixture
def first(project: Project, eric: User) -> RegisteredModel:
    return trained_model(project, eric)


@pytest.fixture
def second(project: Project, eric: User, first: RegisteredModel) -> RegisteredModel:
    return trained_model(project, eric, first.snapshot, model=first.slug)


def promote(
    model: RegisteredModel, expected: str | None, actor: User | None = None, **more: Any
) -> Promotion:
    asked = {"promotion_id": uuid4(), "project": model.project, "actor": actor, **more}
    return promote_model(model=model, expected_current=expected, **asked)


def back(project: Project, expected: str | None, actor: User | None = None) -> Promotion:
    return roll_back(
        promotion_id=uuid4(), project=project, actor=actor, expected_current=expected, reason="worse"
    )


def name_of(project: Project) -> str | None:
    now = current_model(project)
    assert now is not None
    return now.name


def test_an_engineer_promotes_a_model_trained_in_the_project(
    project: Project, eric: User, first: RegisteredModel
) -> None:
    """Generators belong to administrators, and eric is none."""
    made = promote(first, None, eric, reason="Better P@1")
    assert name_of(project) == first.slug
    assert (made.before, made.after, made.actor, made.reason) == (None, first.generator, eric, "Better P@1")
    event = Event.objects.get(kind="promoted")
    assert (event.actor, event.reason, event.data) == (
        eric,
        "Better P@1",
        {"before": None, "after": first.slug},
    )


def test_the_same_promotion_happens_once(project: Project, first: RegisteredModel) -> None:
    number = uuid4()
    made = promote(first, None, promotion_id=number)
    assert promote(first, None, promotion_id=number) == made
    assert Promotion.objects.count() == 1


@pytest.mark.parametrize("other", [{"reason": "nicer"}, {"expected_current": "plato"}])
def test_an_id_sent_with_another_promotion_is_refused(
    project: Project, first: RegisteredModel, other: dict[str, Any]
) -> None:
    about: dict[str, Any] = {"promotion_id": uuid4(), "model": first, "project": project, "actor": None}
    about |= {"expected_current": None, "reason": "better"}
    promote_model(**about)
    with refused("id_in_use"):
        promote_model(**{**about, **other})
    assert Promotion.objects.count() == 1


def test_an_id_sent_with_another_model_or_to_roll_back_is_refused(
    project: Project, first: RegisteredModel, second: RegisteredModel
) -> None:
    number = uuid4()
    promote(first, None, promotion_id=number)
    with refused("id_in_use"):
        promote(second, None, promotion_id=number)
    with refused("id_in_use"):
        roll_back(promotion_id=number, project=project, actor=None, expected_current=None)
    assert name_of(project) == first.slug


def test_an_id_of_another_project_is_refused(project: Project, first: RegisteredModel) -> None:
    made = promote(first, None)
    other = create_project(slug="other", preset="diamante", actor=None)
    with refused("id_in_use"):
        promote(first, None, promotion_id=made.pk, project=other)


def test_the_second_of_two_learns_who_was_first(
    project: Project, eric: User, mara: User, first: RegisteredModel, second: RegisteredModel
) -> None:
    promote(first, None, eric)
    with refused("changed_meanwhile") as said:
        promote(second, None, mara)
    assert name_of(project) == first.slug
    assert "eric" in str(said.value.message)
    assert first.slug in str(said.value.message)
    assert (said.value.details["by"], said.value.details["current"]) == ("eric", first.slug)


def test_a_change_in_the_settings_counts_as_well(
    project: Project, mara: User, first: RegisteredModel
) -> None:
    scripted = Generator.objects.get(slug="scripted")
    update_authoring(project=project, actor=mara, changes={"generator": scripted})
    with refused("changed_meanwhile") as said:
        promote(first, None)
    assert said.value.details["by"] == "mara"


def test_promoting_what_is_used_already_says_so(first: RegisteredModel) -> None:
    promote(first, None)
    with refused("already_current"):
        promote(first, first.slug)


def test_promotions_are_taken_back_one_after_the_other(
    project: Project, eric: User, first: RegisteredModel, second: RegisteredModel
) -> None:
    promote(first, None)
    promote(second, first.slug)
    taken = back(project, second.slug, eric)
    assert (name_of(project), taken.actor, taken.reason) == (first.slug, eric, "worse")
    back(project, first.slug)
    assert name_of(project) is None
    with refused("nothing_to_undo"):
        back(project, None)
    undone = [
        row.undoes.after.slug if row.undoes and row.undoes.after else None for row in promotions_of(project)
    ]
    assert undone == [first.slug, second.slug, None, None]


def test_after_going_back_a_new_promotion_is_the_one_to_take_back(
    project: Project, first: RegisteredModel, second: RegisteredModel
) -> None:
    promote(first, None)
    back(project, first.slug)
    promote(second, None)
    back(project, second.slug)
    assert name_of(project) is None


def test_two_who_take_back_at_once_go_back_once(
    project: Project, first: RegisteredModel, second: RegisteredModel
) -> None:
    promote(first, None)
    promote(second, first.slug)
    back(project, second.slug)
    with refused("changed_meanwhile"):
        back(project, second.slug)
    assert name_of(project) == first.slug


def test_a_change_in_the_settings_is_not_taken_back(
    project: Project, mara: User, first: RegisteredModel
) -> None:
    promote(first, None)
    scripted = Generator.objects.get(slug="scripted")
    update_authoring(project=project, actor=mara, changes={"generator": scripted})
    with refused("nothing_to_undo") as said:
        back(project, "scripted")
    assert "settings" in str(said.value.message)


def test_a_model_whose_files_are_gone_is_refused(
    project: Project, eric: User, first: RegisteredModel
) -> None:
    shutil.rmtree(folder_of_model(first))
    with refused("files_gone"):
        promote(first, None)
    assert name_of(project) is None


def test_going_back_to_a_removed_model_is_refused(
    project: Project, eric: User, first: RegisteredModel, second: RegisteredModel
) -> None:
    other = trained_model(project, eric, first.snapshot, model="")
    promote(other, None)
    promote(second, other.slug)
    remove_model(model=other, actor=eric)
    with refused("files_gone"):
        back(project, second.slug)
    assert name_of(project) == second.slug


def test_a_project_without_candidates_has_no_model(first: RegisteredModel) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dialeval", actor=None)
    with refused("no_authoring"):
        promote(first, None, project=helpdesk)


def test_a_reason_has_an_end(first: RegisteredModel) -> None:
    with refused("invalid"):
        promote(first, None, reason="x" * 3000)


def test_a_model_that_failed_its_check_is_refused_with_the_cause(
    project: Project, first: RegisteredModel
) -> None:
    first.version, first.fault, first.remedy = "", "Its weights are not numbers.", "Train again."
    first.save()
    with refused("cannot_load") as said:
        promote(first, None)
    assert "weights are not numbers" in str(said.value.message)
    assert said.value.remedy == "Train again."
    assert name_of(project) is None


def test_a_model_is_loaded_before_anybody_is_served_by_it(project: Project, first: RegisteredModel) -> None:
    record_heartbeat(name="worker-1", queues=["gpu"], details={"models": [], "generators": {}})
    with refused("still_loading"):
        promote(first, None)
    assert name_of(project) is None
    record_heartbeat(
        name="worker-1", queues=["gpu"], details={"generators": {generator_of(first).slug: first.version}}
    )
    promote(first, None)
    assert name_of(project) == first.slug


def test_a_renamed_model_is_known_by_its_version(project: Project, first: RegisteredModel) -> None:
    record_heartbeat(
        name="worker-1",
        queues=["gpu"],
        details={"models": [first.version], "generators": {"old-name": first.version}},
    )
    promote(first, None)
    assert name_of(project) == first.slug


def test_the_model_that_was_tried_beside_the_other_becomes_the_only_one(
    project: Project, first: RegisteredModel
) -> None:
    project.authoring.second_generator = first.generator
    project.authoring.save()
    with refused("in_use"):
        remove_model(model=first, actor=None)
    promote(first, None)
    project.authoring.refresh_from_db()
    assert (project.authoring.generator, project.authoring.second_generator) == (first.generator, None)


def test_a_model_removed_while_it_is_promoted_is_not_chosen(
    project: Project, first: RegisteredModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at its files and the choice, which may be many seconds apart."""

    def removed(*_: Any) -> bool:
        remove_model(model=first, actor=None)
        return True

    monkeypatch.setattr(promotion, "_preload", removed)
    with refused("files_gone"):
        promote(first, None)
    assert name_of(project) is None
