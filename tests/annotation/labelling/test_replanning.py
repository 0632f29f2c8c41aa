"""Overlap, group and priority changed after the import."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.selectors.replanning import Replan, last_undoable_replan, preview_replan
from annotation.labelling.services import replanning
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.replan_undo import UndoneReplan, undo_replan
from annotation.labelling.services.replanning import replan_tasks
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.selectors.people import count_tasks_short_of_people
from annotation.tasks.services.assignment import release
from common.refusals import Invalid, NotFound, Refusal
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Event, Membership, Project, Role
from projects.services import set_group
from tests.annotation.batch_review.conftest import cut_one_batch
from tests.annotation.conftest import Joins, imported
from tests.annotation.labelling.test_assignment import claims, refused, sends


def replans(project: Project, request_id: UUID | None = None, **values: object) -> object:
    return replan_tasks(
        project=project,
        actor=None,
        request_id=request_id or uuid4(),
        replan=Replan(**values),  # type: ignore[arg-type]
    )


def test_more_people_get_dialogues_that_were_all_taken(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    for person in (anna, bela):
        for _n in range(3):
            claims(person, quality)
    preview = preview_replan(quality, Replan(overlap=3))
    assert (preview.tasks, preview.changed, preview.added, preview.removed) == (3, 3, 3, 0)
    replans(quality, overlap=3)
    assert set(Task.objects.values_list("overlap", "open_slots")) == {(3, 1)}


def test_dialogues_that_want_more_people_than_there_are_are_counted(
    anna: User, bela: User, joins: Joins, quality: Project
) -> None:
    assert preview_replan(quality, Replan(overlap=2)).short == 0
    assert preview_replan(quality, Replan(overlap=3)).short == 3
    replans(quality, overlap=3)
    assert count_tasks_short_of_people(quality) == preview_replan(quality, Replan(priority=1)).short == 3
    set_group(project=quality, actor=None, user=anna, group="medicine")
    assert preview_replan(quality, Replan(overlap=1, group="medicine")).short == 0
    assert preview_replan(quality, Replan(overlap=2, group="medicine")).short == 3
    joins("carla", quality, Role.ANNOTATOR)
    assert count_tasks_short_of_people(quality) == 0


def test_people_who_labelled_and_left_are_not_wanted_again(anna: User, bela: User, quality: Project) -> None:
    sends(claims(anna, quality))
    Membership.objects.filter(user=anna).delete()
    assert preview_replan(quality, Replan(overlap=2)).short == 2


def test_people_of_other_groups_who_labelled_count(anna: User, bela: User, quality: Project) -> None:
    sends(claims(anna, quality))
    set_group(project=quality, actor=None, user=bela, group="night")
    assert preview_replan(quality, Replan(overlap=2, group="night")).short == 2


def test_finished_dialogues_stay_as_they_are(anna: User, bela: User, quality: Project) -> None:
    for person in (anna, bela):
        sends(claims(person, quality))
    done = Task.objects.exclude(state=TaskState.OPEN).get()
    replans(quality, overlap=4, priority=-7)
    done.refresh_from_db()
    assert (done.overlap, done.open_slots, done.priority) == (2, 0, 0)
    assert Task.objects.filter(overlap=4, open_slots=4, priority=-7).count() == 2


def test_people_keep_what_they_hold_when_fewer_are_wanted(anna: User, bela: User, quality: Project) -> None:
    held = [claims(person, quality).task for person in (anna, bela)]
    assert held[0] == held[1]
    preview = preview_replan(quality, Replan(overlap=1))
    assert (preview.changed, preview.removed, preview.kept_larger, preview.completed) == (2, 2, 1, 0)
    replans(quality, overlap=1)
    held[0].refresh_from_db()
    assert (held[0].overlap, held[0].open_slots) == (2, 0)
    assert set(Task.objects.exclude(pk=held[0].pk).values_list("overlap", "open_slots")) == {(1, 1)}


def test_dialogues_with_enough_labels_get_their_final_labels(anna: User, quality: Project) -> None:
    sends(claims(anna, quality))
    assert preview_replan(quality, Replan(overlap=1)).completed == 1
    request_id = uuid4()
    with TestCase.captureOnCommitCallbacks():
        replans(quality, request_id, overlap=1)
    assert not FinalLabel.objects.exists()
    job = run_job(job_id=request_id)
    assert (job.state, job.result) == (JobState.DONE, {"tasks": 1})
    assert FinalLabel.objects.get().task.state == TaskState.FINAL


def test_a_group_gets_only_the_dialogues_of_one_import(
    anna: User, bela: User, quality: Project, mara: User
) -> None:
    set_group(project=quality, actor=mara, user=bela, group="medicine")
    job = Job.objects.create(kind="import", project=quality)
    dialogue = imported(quality, 1)[0]
    dialogue.import_job = job
    dialogue.save()
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    replans(quality, group="medicine", overlap=1, priority=-1, of_import=job.pk)
    assert claims(bela, quality).dialogue == dialogue
    assert {claims(anna, quality).dialogue_id for _n in range(3)}.isdisjoint({dialogue.pk})


def test_a_person_who_had_found_nothing_is_offered_more(anna: User, quality: Project) -> None:
    for _n in range(3):
        sends(claims(anna, quality))
    assert refused(anna, quality).code == "all_done"
    imported(quality, 1)
    plan_labelling(project=quality, actor=None, plan_id=uuid4(), group="nobody")
    replans(quality, group="")
    claims(anna, quality)


def test_a_dialogue_given_back_afterwards_goes_to_somebody_else(
    anna: User, bela: User, quality: Project
) -> None:
    mine = claims(anna, quality)
    replans(quality, overlap=1)
    release(annotator=anna, assignment_id=mine.pk)
    assert mine.task_id in {claims(bela, quality).task_id for _n in range(3)}


def test_sending_the_request_again_changes_nothing(quality: Project) -> None:
    request_id = uuid4()
    first = replans(quality, request_id, overlap=3)
    assert replans(quality, request_id, overlap=3) == first
    assert Event.objects.filter(kind="replanned").count() == 1
    with pytest.raises(Refusal) as caught:
        replans(quality, request_id, overlap=5)
    assert caught.value.code == "id_in_use"


def undoes(project: Project, undone: UUID, request_id: UUID | None = None) -> UndoneReplan:
    return undo_replan(project=project, actor=None, request_id=request_id or uuid4(), undone=undone)


def test_a_change_of_dialogues_with_different_values_is_undone(quality: Project) -> None:
    first, second, third = Task.objects.values_list("pk", flat=True)
    Task.objects.filter(pk=first).update(overlap=5, open_slots=5, priority=-3)
    before = set(Task.objects.values_list("pk", "overlap", "open_slots", "priority"))
    change = uuid4()
    replans(quality, change, overlap=3, priority=3)
    assert set(Task.objects.values_list("overlap", "open_slots", "priority")) == {(3, 3, 3)}
    done = undoes(quality, change)
    assert (done.changed, done.kept, done.added, done.removed) == (3, 0, 2, 2)
    assert set(Task.objects.values_list("pk", "overlap", "open_slots", "priority")) == before
    assert {second, third} <= {pk for pk, *_values in before}


def test_undoing_leaves_what_was_changed_or_finished_since(anna: User, bela: User, quality: Project) -> None:
    change = uuid4()
    replans(quality, change, priority=3)
    for person in (anna, bela):
        sends(claims(person, quality))
    finished = Task.objects.exclude(state=TaskState.OPEN).get()
    changed = Task.objects.filter(state=TaskState.OPEN).earliest("pk")
    replans(quality, priority=7, of_dialogues=[changed.dialogue_id])
    done = undoes(quality, change)
    assert (done.changed, done.kept) == (1, 2)
    priorities = dict(Task.objects.values_list("pk", "priority"))
    assert (priorities.pop(finished.pk), priorities.pop(changed.pk)) == (3, 7)
    assert list(priorities.values()) == [0]


def test_undoing_more_people_keeps_those_who_hold_a_dialogue(
    anna: User, bela: User, tina: User, joins: Joins, quality: Project
) -> None:
    change = uuid4()
    replans(quality, change, overlap=3)
    for person in (anna, bela, joins("cleo", quality, Role.ANNOTATOR)):
        for _n in range(3):
            claims(person, quality)
    assert undoes(quality, change).changed == 0
    assert set(Task.objects.values_list("overlap", "open_slots")) == {(3, 0)}


def test_a_change_is_undone_once(quality: Project) -> None:
    change, request_id = uuid4(), uuid4()
    replans(quality, change, priority=3)
    first = undoes(quality, change, request_id)
    assert undoes(quality, change, request_id) == first
    with pytest.raises(Refusal) as caught:
        undoes(quality, change)
    assert caught.value.code == "already_undone"
    with pytest.raises(Refusal) as caught:
        undoes(quality, uuid4(), request_id)
    assert caught.value.code == "id_in_use"


def test_an_unknown_change_and_one_of_another_project_cannot_be_undone(quality: Project, mara: User) -> None:
    other, change = create_project(slug="other", preset="diqad", actor=mara), uuid4()
    replans(quality, change, priority=3)
    for project, undone in ((quality, uuid4()), (other, change)):
        with pytest.raises(NotFound):
            undoes(project, undone)
    assert set(Task.objects.values_list("priority", flat=True)) == {3}


def test_a_change_of_too_many_dialogues_cannot_be_undone(
    quality: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replanning, "MOST_UNDONE", 2)
    change = uuid4()
    replans(quality, change, priority=3)
    with pytest.raises(Refusal) as caught:
        undoes(quality, change)
    assert caught.value.code == "cannot_undo"


def test_the_last_change_of_the_day_is_offered_for_undoing(quality: Project) -> None:
    change = uuid4()
    replans(quality, change, priority=3)
    offered = last_undoable_replan(quality)
    assert offered is not None
    assert offered.subject_id == str(change)
    Event.objects.update(at=timezone.now() - timedelta(hours=25))
    assert last_undoable_replan(quality) is None
    undoes(quality, change)
    assert last_undoable_replan(quality) is None


def test_dialogues_of_a_batch_keep_its_group(anna: User, quality: Project, mara: User) -> None:
    cut_one_batch(quality, 2)
    imported(quality, 1)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    set_group(project=quality, actor=mara, user=anna, group="medicine")
    assert preview_replan(quality, Replan(group="medicine")).in_batches == 5
    replans(quality, group="medicine")
    assert Task.objects.get(round=None).group == "medicine"
    assert set(Task.objects.exclude(round=None).values_list("group", flat=True)) == {""}


@pytest.mark.parametrize(
    "values", [{}, {"overlap": 0}, {"overlap": 100}, {"group": "nobody"}, {"priority": 40_000}]
)
def test_bad_values_are_refused(quality: Project, values: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        replans(quality, None, **values)


def test_the_number_of_queries_does_not_depend_on_the_dialogues(quality: Project) -> None:
    counts = []
    for overlap in (3, 4):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            replans(quality, overlap=overlap)
        counts.append(len(queries))
        imported(quality, 20)
        plan_labelling(project=quality, actor=None, plan_id=uuid4())
    assert counts[0] == counts[1]
