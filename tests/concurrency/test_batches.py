"""Races on a batch: cut while people work, sealed while labels are revised, two samples, two verdicts."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.sealing import seal_round
from annotation.batch_review.services.undoing import undo_acceptance, undo_return
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.services.gold import make_gold
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Assignment, Task, TaskState, Workload
from annotation.tasks.services.assignment import subtract_withdrawn
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Membership, Project, Role
from tests.annotation.batch_review.conftest import diqad_answers
from tests.annotation.conftest import imported
from tests.concurrency.test_labels import has_waiter, run_concurrently
from tests.processes import database_url, wait_until
from tests.sizes import RACES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.soak]


@pytest.fixture
def project(transactional_db: None) -> Project:
    project = create_project(slug="quality", preset="diqad", actor=None)
    project.labelling.min_seconds, project.labelling.overlap, project.labelling.balance = 0, 1, None
    project.labelling.save()
    BatchPlan.objects.create(
        project=project,
        question="quality",
        sample_size=4,
        overall_percent=75,
        class_percent=0,
        double_every=0,
    )
    return project


def member(project: Project, name: str, role: str) -> User:
    user, _new = User.objects.get_or_create(username=name)
    Membership.objects.get_or_create(project=project, user=user, defaults={"roles": [role]})
    return user


def labelled_round(project: Project, dialogues: int = 4) -> tuple[Round, list[int]]:
    """The open round of a new batch whose dialogues are all labelled, and the assignments."""
    anna = member(project, "anna", Role.ANNOTATOR)
    imported(project, dialogues)
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    [batch] = cut_batches(project=project, actor=None, cut_id=uuid4())
    held = []
    for _n in range(dialogues):
        held.append(claim_next_task(annotator=anna, project=project, claim_id=uuid4()).pk)
        send(anna, held[-1], 2)
    row = Round.objects.get(batch=batch)
    # As if the last label had just been stored.
    Round.objects.filter(pk=row.pk).update(state=RoundState.OPEN, sealed_at=None)
    return row, held


def send(anna: User, assignment: int, quality: int) -> None:
    sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(quality))
    submit_labels(annotator=anna, assignment_id=assignment, sent=sent)


def refusal_codes(results: list[Any]) -> set[str]:
    expected = Refusal | Round | Sample | Judgement | None
    assert all(isinstance(result, expected) for result in results), results
    return {result.code for result in results if isinstance(result, Refusal)}


def run_during(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    """Run `second` when `first` has done everything but commit; `first` commits once `second` waits for it."""
    done = Event()

    def run_first() -> Any:
        with transaction.atomic():
            result = first()
            done.set()
            wait_until(has_waiter, 30, "the second one to wait")
            return result

    def run_second() -> Any:
        assert done.wait(30)
        return second()

    return run_concurrently(run_first, run_second)


def plan_dialogues(project: Project, dialogues: int) -> User:
    """Plan dialogues that are in no batch; returns Anna, who may label them."""
    imported(project, dialogues)
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    return member(project, "anna", Role.ANNOTATOR)


def claim(anna: User, project: Project) -> Assignment:
    return claim_next_task(annotator=anna, project=project, claim_id=uuid4())


@pytest.mark.parametrize("submits", [False, True])
def test_batches_are_cut_while_people_work(project: Project, submits: bool) -> None:
    """When it commits, a claim or a submission refers to the project, whose row the cut has locked."""
    anna = plan_dialogues(project, 3)
    works = partial(send, anna, claim(anna, project).pk, 2) if submits else partial(claim, anna, project)
    worked, batches = run_during(works, partial(cut_batches, project=project, actor=None, cut_id=uuid4()))
    assert worked is None or isinstance(worked, Assignment), worked
    assert isinstance(batches, list), batches
    [batch] = batches
    assert (batch.size, Task.objects.filter(round__batch=batch).count()) == (3, 3)


def gold_maker(project: Project, dialogue: int) -> Callable[[], Any]:
    tina = member(project, "tina", Role.TRAINER)
    return partial(
        make_gold,
        trainer=tina,
        project=project,
        dialogue_id=dialogue,
        answers=diqad_answers(2),
        explanation="",
    )


def test_a_dialogue_that_becomes_gold_during_a_cut_is_in_no_batch(project: Project) -> None:
    plan_dialogues(project, 3)
    task = Task.objects.order_by("rank")[0]
    assert task.dialogue_id
    cuts = partial(cut_batches, project=project, actor=None, cut_id=uuid4())
    gold, batches = run_during(gold_maker(project, task.dialogue_id), cuts)
    assert not isinstance(gold, Exception), gold
    assert isinstance(batches, list), batches
    assert [batch.size for batch in batches] == [2]
    task.refresh_from_db()
    assert (task.round_id, task.open_slots) == (None, 0)


def test_a_dialogue_that_becomes_gold_after_a_cut_leaves_its_batch(project: Project) -> None:
    plan_dialogues(project, 3)
    task = Task.objects.order_by("rank")[0]
    assert task.dialogue_id
    cuts = partial(cut_batches, project=project, actor=None, cut_id=uuid4())
    batches, gold = run_during(cuts, gold_maker(project, task.dialogue_id))
    assert isinstance(batches, list), batches
    assert not isinstance(gold, Exception), gold
    task.refresh_from_db()
    assert (task.round_id, Batch.objects.get().size) == (None, 2)


def test_a_dialogue_that_is_being_claimed_does_not_become_gold(project: Project) -> None:
    """When it commits, the claim refers to the dialogue, whose row is locked to become gold."""
    anna = plan_dialogues(project, 1)
    [dialogue] = Task.objects.values_list("dialogue_id", flat=True)
    assert dialogue
    claimed, gold = run_during(partial(claim, anna, project), gold_maker(project, dialogue))
    assert isinstance(claimed, Assignment), claimed
    assert isinstance(gold, Refusal), gold
    assert gold.code == "in_work"


def test_two_returns_lock_workloads_in_one_order(project: Project) -> None:
    """A transaction that holds the first row also gets the second: others wait for the first and hold none."""
    anna, bela = (member(project, name, Role.ANNOTATOR) for name in ("anna", "bela"))
    row, held = labelled_round(project, 2)
    Assignment.objects.filter(pk=held[1]).update(annotator=bela)
    Workload.objects.all().delete()
    # The second is stored first, in the table and in the index by person.
    second = Workload.objects.create(pk=1002, project=project, annotator=anna)
    first = Workload.objects.create(pk=1001, project=project, annotator=bela)
    taken = Event()

    def locks_both() -> int:
        mine = Workload.objects.select_for_update(nowait=True)
        with transaction.atomic():
            mine.get(pk=first.pk)
            taken.set()
            wait_until(has_waiter, 30, "the return's wait")
            return mine.get(pk=second.pk).pk

    def returns() -> None:
        assert taken.wait(30)
        with transaction.atomic():
            subtract_withdrawn(row)

    assert run_concurrently(locks_both, returns) == [second.pk, None]


def test_a_label_is_revised_before_the_seal_or_not_at_all(project: Project) -> None:
    anna = member(project, "anna", Role.ANNOTATOR)
    for _race in range(RACES):
        row, held = labelled_round(project)
        done = run_concurrently(
            partial(seal_round, actor=None, round_id=row.pk),
            *(partial(send, anna, assignment, 1) for assignment in held),
        )
        assert refusal_codes(done) <= {"sealed"}
        row.refresh_from_db()
        assert row.state == RoundState.SEALED
        assert Task.objects.filter(round=row, state=TaskState.FINAL).count() == 4
        revised = FinalLabel.objects.filter(task__round=row, superseded_at=None, decided_at__gt=row.sealed_at)
        assert not revised.exists()


def test_two_controllers_draw_one_sample(project: Project) -> None:
    carla, chris = (member(project, name, Role.CONTROLLER) for name in ("carla", "chris"))
    for _race in range(RACES):
        row, _held = labelled_round(project)
        seal_round(actor=None, round_id=row.pk)
        done = run_concurrently(
            *(
                partial(draw_sample, controller=controller, round_id=row.pk, sample_id=uuid4())
                for controller in (carla, chris)
            )
        )
        assert refusal_codes(done) == {"already_drawn"}
        assert Sample.objects.filter(round=row).count() == 1


def test_two_controllers_judge_one_dialogue_once(project: Project) -> None:
    carla, chris = (member(project, name, Role.CONTROLLER) for name in ("carla", "chris"))
    row, _held = labelled_round(project)
    seal_round(actor=None, round_id=row.pk)
    sample = draw_sample(controller=carla, round_id=row.pk, sample_id=uuid4())
    for item in SampleItem.objects.filter(sample=sample):
        sent = [SentJudgement(id=uuid4(), answers=diqad_answers(quality)) for quality in (2, 1)]
        done = run_concurrently(
            partial(judge, controller=carla, item_id=item.pk, sent=sent[0]),
            partial(judge, controller=chris, item_id=item.pk, sent=sent[1]),
        )
        assert refusal_codes(done) == {"judged_already"}
        assert Judgement.objects.filter(item=item).count() == 1


@pytest.mark.parametrize("right", [True, False])
def test_accepted_and_returned_at_the_same_instant(project: Project, right: bool) -> None:
    carla, chris = (member(project, name, Role.CONTROLLER) for name in ("carla", "chris"))
    for _race in range(RACES):
        row, _held = labelled_round(project)
        seal_round(actor=None, round_id=row.pk)
        sample = draw_sample(controller=carla, round_id=row.pk, sample_id=uuid4())
        items = list(SampleItem.objects.filter(sample=sample).order_by("place"))
        for item in items[:-1]:
            sent = SentJudgement(id=uuid4(), answers=diqad_answers(2 if right else 1))
            judge(controller=carla, item_id=item.pk, sent=sent)
        last = SentJudgement(id=uuid4(), answers=diqad_answers(2 if right else 1))
        done = run_concurrently(
            partial(judge, controller=carla, item_id=items[-1].pk, sent=last),
            partial(accept_round, controller=carla, round_id=row.pk, decision_id=uuid4()),
            partial(return_round, controller=chris, round_id=row.pk, decision_id=uuid4(), reason="No."),
            partial(return_round, controller=carla, round_id=row.pk, decision_id=uuid4(), reason="No."),
        )
        assert refusal_codes(done) <= {"not_in_review", "passes", "fails", "not_decided"}
        row.refresh_from_db()
        assert row.state == (RoundState.ACCEPTED if right else RoundState.RETURNED)
        rounds = Round.objects.filter(batch=row.batch)
        live = FinalLabel.objects.filter(task__round__batch=row.batch, superseded_at=None)
        assert (rounds.count(), live.count()) == ((1, 4) if right else (2, 0))
        # The next race must not claim them.
        Task.objects.filter(round__batch=row.batch).update(open_slots=0)


def judged_round(project: Project, controller: User, quality: int) -> Round:
    """A round whose whole sample the controller judged with this score; the annotators gave 2."""
    row, _held = labelled_round(project)
    seal_round(actor=None, round_id=row.pk)
    sample = draw_sample(controller=controller, round_id=row.pk, sample_id=uuid4())
    for item in SampleItem.objects.filter(sample=sample):
        sent = SentJudgement(id=uuid4(), answers=diqad_answers(quality))
        judge(controller=controller, item_id=item.pk, sent=sent)
    return row


def test_an_acceptance_is_undone_while_another_is_given(project: Project) -> None:
    carla, chris = (member(project, name, Role.CONTROLLER) for name in ("carla", "chris"))
    for _race in range(RACES):
        row, first, second = judged_round(project, carla, 2), uuid4(), uuid4()
        accept_round(controller=carla, round_id=row.pk, decision_id=first)
        undo = partial(undo_acceptance, controller=carla, round_id=row.pk, decision_id=first)
        accepts = partial(accept_round, controller=chris, round_id=row.pk, decision_id=second)
        *undone, accepted = run_concurrently(undo, undo, accepts)
        assert refusal_codes(undone) == set()
        assert refusal_codes([accepted]) <= {"not_in_review"}
        row.refresh_from_db()
        is_accepted = isinstance(accepted, Round)
        assert (row.state == RoundState.ACCEPTED, row.decision_id == second) == (is_accepted, is_accepted)


def test_the_undo_of_a_return_waits_for_a_claim_on_its_way(project: Project) -> None:
    anna, carla = member(project, "anna", Role.ANNOTATOR), member(project, "carla", Role.CONTROLLER)
    row, decision = judged_round(project, carla, 1), uuid4()
    return_round(controller=carla, round_id=row.pk, decision_id=decision, reason="No.")
    undo = partial(undo_return, controller=carla, round_id=row.pk, decision_id=decision)
    claimed, undone = run_during(partial(claim, anna, project), undo)
    assert isinstance(claimed, Assignment), claimed
    assert refusal_codes([undone]) == {"worked_on"}
    assert Round.objects.count() == 2


KILLED = """
import os, signal, sys
import django
django.setup()
from uuid import UUID
from accounts.models import User
from annotation.batch_review.services import verdicts
step = getattr(verdicts, sys.argv[1])
def step_then_die(*arguments):
    step(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(verdicts, sys.argv[1], step_then_die)
carla = User.objects.get(username="carla")
verdicts.return_round(
    controller=carla, round_id=int(sys.argv[2]), decision_id=UUID(sys.argv[3]), reason="No."
)
"""


@pytest.mark.parametrize("after", ["_give_verdict", "withdraw_labels", "open_next_round"])
def test_killing_a_process_inside_a_verdict_undoes_everything(project: Project, after: str) -> None:
    """kill -9 after the verdict, after the withdrawal and after the next round was opened."""
    carla = member(project, "carla", Role.CONTROLLER)
    row, decision = judged_round(project, carla, 1), uuid4()
    environment = {**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", KILLED, after, str(row.pk), str(decision)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    row.refresh_from_db()
    assert (row.state, row.decision_id, Round.objects.count()) == (RoundState.IN_REVIEW, None, 1)
    assert set(Task.objects.values_list("state", flat=True)) == {TaskState.FINAL}
    assert FinalLabel.objects.filter(superseded_at=None).count() == 4
    following = return_round(controller=carla, round_id=row.pk, decision_id=decision, reason="No.")
    assert (following.number, FinalLabel.objects.filter(superseded_at=None).count()) == (2, 0)
