"""Submitting answers: once, corrected, too early, for another version, by somebody else."""

from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.labelling.models.labels import (
    FinalLabel,
    LabellingSettings,
    LabelOrigin,
    Resolution,
    ShownLabels,
    Stage,
    Submission,
)
from annotation.labelling.selectors.ratings import independent_submissions
from annotation.labelling.selectors.workbench import assignments_to_confirm, confirmation_for
from annotation.labelling.services.resolution import decide_dispute
from annotation.labelling.services.shown_labels import record_shown_labels
from annotation.labelling.services.submissions import (
    SentLabels,
    SubmissionResult,
    serve,
    skip_task,
    submit_labels,
)
from annotation.overview.selectors import overviews
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from annotation.tasks.selectors.queue import open_assignments
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import NotAllowed, Refusal
from projects.models import Project, Role
from projects.services import remove_member
from tests.annotation.conftest import Joins


def good(quality: int | str = 2, **more: Any) -> dict[str, Any]:
    return {"dialogue": {"verify": 0, "quality": quality, **more}, "utterances": {}}


def claims(person: User, project: Project) -> Assignment:
    return claim_next_task(annotator=person, project=project, claim_id=uuid4())


def sends(
    assignment: Assignment,
    answers: dict[str, Any],
    id: UUID | None = None,
    *,
    opens: bool = True,
    **sent: Any,
) -> SubmissionResult:
    """opens: the person opens the dialogue's page first."""
    if opens:
        serve(assignment=Assignment.objects.get(pk=assignment.pk))
    labels = SentLabels(id=id or uuid4(), schema=1, answers=answers, **sent)
    return submit_labels(annotator=assignment.annotator, assignment_id=assignment.pk, sent=labels)


def claim_for_both(person: User, colleague: User, project: Project) -> tuple[Assignment, Assignment]:
    """Both people claim the same dialogue."""
    first, second = claims(person, project), claims(colleague, project)
    assert first.task_id == second.task_id
    return first, second


def differing(person: User, colleague: User, project: Project) -> tuple[Assignment, Assignment]:
    """One answers 2, the other 1."""
    first, second = claim_for_both(person, colleague, project)
    sends(first, good(2))
    sends(second, good(1, reasons_1=["incomplete"]))
    return first, second


def test_a_repeated_submission_is_stored_once(anna: User, quality: Project) -> None:
    assignment, id = claims(anna, quality), uuid4()
    assert not sends(assignment, good(), id).repeated
    assert sends(assignment, good(), id).repeated
    assert Submission.objects.get().answers == good()
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.SUBMITTED


def test_the_id_of_another_submission_is_refused(anna: User, bela: User, quality: Project) -> None:
    id = uuid4()
    sends(claims(anna, quality), good(), id)
    for person in (anna, bela):
        assignment = claims(person, quality)
        with pytest.raises(Refusal) as refused:
            sends(assignment, good(), id)
        assert refused.value.code == "id_in_use"
        assignment.refresh_from_db()
        assert assignment.state == AssignmentState.ACTIVE
    assert Submission.objects.count() == 1


@pytest.mark.parametrize("changed", [{"answers": good(1, reasons_1=["incomplete"])}, {"note": "Later"}])
def test_an_id_sent_again_with_another_payload_is_refused(
    anna: User, quality: Project, changed: dict[str, Any]
) -> None:
    assignment, id = claims(anna, quality), uuid4()
    sends(assignment, good(), id)
    with pytest.raises(Refusal) as refused:
        sends(assignment, **{"answers": good(), "id": id, **changed})
    assert refused.value.code == "id_in_use"
    stored = Submission.objects.get()
    assert (stored.answers, stored.note) == (good(), "")


def test_submitting_takes_few_queries(
    anna: User, bela: User, quality: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(claims(anna, quality), good())  # the first answer freezes the schema
    # the savepoint; lock, insert, draft and next, move the assignment, its event, read the live submissions
    with django_assert_num_queries(8):
        sends(first, good(), opens=False)
    # also store the disagreement and the final label, move the task, with an event, and look for its webhooks
    with django_assert_num_queries(13):
        sends(second, good(), opens=False)


def test_two_equal_answers_become_the_final_label(anna: User, bela: User, quality: Project) -> None:
    for assignment in claim_for_both(anna, bela, quality):
        sends(assignment, good())
    final = FinalLabel.objects.get()
    assert (final.origin, final.answers, final.task.state) == (LabelOrigin.UNANIMOUS, good(), TaskState.FINAL)


def test_two_people_who_differ_confirm_and_see_each_others_answers(
    anna: User, bela: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, good(1, reasons_1=["incomplete"]), note="The second question is open.")
    assert not FinalLabel.objects.exists()
    waiting = assignments_to_confirm(anna, quality).get()
    assert waiting == first
    confirmation = confirmation_for(waiting)
    assert confirmation.others[0]["note"] == "The second question is open."
    assert "quality" in confirmation.differences


def test_a_removed_annotator_sees_no_answers_of_others(
    client: Client, anna: User, bela: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, good(1, reasons_1=["incomplete"]), note="The second question is open.")
    client.force_login(anna)
    address = f"/api/v1/labelling/{first.pk}/"
    assert len(client.get(address).json()["others"]) == 1
    remove_member(project=quality, actor=None, user=anna)
    assert client.get(address).status_code == 404
    assert client.get(f"/p/{quality.slug}/label/{first.pk}/").status_code == 404


def test_a_changed_answer_ends_the_confirmation(anna: User, bela: User, quality: Project) -> None:
    first, _second = differing(anna, bela, quality)
    changed = sends(first, good(1, reasons_1=["incomplete"])).submission
    assert (changed.stage, changed.revision) == (Stage.CONFIRMATION, 2)
    assert FinalLabel.objects.get().origin == LabelOrigin.CONFIRMED


def test_a_correction_after_a_confirmation_is_not_independent(
    anna: User, bela: User, quality: Project
) -> None:
    first, _second = differing(anna, bela, quality)
    sends(first, good(1, reasons_1=["incomplete"]))
    for quality_now, note, state in ((1, "Sure.", TaskState.FINAL), (2, "", TaskState.CONFIRMING)):
        answers = good(1, reasons_1=["incomplete"]) if quality_now == 1 else good(2)
        done = sends(first, answers, note=note)
        assert (done.submission.stage, done.task.state) == (Stage.CONFIRMATION, state)
    assert list(FinalLabel.objects.values_list("origin", flat=True)) == [LabelOrigin.CONFIRMED] * 2
    independent = independent_submissions(quality).values_list("annotator__username", "revision")
    assert set(independent) == {("anna", 1), ("bela", 1)}


def test_a_correction_after_the_others_confirmation_is_not_independent(
    anna: User, bela: User, quality: Project
) -> None:
    first, second = differing(anna, bela, quality)
    serve(assignment=Assignment.objects.get(pk=second.pk))  # bela sees anna's answer
    sends(first, good(1, reasons_1=["incomplete"]))  # bela's answer, so the dialogue is final
    done = sends(second, good("phone"))
    assert (done.submission.stage, done.task.state) == (Stage.CONFIRMATION, TaskState.DISPUTED)
    independent = independent_submissions(quality).values_list("annotator__username", "revision")
    assert set(independent) == {("anna", 1), ("bela", 1)}


def test_answers_sent_late_from_the_outbox_are_not_a_confirmation(
    anna: User, bela: User, quality: Project
) -> None:
    first, _second = differing(anna, bela, quality)
    offline = sends(first, good("phone"), opens=False, waited_ms=60_000)
    assert (offline.submission.stage, offline.task.state) == (Stage.CORRECTION, TaskState.CONFIRMING)
    assert assignments_to_confirm(anna, quality).get() == first
    assert sends(first, good("phone")).submission.stage == Stage.CONFIRMATION


@pytest.mark.parametrize("waited_ms", [0, 60_000, 30 * 86_400_000])
def test_a_copied_answer_is_not_independent_whatever_the_client_says(
    anna: User, bela: User, quality: Project, waited_ms: int
) -> None:
    first, _second = differing(anna, bela, quality)
    copied = sends(first, good(1, reasons_1=["incomplete"]), waited_ms=waited_ms)
    assert copied.submission.stage == Stage.CONFIRMATION
    independent = independent_submissions(quality).values_list("annotator__username", "revision")
    assert set(independent) == {("anna", 1), ("bela", 1)}


def test_first_labels_are_not_independent_if_others_labels_were_shown(
    anna: User, bela: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good())
    record_shown_labels(person=bela, tasks=[first.task_id])
    assert sends(second, good()).submission.stage == Stage.CORRECTION
    assert set(independent_submissions(quality).values_list("annotator__username", flat=True)) == {"anna"}


def test_showing_the_outcome_is_recorded(client: Client, anna: User, bela: User, quality: Project) -> None:
    first, second = claim_for_both(anna, bela, quality)
    for assignment in (first, second):
        sends(assignment, good())
    client.force_login(anna)
    for address in (
        f"/api/v1/projects/{quality.slug}/labelling/mine/",
        f"/p/{quality.slug}/dialogues/{first.dialogue_id}/",
    ):
        ShownLabels.objects.all().delete()
        assert client.get(address).status_code == 200
        shown = ShownLabels.objects.get()
        assert (shown.task_id, shown.person) == (first.task_id, anna)


@pytest.mark.parametrize("page", ["disputes/", "disputes/{task}/", "disagreed/"])
def test_showing_a_trainer_who_differs_is_recorded(
    client: Client, anna: User, bela: User, tina: User, quality: Project, page: str
) -> None:
    first, second = differing(anna, bela, quality)
    sends(first, good(2))
    sends(second, good(1, reasons_1=["incomplete"]))
    client.force_login(tina)
    assert client.get(f"/p/{quality.slug}/" + page.format(task=first.task_id)).status_code == 200
    assert ShownLabels.objects.get(person=tina).task_id == first.task_id


@pytest.mark.parametrize("resolution", Resolution)
def test_a_correction_after_the_final_label_is_not_independent(
    resolution: Resolution, anna: User, bela: User, quality: Project
) -> None:
    LabellingSettings.objects.update(resolution=resolution)
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    assert (
        sends(first, good(1, reasons_1=["incomplete"])).submission.stage == Stage.LABEL
    )  # there is no final label yet
    sends(second, good(1, reasons_1=["incomplete"]))
    offline = sends(second, good(1, reasons_1=["incomplete"]), waited_ms=60_000, note="Sure.")
    assert offline.submission.stage == Stage.CORRECTION  # it may have been made in sight of the final label
    corrected = sends(first, good(2))
    assert corrected.submission.stage == Stage.CORRECTION
    assert corrected.task.disagreement == 0  # of their independent answers
    independent = independent_submissions(quality).values_list("annotator__username", "revision")
    assert set(independent) == {("anna", 2), ("bela", 1)}


def test_a_correction_after_the_final_label_stays_a_correction(
    anna: User, bela: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    for assignment in (first, second):
        sends(assignment, good(2))
    assert sends(first, good("phone")).submission.stage == Stage.CORRECTION  # and the confirmation begins
    made_before = sends(first, good("phone"), opens=False, waited_ms=60_000)
    assert made_before.submission.stage == Stage.CORRECTION
    assert sends(second, good("phone")).submission.stage == Stage.CONFIRMATION
    assert FinalLabel.objects.get(superseded_at=None).origin == LabelOrigin.CONFIRMED
    assert set(independent_submissions(quality).values_list("revision", flat=True)) == {1}


def test_the_migration_finds_earlier_corrections_by_their_time(
    anna: User, bela: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(1, reasons_1=["incomplete"]))
    sends(first, good(2))  # nobody else has answered
    sends(second, good(2))
    corrected = sends(second, good(2), note="Sure.").submission
    alone = claims(anna, quality)
    Task.objects.filter(pk=alone.task_id).update(overlap=1, open_slots=0)
    for _time in range(2):
        sends(alone, good(2))
    Submission.objects.update(stage=Stage.LABEL)
    with connection.cursor() as cursor:
        cursor.execute(import_module("annotation.migrations.0012_corrections").MADE_IN_SIGHT)
    assert Submission.objects.get(stage=Stage.CORRECTION) == corrected


def test_a_correction_by_the_only_annotator_is_independent(anna: User, quality: Project) -> None:
    Task.objects.update(overlap=1, open_slots=1)
    assignment = claims(anna, quality)
    assert sends(assignment, good(2)).task.state == TaskState.FINAL
    assert sends(assignment, good("phone")).submission.stage == Stage.LABEL


def test_two_people_who_keep_their_answers_leave_it_to_a_trainer(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    for _round in range(2):
        sends(first, good(2))
        sends(second, good(1, reasons_1=["incomplete"]))
    task = Task.objects.get(pk=first.task_id)
    assert task.state == TaskState.DISPUTED
    decision = uuid4()
    for _again in range(2):
        decide_dispute(
            trainer=tina, task_id=task.pk, decision_id=decision, answers=good(2), reason="It answers both."
        )
    final = FinalLabel.objects.get(superseded_at=None)
    assert (final.origin, final.decided_by, final.reason) == (LabelOrigin.DECIDED, tina, "It answers both.")
    with pytest.raises(Refusal, match="decided"):
        sends(first, good(0))


def test_nobody_changes_labels_that_wait_for_a_trainer(anna: User, bela: User, quality: Project) -> None:
    first, second = claim_for_both(anna, bela, quality)
    for _round in range(2):
        sends(first, good(2))
        sends(second, good(1, reasons_1=["incomplete"]))
    with pytest.raises(Refusal) as refused:
        sends(first, good(1, reasons_1=["incomplete"]))
    assert refused.value.code == "decided"
    assert Task.objects.get(pk=first.task_id).state == TaskState.DISPUTED


def test_a_trainer_does_not_decide_what_they_labelled(
    anna: User, bela: User, joins: Joins, quality: Project
) -> None:
    joins("anna", quality, Role.ANNOTATOR, Role.TRAINER)
    first, second = claim_for_both(anna, bela, quality)
    for _round in range(2):
        sends(first, good(2))
        sends(second, good(1, reasons_1=["incomplete"]))
    with pytest.raises(Refusal) as refused:
        decide_dispute(
            trainer=anna, task_id=first.task_id, decision_id=uuid4(), answers=good(2), reason="Mine is right."
        )
    assert refused.value.code == "own_work"


def test_the_id_of_a_decision_is_refused_for_another_decision(
    anna: User, bela: User, tina: User, joins: Joins, quality: Project
) -> None:
    tasks = []
    for _dialogue in range(2):
        held = claim_for_both(anna, bela, quality)
        for _round in range(2):
            sends(held[0], good(2))
            sends(held[1], good(1, reasons_1=["incomplete"]))
        tasks.append(held[0].task_id)
    sent: dict[str, Any] = {"decision_id": uuid4(), "answers": good(2), "reason": "It answers both."}
    decide_dispute(trainer=tina, task_id=tasks[0], **sent)
    tom = joins("tom", quality, Role.TRAINER)
    for changes in (
        {"task_id": tasks[1]},
        {"trainer": tom},
        {"answers": good(1, reasons_1=["incomplete"])},
        {"reason": "Another reason."},
    ):
        with pytest.raises(Refusal) as refused:
            decide_dispute(**{"trainer": tina, "task_id": tasks[0], **sent, **changes})
        assert refused.value.code == "id_in_use"
    assert FinalLabel.objects.get().task_id == tasks[0]


def test_a_correction_is_a_new_revision_and_is_resolved_again(
    anna: User, bela: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, good(2))
    assert sends(first, good("phone")).submission.revision == 2
    assert FinalLabel.objects.filter(superseded_at=None).count() == 0
    assert Task.objects.get(pk=first.task_id).state == TaskState.CONFIRMING


def test_submitting_before_the_minimum_time_is_refused(anna: User, quality: Project) -> None:
    quality.labelling.min_seconds = 20
    quality.labelling.save()
    assignment = claims(anna, quality)
    with pytest.raises(Refusal) as refused:
        sends(assignment, good())
    assert refused.value.code == "too_early"
    assert 10 < refused.value.details["seconds_left"] <= 20


def test_time_in_the_outbox_does_not_count_as_reading_time(anna: User, quality: Project) -> None:
    quality.labelling.min_seconds = 20
    quality.labelling.save()
    assignment = claims(anna, quality)
    Assignment.objects.update(served_at=assignment.claimed_at.replace(year=2020))
    assert sends(assignment, good(), waited_ms=1000).submission.revision == 1


def test_answers_to_another_version_are_refused_with_the_current_one(anna: User, quality: Project) -> None:
    labels = SentLabels(id=uuid4(), schema=7, answers=good())
    with pytest.raises(Refusal) as refused:
        submit_labels(annotator=anna, assignment_id=claims(anna, quality).pk, sent=labels)
    assert (refused.value.code, refused.value.details["version"]) == ("schema_changed", 1)


def test_answers_outside_the_options_are_named(anna: User, quality: Project) -> None:
    with pytest.raises(Refusal) as refused:
        sends(claims(anna, quality), {"dialogue": {"quality": 9}, "utterances": {}})
    assert {problem["path"] for problem in refused.value.details["problems"]} >= {"quality", "verify"}


def test_a_removed_annotator_cannot_submit(anna: User, bela: User, quality: Project) -> None:
    held, sent = claims(anna, quality), claims(anna, quality)
    sends(sent, good())
    remove_member(project=quality, actor=None, user=anna)
    for is_superuser in (False, True):  # a superuser may do everything except others' work
        User.objects.filter(pk=anna.pk).update(is_superuser=is_superuser)
        anna.refresh_from_db()
        for assignment in (held, sent):
            assignment.annotator = anna
            with pytest.raises(NotAllowed):
                sends(assignment, good("phone"))
    assert Submission.objects.get().answers == good()


def test_bela_cannot_label_annas_dialogue(anna: User, bela: User, quality: Project) -> None:
    annas, labels = claims(anna, quality), SentLabels(id=uuid4(), schema=1, answers=good())
    with pytest.raises(Refusal, match="no such dialogue"):
        submit_labels(annotator=bela, assignment_id=annas.pk, sent=labels)


def test_a_skipped_dialogue_goes_to_others_only(anna: User, bela: User, quality: Project) -> None:
    skipped = claims(anna, quality)
    skip_task(annotator=anna, assignment_id=skipped.pk, reason="It is in another language")
    assert claims(anna, quality).task_id != skipped.task_id
    assert claims(bela, quality).task_id == skipped.task_id


def test_a_dialogue_that_was_fetched_ahead_is_not_open_before_it_is_shown(
    anna: User, quality: Project
) -> None:
    shown = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    claim_next_task(annotator=anna, project=quality, claim_id=uuid4(), ahead=True)
    assert list(open_assignments(anna, quality)) == [shown]
    assert overviews(anna, [quality])[quality.pk].open == 1
