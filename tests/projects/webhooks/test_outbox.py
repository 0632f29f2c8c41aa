"""What real work of people and jobs stores for webhooks, with its event."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue, take_back_dialogue
from annotation.authoring.services.turns import TurnResult
from annotation.batch_review.models import Sample
from annotation.batch_review.services.machine_labels import MachineLabel, MachineSource, create_machine_batch
from annotation.batch_review.services.undoing import undo_return
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from jobs import services as jobs
from jobs.models import Job, JobState
from jobs.registry import register
from preference.registry.services.promotion import promote_model, roll_back
from projects.models import Event, Project, Webhook, WebhookDelivery
from projects.outbox import TRIGGERS
from projects.roles import Capability
from projects.webhooks.services import remove_webhook, switch_webhook
from tests.annotation.authoring.steps import write_rounds
from tests.annotation.batch_review.conftest import carla as carla
from tests.annotation.batch_review.conftest import diqad_answers, judge_all
from tests.annotation.batch_review.conftest import drawn as drawn
from tests.annotation.batch_review.conftest import quality as quality
from tests.annotation.batch_review.conftest import sealed as sealed
from tests.annotation.conftest import anna as anna
from tests.annotation.conftest import imported
from tests.assessment.conftest import anns as anns
from tests.assessment.conftest import run as run
from tests.assessment.conftest import study as study
from tests.assessment.steps import complete
from tests.preference.learning import trained_model
from tests.projects.webhooks.conftest import Happens, added

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.org/"


def stored() -> list[tuple[str, str]]:
    return list(WebhookDelivery.objects.order_by("event_id").values_list("type", "subject"))


def test_a_dialogue_that_is_finished_and_taken_back(
    project: Project, anns_assignment: Assignment, ann: User, writes: Callable[..., TurnResult]
) -> None:
    added(project, None, URL)
    write_rounds(writes, anns_assignment, 7)
    finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    take_back_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    subject = f"dialogue:{anns_assignment.dialogue_id}"
    assert stored() == [("dialogue.finished", subject), ("dialogue.reopened", subject)]


def test_a_label_that_is_final_and_then_corrected(quality: Project, anna: User) -> None:
    added(quality, None, URL)
    [dialogue] = imported(quality, 1)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    for score in (2, 1):
        sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(score))
        submit_labels(annotator=anna, assignment_id=held.pk, sent=sent)
    assert stored() == [("label.final", f"dialogue:{dialogue.pk}")] * 2
    first, second = Event.objects.filter(subject_type="annotation.task").order_by("id")
    assert first.data["label"] < second.data["label"]
    assert [first.kind, second.kind] == ["state", "label_replaced"]


def test_batches_are_returned_restored_and_accepted(drawn: Sample, carla: User, quality: Project) -> None:
    added(quality, None, URL)
    judge_all(carla, drawn, wrong=4)
    decision = uuid4()
    about = {"controller": carla, "round_id": drawn.round_id}
    return_round(**about, decision_id=decision, reason="Read it twice.")  # type: ignore[arg-type]
    undo_return(**about, decision_id=decision)  # type: ignore[arg-type]
    subject = f"batch:{drawn.round.batch_id}"
    assert stored() == [("batch.returned", subject), ("batch.reopened", subject)]


def test_an_accepted_batch(drawn: Sample, carla: User, quality: Project) -> None:
    added(quality, None, URL)
    judge_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert stored() == [("batch.accepted", f"batch:{drawn.round.batch_id}")]


def test_a_batch_that_a_model_labelled(quality: Project) -> None:
    added(quality, None, URL)
    dialogues = imported(quality, 2)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    batch = create_machine_batch(
        project=quality,
        actor=None,
        batch_id=uuid4(),
        source=MachineSource(run=uuid4(), model="assessor", version="1"),
        labels=[MachineLabel(one.pk, 2, 0.9) for one in dialogues],
        request={},
    )
    assert stored() == [("batch.labelled", f"batch:{batch.pk}")]


def started(project: Project, work: str = "builtins.bool") -> Job:
    register("webhook_job", work, needs=Capability.IMPORT)
    parameters: dict[str, int] = {}
    return jobs.start_job(
        id=uuid4(), kind="webhook_job", project=project, actor=None, parameters=parameters, enqueue=False
    )


def refuse(job: Job, progress: object) -> dict[str, int]:
    raise Refusal("no", "It cannot.")


def finish(job: Job, progress: object) -> dict[str, int]:
    return {"rows": 1}


def test_jobs_that_end_in_every_way(project: Project) -> None:
    added(project, None, URL)
    done, failed = started(project, f"{__name__}.finish"), None
    jobs.run_job(job_id=done.pk)
    failed = started(project, f"{__name__}.refuse")
    jobs.run_job(job_id=failed.pk)
    cancelled, lost = started(project), started(project)
    jobs.cancel_job(job=cancelled, actor=None)
    long_ago = timezone.now() - timedelta(hours=1)
    Job.objects.filter(pk=lost.pk).update(
        state=JobState.RUNNING, heartbeat_at=long_ago, cancel_requested_at=long_ago
    )
    for _ in range(2):
        jobs.take_over_lost_jobs()
    ended = [(done, "done"), (failed, "failed"), (cancelled, "cancelled"), (lost, "cancelled")]
    assert stored() == [("job.ended", f"job:{job.pk}") for job, _state in ended]
    events = Event.objects.filter(subject_type="jobs.job").order_by("id")
    assert [(event.after, event.data["kind"]) for event in events] == [
        (state, "webhook_job") for _job, state in ended
    ]


def test_a_model_that_is_promoted_and_rolled_back(
    project: Project, mara: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("preference.registry.services.promotion.LOADING_SECONDS", 0.2)
    project.authoring.generator = None
    project.authoring.save()
    model = trained_model(project, mara)
    added(project, None, URL)
    about = {"project": project, "actor": mara}
    promote_model(promotion_id=uuid4(), model=model, expected_current=None, **about)  # type: ignore[arg-type]
    roll_back(promotion_id=uuid4(), expected_current=model.slug, reason="worse", **about)  # type: ignore[arg-type]
    assert stored() == [("model.promoted", f"project:{project.slug}")] * 2


def test_a_participant_who_completes_the_study(study: Project, anns: Assignment) -> None:
    added(study, None, URL, events=["assessment.completed"])
    complete(anns)  # type: ignore[arg-type]
    assert stored() == [("assessment.completed", f"assessment:{anns.pk}")]


def test_only_who_wants_an_event_gets_it(project: Project, quality: Project, happens: Happens) -> None:
    wanted, _ = added(project, None, URL, events=["job.ended"])
    added(project, None, URL, events=["label.final"])
    added(quality, None, URL)
    removed, _ = added(project, None, URL)
    off, _ = added(project, None, URL)
    mara = User.objects.get(username="mara")
    remove_webhook(webhook=removed, actor=mara)
    switch_webhook(webhook=off, actor=mara, on=False)
    happens()
    assert set(WebhookDelivery.objects.values_list("webhook", flat=True)) == {wanted.pk, off.pk}


def test_an_event_that_is_undone_leaves_no_delivery(webhook: Webhook, happens: Happens) -> None:
    with transaction.atomic():
        happens()
        transaction.set_rollback(True)
    assert stored() == []


def test_what_an_event_costs(
    project: Project, happens: Happens, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):  # a state that no webhook reports
        happens(to="queued")
    with django_assert_num_queries(2):  # nobody wants it
        happens()
    for _ in range(5):
        added(project, None, URL)
    with django_assert_num_queries(3):
        happens()


def test_every_type_has_a_trigger() -> None:
    assert {one.type for one in TRIGGERS} == set(type(TRIGGERS[0].type))
