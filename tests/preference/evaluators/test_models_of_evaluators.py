"""Which model an evaluator computes with: the choice respects what the model was trained for."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from common.refusals import Invalid
from frontend.pages.evaluators.scoring_form import ScoringForm
from generation.models import Generator
from preference.evaluators.models import EvaluatorName
from preference.registry.models import ModelKind, RegisteredModel
from preference.runs.services.trainings import start_training
from projects.models import Membership, Project, Role
from tests.preference.conftest import refused
from tests.preference.evaluators.test_scoring import scored, waiting
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.preference.learning import carried_out, trained_model
from tests.preference.learning import local as local

pytestmark = pytest.mark.django_db
NEEDS_MODEL = ["paireval", "directeval", "preference", "likelihood", "assessor"]


@pytest.fixture
def labelled(mara: User) -> Project:
    return labelled_project(mara, [0, 1, 2] * 4)


@pytest.fixture
def models(project: Project, labelled: Project, mara: User, local: Generator) -> dict[str, RegisteredModel]:
    """One of each kind; mara manages both projects."""
    Membership.objects.get_or_create(project=project, user=mara, defaults={"roles": [Role.MANAGER]})
    base: dict[str, Any] = {"model": "plato"} if RegisteredModel.objects.filter(slug="plato") else {}
    return {
        ModelKind.JOINT: trained_model(project, **base),
        ModelKind.PAIREVAL: trained_model(project, kind=ModelKind.PAIREVAL, **base),
        ModelKind.ASSESSOR: trained_model(
            labelled, None, labelled_snapshot(labelled, mara), kind=ModelKind.ASSESSOR, models=["gru"]
        ),
    }


def offered(user: User, project: Project, evaluator: str) -> set[str]:
    """Slugs of the registered models in the form."""
    field: Any = ScoringForm(user, project, evaluator).fields["model"]
    return {name for name, _label in field.choices} & set(
        RegisteredModel.objects.values_list("slug", flat=True)
    )


@pytest.mark.parametrize("evaluator", NEEDS_MODEL)
def test_a_form_offers_only_models_that_fit(
    labelled: Project, mara: User, models: dict[str, RegisteredModel], evaluator: str
) -> None:
    fitting = {
        "assessor": {ModelKind.ASSESSOR},
        "preference": {ModelKind.JOINT},
    }.get(evaluator, {ModelKind.JOINT, ModelKind.PAIREVAL})
    assert offered(mara, labelled, evaluator) == {models[kind].slug for kind in fitting}


@pytest.mark.parametrize(
    ("evaluator", "kind"),
    [
        ("assessor", ModelKind.JOINT),
        ("assessor", ModelKind.PAIREVAL),
        ("preference", ModelKind.PAIREVAL),
        *((name, ModelKind.ASSESSOR) for name in NEEDS_MODEL if name != "assessor"),
    ],
)
def test_a_model_of_another_kind_is_refused(
    labelled: Project, mara: User, models: dict[str, RegisteredModel], evaluator: str, kind: ModelKind
) -> None:
    with refused("wrong_kind"):
        waiting(labelled, mara, evaluator, model=models[kind].slug)


def test_an_assessor_must_be_a_trained_one(labelled: Project) -> None:
    with pytest.raises(Invalid) as refusal:
        waiting(labelled, None, EvaluatorName.ASSESSOR, model="bert-base-chinese")
    assert refusal.value.details["field"] == "model"


def test_without_a_fitting_model_the_form_says_so(labelled: Project, mara: User) -> None:
    assert ScoringForm(mara, labelled, "assessor").lacks_model
    assert not ScoringForm(mara, labelled, "likelihood").lacks_model
    assert not ScoringForm(mara, labelled, "length").lacks_model


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_an_assessor_scores_dialogues_and_keeps_its_probabilities(mara: User) -> None:
    quality = labelled_project(mara, [*([0, 1, 2] * 20), None, None])
    changes = {"epochs": 1, "hidden": 16, "layers": 1, "heads": 2, "vocabulary": 300, "max_length": 64}
    training = start_training(
        run_id=uuid4(),
        project=quality,
        actor=mara,
        snapshot=labelled_snapshot(quality, mara),
        kind=ModelKind.ASSESSOR,
        models=["gru"],
        changes=changes,
    )
    model = carried_out(training).model
    run = scored(quality, EvaluatorName.ASSESSOR, model=model.slug)
    assert (run.scored, run.unscored) == (62, 0)  # those without a label, too
    assert run.description["task"]["classes"] == [0, 1, 2]
    for score in run.scores.all():
        probabilities = score.details["probabilities"]
        assert sum(probabilities) == pytest.approx(1, abs=1e-4)
        assert score.details["label"] == probabilities.index(max(probabilities))
        assert score.value == pytest.approx(probabilities[1] + 2 * probabilities[2], abs=1e-4)
