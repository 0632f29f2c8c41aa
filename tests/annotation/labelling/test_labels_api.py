"""Final labels over the API: each once, in an order in which whoever goes on from the last one misses nothing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Model

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Schema
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from common import settled_rows
from common.refusals import Refusal
from common.settled_rows import settled_id
from projects.models import Membership, Project, Role
from tests.annotation.batch_review.conftest import diqad_answers
from tests.annotation.conftest import imported
from tests.api.conftest import Program
from tests.api.conftest import program as program

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/api/v1/projects/quality/labels/"


@pytest.fixture
def quality(mara: User, ann: User) -> Project:
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    Membership.objects.create(project=project, user=ann, roles=[Role.ANNOTATOR])
    return project


def planned(project: Project, count: int) -> None:
    imported(project, count)
    plan_labelling(project=project, actor=None, plan_id=uuid4())


def label_next(project: Project, person: User) -> int:
    """Returns the id of the dialogue."""
    held = claim_next_task(annotator=person, project=project, claim_id=uuid4())
    sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(2))
    submit_labels(annotator=person, assignment_id=held.pk, sent=sent)
    return held.dialogue_id


def decide(held: Assignment) -> None:
    """Nothing but the final label, which blocks nobody else."""
    FinalLabel.objects.create(
        task=held.task,
        project=held.project,
        dialogue=held.dialogue,
        schema=Schema.objects.get(project=held.project),
        answers=diqad_answers(2),
        origin=LabelOrigin.SINGLE,
    )


def pages(api: Any, size: int) -> Iterator[dict[str, Any]]:
    address: str | None = f"{ADDRESS}?page_size={size}"
    while address:
        page = api.get(address).json()
        address = page["next"]
        yield page


def test_labels_are_paged_and_gone_on_with(quality: Project, ann: User, mara: User, program: Program) -> None:
    planned(quality, 5)
    api = program(mara)
    empty = api.get(ADDRESS).json()
    assert (empty["results"], empty["next"]) == ([], None)
    labelled = [label_next(quality, ann) for _dialogue in range(4)]
    found = [*pages(api, 3)]
    assert [[row["dialogue"] for row in page["results"]] for page in found] == [labelled[:3], labelled[3:]]
    (row,) = found[-1]["results"]
    assert (row["answers"], row["origin"], row["schema"]) == (diqad_answers(2), "single", 1)
    assert (row["batch"], row["review"], row["machine"]) == (None, None, None)
    for resume in (empty["resume"], found[-1]["resume"]):
        follow = {"follow": "true", "cursor": resume}
        seen = [row["dialogue"] for row in api.get(ADDRESS, follow).json()["results"]]
        assert seen == (labelled if resume == empty["resume"] else [])
    last = label_next(quality, ann)
    (row,) = api.get(ADDRESS, {"follow": "true", "cursor": found[-1]["resume"]}).json()["results"]
    assert row["dialogue"] == last


def test_a_label_that_replaces_another_comes_again(
    quality: Project, ann: User, mara: User, program: Program
) -> None:
    planned(quality, 1)
    label_next(quality, ann)
    api = program(mara)
    first = api.get(ADDRESS, {"follow": "true"}).json()
    sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(1))
    submit_labels(annotator=ann, assignment_id=ann.assignments.get().pk, sent=sent)
    (row,) = api.get(ADDRESS, {"follow": "true", "cursor": first["resume"]}).json()["results"]
    assert (row["dialogue"], row["answers"]) == (first["results"][0]["dialogue"], diqad_answers(1))
    assert [each["id"] for each in api.get(ADDRESS).json()["results"]] == [row["id"]]


@contextmanager
def in_another_transaction(work: Callable[[], object]) -> Iterator[threading.Event]:
    """Do something and commit it only when the event is set."""
    done, commit = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            work()
            done.set()
            commit.wait(30)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert done.wait(30)
    try:
        yield commit
    finally:
        commit.set()
        thread.join()


def test_a_label_that_commits_late_is_not_missed(
    quality: Project, ann: User, bob: User, mara: User, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ann's label gets its id first and is stored last: nobody may read Bob's before it and go on behind."""
    monkeypatch.setattr(settled_id, "__kwdefaults__", {"wait_seconds": 0.05})
    Membership.objects.create(project=quality, user=bob, roles=[Role.ANNOTATOR])
    planned(quality, 2)
    api = program(mara)
    held = claim_next_task(annotator=ann, project=quality, claim_id=uuid4())
    with in_another_transaction(lambda: decide(held)) as commit:
        late = label_next(quality, bob)
        assert [row["dialogue"] for row in api.get(ADDRESS).json()["results"]] == [late]
        refused = api.get(ADDRESS, {"follow": "true"})
        assert (refused.status_code, refused.json()["code"]) == (503, "not_settled")
        commit.set()
    labels = list(FinalLabel.objects.order_by("pk").values_list("dialogue", flat=True))
    assert labels[1] == late
    seen = [row["dialogue"] for row in api.get(ADDRESS, {"follow": "true"}).json()["results"]]
    assert seen == labels


def test_a_short_transaction_is_waited_for(
    quality: Project, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(quality, 1)
    with in_another_transaction(lambda: label_next(quality, ann)) as commit, monkeypatch.context() as patch:
        find_writers = settled_rows._writers

        def find_writers_and_let_them_commit(model: type[Model]) -> set[str]:
            found = find_writers(model)
            commit.set()
            return found

        patch.setattr(settled_rows, "_writers", find_writers_and_let_them_commit)
        assert settled_id(FinalLabel, wait_seconds=20) == 0  # of what was visible when it began
    assert settled_id(FinalLabel) == FinalLabel.objects.get().pk
    with in_another_transaction(lambda: FinalLabel.objects.update(reason="-")), pytest.raises(Refusal):
        settled_id(FinalLabel, wait_seconds=0.01)
