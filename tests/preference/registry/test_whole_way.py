"""A training of two processes comes to another project and is promoted there, while four annotators work."""

import threading
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import call_command

from annotation.project_setup.services import create_project
from generation.models import BackendKind, CandidateRequest, RequestState
from jobs.models import JobState
from preference.registry.models import RegisteredModel
from preference.registry.services.promotion import promote_model
from preference.runs.files import folder_of_run
from projects.models import Project
from tests.candidate_requests import create_generator
from tests.concurrency.test_promotion import ANNOTATORS, TURNS_AFTER, Annotator
from tests.conftest import Starts
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.learning import carried_out, snapshot_of, training
from tests.processes import Stack, wait_until
from tests.sizes import FULL

CHANGES = {"batch": 64, "epochs": 2, "warmup": 1}


@pytest.mark.skipif(not FULL, reason="its parts are tested by themselves: in `make soak`")
@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_trained_by_two_processes_registered_and_promoted_while_annotators_work(
    project: Project, tiny_model: Callable[..., Path], stack: Stack, starts: Starts
) -> None:
    base = tiny_model("llama")
    run = carried_out(
        training(project, None, snapshot_of(project), model=str(base), changes=CHANGES, processes=2)
    )
    assert run.job.state == JobState.DONE, (run.job.error, run.job.remedy)

    other = create_project(slug="other", preset="diamante", actor=None)
    other.authoring.generator = create_generator("before", BackendKind.HF, model=str(base))
    other.authoring.save()
    call_command("register_model", str(folder_of_run(run)), project=other.slug, name="two-processes")
    model = RegisteredModel.objects.get(slug="two-processes")
    assert (model.project, model.config["processes"]) == (other, 2)

    stack.environment = {**stack.environment, "GENERATION_TIMEOUT": "300"}  # a real model on a busy machine
    starts()
    over = threading.Event()
    crowd = [Annotator(other, number, over) for number in range(ANNOTATORS)]
    for annotator in crowd:
        annotator.start()
    served = CandidateRequest.objects.filter(state=RequestState.DONE)
    wait_until(lambda: served.count() >= ANNOTATORS, 120, "the first candidates")
    promote_model(promotion_id=uuid4(), model=model, project=other, actor=None, expected_current="before")
    over.set()
    for annotator in crowd:
        annotator.join(120)

    requests = [request.pk for annotator in crowd for _at, request in annotator.asked]
    assert served.filter(pk__in=requests).count() == len(requests) >= ANNOTATORS * (1 + TURNS_AFTER)
    last = [annotator.asked[-1][1].pk for annotator in crowd]
    versions = set(served.filter(pk__in=last).values_list("candidate_set__model_version", flat=True))
    assert versions == {model.version}
