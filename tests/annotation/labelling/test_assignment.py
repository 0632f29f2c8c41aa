"""Assigning dialogues for labelling: groups, priorities, limits, balance, and reasons why there is nothing to do."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.labelling.models.labels import Order
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.schemas import save_schema
from annotation.labelling.services.settings import update_labelling
from annotation.labelling.services.submissions import SentLabels, skip_task, submit_labels
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState, Workload
from annotation.tasks.services.assignment import _expire, reap_expired_leases, release, renew_lease
from annotation.tasks.services.claim_sql import NEXT_TASK
from annotation.tasks.services.claiming import LOWEST_RANK, claim_next_task
from annotation.tasks.services.queue_order import order_queue, restore_queue
from common.refusals import Invalid, Refusal
from dialogues.models import Dialogue
from projects.models import Event, Project, Role
from projects.services import set_group
from tests.annotation.conftest import Joins, assigned, imported

ANSWERS = {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}


def claims(person: User, project: Project) -> Assignment:
    return claim_next_task(annotator=person, project=Project.objects.get(pk=project.pk), claim_id=uuid4())


def refused(person: User, project: Project) -> Refusal:
    with pytest.raises(Refusal) as caught:
        claims(person, project)
    return caught.value


def sends(assignment: Assignment) -> None:
    labels = SentLabels(id=uuid4(), schema=1, answers=ANSWERS)
    submit_labels(annotator=assignment.annotator, assignment_id=assignment.pk, sent=labels)


def settings(project: Project, **changes: object) -> None:
    update_labelling(project=project, actor=None, changes=changes)


def test_nobody_gets_a_dialogue_twice(anna: User, quality: Project) -> None:
    mine = [claims(anna, quality) for _n in range(3)]
    assert len({row.task_id for row in mine}) == 3
    for row in mine:
        assert refused(anna, quality).details["open"] > 0
        sends(row)
    done = refused(anna, quality)
    assert (done.code, done.details) == ("all_done", {"left": 3}), "others still label these"


def test_everything_is_done_only_when_nobody_has_work_left(anna: User, bela: User, quality: Project) -> None:
    Task.objects.update(open_slots=1)
    skipped, *others = [claims(anna, quality) for _n in range(3)]
    for row in others:
        sends(row)
    release(annotator=anna, assignment_id=skipped.pk, reason="Not mine")
    assert "nothing more for you" in str(refused(anna, quality).message)
    taken = claims(bela, quality)
    sends(taken)
    assert str(refused(anna, quality).message) == "Everything in this project is done."
    Task.objects.filter(pk=taken.task_id).update(state=TaskState.DISPUTED)
    waits = refused(anna, quality)
    assert "nothing more for you" in str(waits.message)
    assert waits.details == {"left": 1}


def test_two_people_share_each_dialogue_and_a_third_finds_nothing(
    joins: Joins, anna: User, bela: User, quality: Project
) -> None:
    cleo = joins("cleo", quality, Role.ANNOTATOR)
    held = [claims(person, quality) for person in (anna, bela) for _n in range(3)]
    until = min(row.lease_until for row in held)
    nothing = refused(cleo, quality)
    assert (nothing.code, nothing.details["until"]) == ("all_claimed", until.isoformat())
    for row in held:
        sends(row)
    assert refused(cleo, quality).code == "all_done"


def test_a_trainer_without_the_role_cannot_claim(tina: User, quality: Project) -> None:
    assert refused(tina, quality).code == "not_allowed"


def test_claiming_does_not_change_the_dialogue(anna: User, quality: Project) -> None:
    before = list(Dialogue.objects.order_by("pk").values_list("pk", "state"))
    release(annotator=anna, assignment_id=claims(anna, quality).pk, reason="Later")
    assert list(Dialogue.objects.order_by("pk").values_list("pk", "state")) == before


def test_a_claim_contains_the_language_and_domain_of_its_dialogue(anna: User, quality: Project) -> None:
    Dialogue.objects.update(language="zh", domain="bank")
    dialogue = claims(anna, quality).dialogue
    assert (dialogue.language, dialogue.domain) == ("zh", "bank")
    assert dialogue.external_id == Dialogue.objects.get(pk=dialogue.pk).external_id


def test_only_the_group_gets_its_dialogues_and_gets_them_first(
    anna: User, bela: User, mara: User, quality: Project
) -> None:
    [special] = imported(quality, 1)
    plan_labelling(project=quality, actor=mara, plan_id=uuid4(), group="medicine", overlap=1)
    set_group(project=quality, actor=mara, user=anna, group=" medicine ")
    assert special.pk not in [claims(bela, quality).dialogue_id for _n in range(3)]
    assert claims(anna, quality).dialogue_id == special.pk
    assert claims(anna, quality).dialogue_id != special.pk


def test_changing_a_group_writes_one_event(anna: User, mara: User, quality: Project) -> None:
    for _again in range(2):
        set_group(project=quality, actor=mara, user=anna, group="medicine")
    event = Event.objects.get(kind="member_group")
    assert (event.actor, event.data["after"]) == (mara, "medicine")
    with pytest.raises(Invalid):
        set_group(project=quality, actor=mara, user=anna, group="m" * 41)


def test_smaller_priority_comes_first(anna: User, mara: User, quality: Project) -> None:
    [urgent] = imported(quality, 1)
    plan_labelling(project=quality, actor=mara, plan_id=uuid4(), priority=-5)
    assert claims(anna, quality).dialogue_id == urgent.pk


def test_an_urgent_dialogue_behind_the_cursor_is_found(anna: User, mara: User, quality: Project) -> None:
    claims(anna, quality)
    [urgent] = imported(quality, 1)
    plan_labelling(project=quality, actor=mara, plan_id=uuid4(), priority=-5)
    assert claims(anna, quality).dialogue_id == urgent.pk


def test_the_order_is_as_given_or_random_but_stable(mara: User, anna: User, quality: Project) -> None:
    places = list(Task.objects.order_by("dialogue_id").values_list("place", flat=True))
    assert places != sorted(places) or len(set(places)) == 3
    settings(quality, order=Order.GIVEN)
    more = imported(quality, 4)
    plan_labelling(project=quality, actor=mara, plan_id=uuid4(), priority=-1)
    settings(quality, open_tasks_per_person=9)
    assert [claims(anna, quality).dialogue_id for _n in more] == [dialogue.pk for dialogue in more]


def test_another_order_applies_to_the_dialogues_that_wait(anna: User, mara: User, quality: Project) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=mara, plan_id=uuid4())
    places = dict(Task.objects.values_list("dialogue_id", "place"))
    update_labelling(project=quality, actor=mara, changes={"order": Order.GIVEN, "open_tasks_per_person": 9})
    assert [claims(anna, quality).dialogue_id for _n in places] == sorted(places)
    update_labelling(project=quality, actor=mara, changes={"order": Order.RANDOM})
    assert dict(Task.objects.values_list("dialogue_id", "place")) == places


def test_another_order_keeps_a_list_in_front(mara: User, quality: Project) -> None:
    first, second, third = sorted(Task.objects.values_list("dialogue_id", flat=True))
    order_queue(project=quality, actor=mara, order_id=uuid4(), dialogues=[third], source={})
    update_labelling(project=quality, actor=mara, changes={"order": Order.GIVEN})
    assert Task.objects.order_by("rank").values_list("dialogue_id", flat=True)[0] == third
    restore_queue(project=quality, actor=mara, request_id=uuid4())
    in_order = Task.objects.order_by("rank").values_list("dialogue_id", flat=True)
    assert list(in_order) == [first, second, third]


def test_a_person_stops_at_the_limit(anna: User, quality: Project) -> None:
    settings(quality, max_per_person=1)
    sends(claims(anna, quality))
    nothing = refused(anna, quality)
    assert (nothing.code, nothing.details) == ("limit_reached", {"limit": 1})


def test_skipping_does_not_count_towards_the_limit(anna: User, quality: Project) -> None:
    settings(quality, max_per_person=1)
    skip_task(annotator=anna, assignment_id=claims(anna, quality).pk, reason="Not my language")
    assert claims(anna, quality).state == AssignmentState.ACTIVE


def test_skipping_requires_a_reason(anna: User, quality: Project) -> None:
    with pytest.raises(Invalid):
        skip_task(annotator=anna, assignment_id=claims(anna, quality).pk, reason="  ")


def test_an_annotator_too_far_ahead_waits_for_the_others(anna: User, bela: User, quality: Project) -> None:
    settings(quality, balance=1)
    claims(bela, quality)
    claims(anna, quality)
    claims(anna, quality)
    nothing = refused(anna, quality)
    assert (nothing.code, nothing.details["ahead"]) == ("balance", 1)
    claims(bela, quality)
    assert claims(anna, quality).state == AssignmentState.ACTIVE


def test_an_inactive_annotator_does_not_hold_up_the_others(anna: User, bela: User, quality: Project) -> None:
    settings(quality, balance=1)
    claims(bela, quality)
    Workload.objects.filter(annotator=bela).update(active_at=timezone.now() - timedelta(minutes=11))
    assert len([claims(anna, quality) for _n in range(3)]) == 3


def test_the_balance_counts_people_of_the_same_group(
    anna: User, bela: User, mara: User, quality: Project
) -> None:
    settings(quality, balance=1)
    set_group(project=quality, actor=mara, user=bela, group="medicine")
    claims(bela, quality)
    assert len([claims(anna, quality) for _n in range(3)]) == 3


def test_the_balance_does_not_count_whoever_found_nothing(anna: User, bela: User, quality: Project) -> None:
    settings(quality, balance=1)
    held = claims(bela, quality)
    others = Task.objects.exclude(pk=held.task_id)
    others.update(open_slots=0)
    assert refused(bela, quality).code == "all_done"
    others.update(open_slots=2)
    assert len([claims(anna, quality) for _n in range(3)]) == 3


def test_held_dialogues_of_another_group_are_nobody_elses_to_wait_for(
    anna: User, bela: User, mara: User, quality: Project
) -> None:
    Task.objects.update(open_slots=0)
    imported(quality, 1)
    plan_labelling(project=quality, actor=mara, plan_id=uuid4(), group="medicine", overlap=1)
    set_group(project=quality, actor=mara, user=bela, group="medicine")
    claims(bela, quality)
    assert refused(anna, quality).code == "all_done"


def test_nobody_waits_for_a_dialogue_that_they_have_had(anna: User, bela: User, quality: Project) -> None:
    first = claims(anna, quality)
    Task.objects.exclude(pk=first.task_id).update(open_slots=0)
    sends(first)
    assert claims(bela, quality).task_id == first.task_id
    assert refused(anna, quality).code == "all_done"


def test_an_expired_lease_frees_the_dialogue_for_somebody_else(
    anna: User, bela: User, quality: Project
) -> None:
    settings(quality, open_tasks_per_person=9)
    Task.objects.update(overlap=1, open_slots=1)
    mine = [claims(anna, quality) for _n in range(3)]
    Assignment.objects.filter(pk=mine[0].pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert reap_expired_leases() == 1
    assert claims(bela, quality).task_id == mine[0].task_id
    with pytest.raises(Refusal) as late:
        sends(Assignment.objects.get(pk=mine[0].pk))
    assert late.value.code == "lease_gone"


def test_a_renewed_lease_is_not_reaped(anna: User, quality: Project) -> None:
    row = claims(anna, quality)
    Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    renew_lease(annotator=anna, assignment_id=row.pk)
    assert reap_expired_leases() == 0


def test_a_lease_renewed_after_the_list_of_expired_ones_was_read_is_not_ended(
    anna: User, quality: Project
) -> None:
    row = claims(anna, quality)
    renew_lease(annotator=anna, assignment_id=row.pk)
    assert not _expire(row.pk)
    row.refresh_from_db()
    assert row.state == AssignmentState.ACTIVE


def expire(*held: Assignment) -> None:
    ended = timezone.now() - timedelta(seconds=1)
    Assignment.objects.filter(pk__in=[assignment.pk for assignment in held]).update(lease_until=ended)


def test_a_lease_that_cannot_be_ended_does_not_block_the_others(anna: User, quality: Project) -> None:
    broken, whole = claims(anna, quality), claims(anna, quality)
    Task.objects.filter(pk=broken.task_id).update(open_slots=2)  # so there is no slot to return
    expire(broken, whole)
    assert reap_expired_leases() == 1
    states = dict(Assignment.objects.values_list("pk", "state"))
    assert states == {broken.pk: AssignmentState.ACTIVE, whole.pk: AssignmentState.EXPIRED}


@pytest.mark.parametrize("expires", [True, False])
def test_assigned_questions_are_not_replaced(anna: User, quality: Project, expires: bool) -> None:
    """After an expiry or a release they may still be open on somebody's screen and be submitted from there."""
    held = claims(anna, quality)
    if expires:
        expire(held)
        assert reap_expired_leases() == 1
    else:
        release(annotator=anna, assignment_id=held.pk)
    content = PRESETS["dch"].schema
    assert content
    saved = save_schema(project=quality, actor=None, content=content, save_id=uuid4())
    assert saved.row.version == 2


def test_every_expired_lease_takes_the_same_queries(anna: User, quality: Project) -> None:
    imported(quality, 6)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    settings(quality, open_tasks_per_person=9)
    counts = []
    for several in (1, 2, 3):
        expire(*(claims(anna, quality) for _n in range(several)))
        with CaptureQueriesContext(connection) as queries:
            assert reap_expired_leases() == several
        counts.append(len(queries))
    assert counts[2] - counts[1] == counts[1] - counts[0] <= 10


def test_a_claim_id_belongs_to_one_person(anna: User, bela: User, quality: Project) -> None:
    claim_id = uuid4()
    first = claim_next_task(annotator=anna, project=quality, claim_id=claim_id)
    assert claim_next_task(annotator=anna, project=quality, claim_id=claim_id) == first
    with pytest.raises(Refusal) as taken:
        claim_next_task(annotator=bela, project=quality, claim_id=claim_id)
    assert taken.value.code == "id_in_use"


def test_repeated_planning_creates_one_task_per_dialogue(mara: User, quality: Project) -> None:
    imported(quality, 2)
    plan_id = uuid4()
    assert plan_labelling(project=quality, actor=mara, plan_id=plan_id) == 2
    assert plan_labelling(project=quality, actor=mara, plan_id=plan_id) == 0
    assert plan_labelling(project=quality, actor=mara, plan_id=uuid4()) == 0
    assert Task.objects.count() == 5


def test_a_plan_id_belongs_to_one_project(mara: User, quality: Project, project: Project) -> None:
    other = create_project(slug="other", preset="diqad", actor=mara)
    imported(other, 2)
    plan_id = uuid4()
    plan_labelling(project=quality, actor=mara, plan_id=plan_id)
    for plans, more in (
        (plan_labelling, {"project": other}),
        (plan_dialogues, {"project": project, "count": 2}),
    ):
        with pytest.raises(Refusal) as refused:
            plans(actor=mara, plan_id=plan_id, **more)
        assert refused.value.code == "id_in_use"
    assert not Task.objects.filter(project__in=[other, project]).exists()


@pytest.mark.parametrize("other", [{"overlap": 3}, {"group": "medicine"}, {"priority": -1}])
def test_the_id_of_a_plan_is_refused_for_another_plan(
    mara: User, quality: Project, other: dict[str, Any]
) -> None:
    imported(quality, 2)
    plan_id = uuid4()
    plan_labelling(project=quality, actor=mara, plan_id=plan_id)
    assert (
        plan_labelling(project=quality, actor=mara, plan_id=plan_id, overlap=2) == 0
    )  # the project's overlap
    with pytest.raises(Refusal) as refused:
        plan_labelling(project=quality, actor=mara, plan_id=plan_id, **other)
    assert refused.value.code == "id_in_use"


@pytest.mark.parametrize("overlap", [0, 100])
def test_an_overlap_out_of_range_is_refused(mara: User, quality: Project, overlap: int) -> None:
    with pytest.raises(Invalid):
        plan_labelling(project=quality, actor=mara, plan_id=uuid4(), overlap=overlap)


def test_queries_do_not_depend_on_the_size(anna: User, bela: User, mara: User, quality: Project) -> None:
    """Claiming and sending in a project of three dialogues and of a hundred thousand."""
    settings(quality, balance=10, open_tasks_per_person=9)
    claims(bela, quality)
    sends(claims(anna, quality))  # the first answer freezes the schema

    def costs() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as claiming:
            held = claims(anna, quality)
        with CaptureQueriesContext(connection) as sending:
            sends(held)
        return len(claiming), len(sending)

    small = costs()
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO dialogues_dialogue (project_id, external_id, origin, state, review_state, split, language,
               domain, metadata, utterance_count, created_at, finished_at)
               SELECT %s, 'd' || n, 'imported', 'finished', 'unreviewed', 'train', 'en', '', '{}', 0, now(), now()
               FROM generate_series(1, 100000) AS n""",
            [quality.pk],
        )
        cursor.execute(
            """INSERT INTO annotation_task (project_id, dialogue_id, overlap, open_slots, priority, place, "group",
               state, created_at) SELECT project_id, id, 2, 2, 0, 2147480000, '', 'open', now() FROM dialogues_dialogue
               WHERE external_id LIKE 'd%%'"""
        )
        # Otherwise 100,000 foreign keys are checked with a plan made for a table of three rows.
        cursor.execute("ANALYZE annotation_task, dialogues_dialogue")
    assert costs() == small


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from steps(child)


def test_a_claim_reads_few_assignments_even_while_the_statistics_say_that_there_are_none(
    quality: Project, anna: User, bela: User
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_assignment, annotation_task")  # nobody has claimed, few tasks
    dialogues = Dialogue.objects.bulk_create(
        Dialogue(project=quality, external_id=f"n{number}", utterance_count=2) for number in range(1200)
    )
    tasks = Task.objects.bulk_create(
        Task(project=quality, dialogue=row, overlap=2, open_slots=2) for row in dialogues
    )
    assigned(tasks, [bela])
    parameters: dict[str, Any] = {
        "project": quality.pk,
        "group": "",
        "from_rank": LOWEST_RANK,
        "annotator": anna.pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {NEXT_TASK.format(in_language='')}",
            parameters,
        )
        (found,) = cursor.fetchone()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    read = [
        (
            step["Actual Rows"]
            + step.get("Rows Removed by Filter", 0)
            + step.get("Rows Removed by Join Filter", 0)
        )
        * step["Actual Loops"]
        for step in steps(plan)
    ]
    assert max(read) < 2 * len(tasks)
