"""Claiming, renewing, saving and giving back."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment, AssignmentState, Task, Workload
from annotation.tasks.selectors.assignments import assignment_for
from annotation.tasks.services.assignment import (
    reap_expired_leases,
    release,
    renew_lease,
    resume,
    save_for_later,
)
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import NotAllowed, NotFound, Refusal
from dialogues.models import DialogueState
from projects.models import Event, Membership, Project, Role

Writes = Callable[..., TurnResult]


def expire(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert reap_expired_leases() == 1
    assignment.refresh_from_db()


def test_ann_claims_a_task_and_takes_its_slot(planned: Project, ann: User) -> None:
    assignment = claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    assert assignment.state == AssignmentState.ACTIVE
    assert assignment.dialogue.state == DialogueState.WRITING
    assert Task.objects.get(pk=assignment.task_id).open_slots == 0


def test_a_claim_sent_twice_is_one_claim(planned: Project, ann: User) -> None:
    claim_id = uuid4()
    first = claim_next_task(annotator=ann, project=planned, claim_id=claim_id)
    assert claim_next_task(annotator=ann, project=planned, claim_id=claim_id) == first
    assert Assignment.objects.count() == 1


def test_a_claim_id_of_bob_is_refused(planned: Project, ann: User, bob: User) -> None:
    claim_id = uuid4()
    claim_next_task(annotator=bob, project=planned, claim_id=claim_id)
    with pytest.raises(Refusal) as refused:
        claim_next_task(annotator=ann, project=planned, claim_id=claim_id)
    assert refused.value.code == "id_in_use"
    assert Assignment.objects.count() == 1


def test_the_person_who_claims_does_not_choose_the_split(planned: Project, ann: User) -> None:
    """It follows from the id of the dialogue, which the server draws: the same claim again gets another one."""
    claim_id, names = uuid4(), set()
    for _claim in range(2):
        with transaction.atomic():
            names.add(claim_next_task(annotator=ann, project=planned, claim_id=claim_id).dialogue.external_id)
            transaction.set_rollback(True)
    assert len(names) == 2


def test_smaller_priority_comes_first(planned: Project, ann: User, mara: User) -> None:
    plan_dialogues(project=planned, actor=mara, count=1, plan_id=uuid4(), priority=-1)
    assignment = claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    assert assignment.task.priority == -1


def test_a_smaller_priority_planned_later_comes_next(
    anns_assignment: Assignment, ann: User, mara: User, planned: Project
) -> None:
    assert anns_assignment.task.priority == 0
    plan_dialogues(project=planned, actor=mara, count=1, plan_id=uuid4(), priority=-1)
    reloaded = Project.objects.get(pk=planned.pk)
    assert claim_next_task(annotator=ann, project=reloaded, claim_id=uuid4()).task.priority == -1


def test_nobody_holds_more_than_the_limit(planned: Project, ann: User) -> None:
    planned.authoring.open_tasks_per_person = 1
    planned.authoring.save()
    claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    with pytest.raises(Refusal) as refused:
        claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    assert (refused.value.code, refused.value.details) == ("too_many_open", {"open": 1})


def test_bob_learns_when_anns_lease_on_the_last_task_ends(
    project: Project, ann: User, bob: User, mara: User
) -> None:
    plan_dialogues(project=project, actor=mara, count=1, plan_id=uuid4())
    held = claim_next_task(annotator=ann, project=project, claim_id=uuid4())
    with pytest.raises(Refusal) as refused:
        claim_next_task(annotator=bob, project=project, claim_id=uuid4())
    assert refused.value.code == "all_claimed"
    assert refused.value.details["until"] == held.lease_until.isoformat()


def test_an_empty_project_is_all_done(project: Project, ann: User) -> None:
    with pytest.raises(Refusal) as refused:
        claim_next_task(annotator=ann, project=project, claim_id=uuid4())
    assert refused.value.code == "all_done"


def test_a_controller_may_not_claim(planned: Project, carlos: User) -> None:
    with pytest.raises(NotAllowed):
        claim_next_task(annotator=carlos, project=planned, claim_id=uuid4())


def test_bob_cannot_see_anns_assignment(anns_assignment: Assignment, bob: User) -> None:
    with pytest.raises(NotFound):
        assignment_for(bob, anns_assignment.pk)


def test_the_database_refuses_over_assignment(anns_assignment: Assignment) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Task.objects.filter(pk=anns_assignment.task_id).update(open_slots=-1)


def test_a_lease_that_ends_frees_the_task_and_records_why(anns_assignment: Assignment) -> None:
    expire(anns_assignment)
    assert anns_assignment.state == AssignmentState.EXPIRED
    assert Task.objects.get(pk=anns_assignment.task_id).open_slots == 1
    event = Event.objects.get(subject_type="annotation.assignment", after="expired")
    assert (event.reason, event.actor) == ("lease over", None)


def test_renewing_moves_the_end_of_the_lease(anns_assignment: Assignment, ann: User) -> None:
    before = anns_assignment.lease_until
    assert renew_lease(annotator=ann, assignment_id=anns_assignment.pk).lease_until > before


def test_expired_work_is_taken_up_again_while_its_slot_is_open(
    anns_assignment: Assignment, ann: User
) -> None:
    expire(anns_assignment)
    taken = resume(annotator=ann, assignment_id=anns_assignment.pk)
    assert (taken.state, taken.dialogue.state) == (AssignmentState.ACTIVE, DialogueState.WRITING)
    assert Task.objects.get(pk=taken.task_id).open_slots == 0


def test_a_late_turn_is_stored_if_nobody_has_taken_over(anns_assignment: Assignment, writes: Writes) -> None:
    expire(anns_assignment)
    assert writes(anns_assignment, "Still there?", 0).assignment.state == AssignmentState.ACTIVE


def test_a_late_turn_is_refused_if_bob_has_taken_over(
    anns_assignment: Assignment, bob: User, writes: Writes, project: Project
) -> None:
    Task.objects.exclude(pk=anns_assignment.task_id).delete()
    expire(anns_assignment)
    bobs = claim_next_task(annotator=bob, project=project, claim_id=uuid4())
    assert bobs.task_id == anns_assignment.task_id
    with pytest.raises(Refusal) as refused:
        writes(anns_assignment, "Too late", 0)
    assert refused.value.code == "lease_gone"
    assert anns_assignment.dialogue.utterances.count() == 0


def test_saved_work_is_kept_for_days(anns_assignment: Assignment, ann: User) -> None:
    saved = save_for_later(annotator=ann, assignment_id=anns_assignment.pk)
    assert saved.state == AssignmentState.SAVED
    assert saved.lease_until > timezone.now() + timedelta(days=6)
    assert save_for_later(annotator=ann, assignment_id=anns_assignment.pk).state == AssignmentState.SAVED


def test_giving_back_frees_the_slot_once(anns_assignment: Assignment, ann: User) -> None:
    for _ in range(2):
        release(annotator=ann, assignment_id=anns_assignment.pk, reason="no idea")
    assert Task.objects.get(pk=anns_assignment.task_id).open_slots == 1
    assert Event.objects.get(subject_type="annotation.assignment", after="released").reason == "no idea"


def test_ann_does_not_get_a_dialogue_again_that_she_gave_back(
    anns_assignment: Assignment, ann: User, planned: Project
) -> None:
    release(annotator=ann, assignment_id=anns_assignment.pk)
    assert (
        claim_next_task(annotator=ann, project=planned, claim_id=uuid4()).task_id != anns_assignment.task_id
    )


@pytest.mark.parametrize("size", [1_000, 100_000])
def test_claiming_costs_the_same_queries_at_every_size(
    project: Project, ann: User, mara: User, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    plan_dialogues(project=project, actor=mara, count=size, plan_id=uuid4())
    Workload.objects.create(project=project, annotator=ann)  # otherwise created by the first claim
    with django_assert_num_queries(7):  # two of them for the savepoint
        claim_next_task(annotator=ann, project=project, claim_id=uuid4())


def test_planning_twice_with_one_id_plans_once(project: Project, mara: User) -> None:
    plan_id = uuid4()
    assert plan_dialogues(project=project, actor=mara, count=5, plan_id=plan_id) == 5
    assert plan_dialogues(project=project, actor=mara, count=5, plan_id=plan_id) == 0
    assert Task.objects.count() == 5


def test_ann_cannot_read_or_write_after_she_was_removed(
    anns_assignment: Assignment, ann: User, writes: Writes, project: Project
) -> None:
    Membership.objects.filter(user=ann, project=project).delete()
    with pytest.raises(NotFound):
        assignment_for(ann, anns_assignment.pk)
    for action in (renew_lease, save_for_later):
        with pytest.raises(NotAllowed):
            action(annotator=ann, assignment_id=anns_assignment.pk)
    with pytest.raises(NotAllowed):
        writes(anns_assignment, "still here", 0)
    release(annotator=ann, assignment_id=anns_assignment.pk)
    with pytest.raises(NotAllowed):
        resume(annotator=ann, assignment_id=anns_assignment.pk)


def test_nobody_writes_in_an_archived_project(
    anns_assignment: Assignment, writes: Writes, project: Project
) -> None:
    Project.objects.filter(pk=project.pk).update(archived_at=timezone.now())
    with pytest.raises(NotAllowed):
        writes(anns_assignment, "too late", 0)


def test_nobody_claims_in_an_archived_project(planned: Project, joins: Callable[..., User]) -> None:
    ann = joins("ann", planned, Role.ANNOTATOR)
    planned.archived_at = timezone.now()
    planned.save()
    with pytest.raises(NotAllowed):
        claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
