"""The queue: what is open, what comes next, why nothing comes, what came back."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from annotation.tasks.services.assignment import release, save_for_later
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Project

QUEUE, NEXT = "/p/chit-chat/queue/", "/p/chit-chat/queue/next/"


@pytest.fixture
def anns_browser(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def finish(assignment: Assignment, writes: Callable[..., object]) -> None:
    for position in range(14):
        writes(assignment, f"Turn {position}.", position)
    finish_dialogue(annotator=assignment.annotator, assignment_id=assignment.pk)


def text_of(client: Client, address: str = QUEUE) -> str:
    return client.get(address).content.decode()


def test_next_claims_and_opens_the_workbench(anns_browser: Client, planned: Project, ann: User) -> None:
    answer = anns_browser.post(NEXT, {"claim_id": uuid4()})
    claimed = Assignment.objects.get(annotator=ann)
    assert answer.headers["Location"] == f"/p/chit-chat/a/{claimed.pk}/"


def test_the_same_button_pressed_twice_claims_once(anns_browser: Client, planned: Project, ann: User) -> None:
    claim_id = uuid4()
    first, second = (anns_browser.post(NEXT, {"claim_id": claim_id}) for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"]
    assert Assignment.objects.filter(annotator=ann).count() == 1


def test_a_senseless_claim_id_claims_all_the_same(anns_browser: Client, planned: Project, ann: User) -> None:
    assert anns_browser.post(NEXT, {"claim_id": "!"}).status_code == 302


def test_open_work_can_be_taken_up_and_saved_work_says_until_when(
    anns_browser: Client, anns_assignment: Assignment, ann: User, writes: Callable[..., object]
) -> None:
    writes(anns_assignment, "My cat sheds all over the sofa.", 0)
    page = text_of(anns_browser)
    assert "My cat sheds all over the sofa." in page
    assert f'href="/p/chit-chat/a/{anns_assignment.pk}/"' in page
    save_for_later(annotator=ann, assignment_id=anns_assignment.pk)
    page = text_of(anns_browser)
    assert "Saved for later" in page
    assert f'href="/p/chit-chat/a/{anns_assignment.pk}/"' in page  # not a form that resumes it


def test_looking_at_saved_work_keeps_its_hold_and_the_next_turn_resumes_it(
    anns_browser: Client, anns_assignment: Assignment, ann: User, writes: Callable[..., object]
) -> None:
    saved = save_for_later(annotator=ann, assignment_id=anns_assignment.pk)
    text_of(anns_browser, f"/p/chit-chat/a/{anns_assignment.pk}/")
    text_of(anns_browser)
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.SAVED
    assert anns_assignment.lease_until == saved.lease_until
    writes(anns_assignment, "My cat sheds all over the sofa.", 0)
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.ACTIVE


def test_all_done(anns_browser: Client, planned: Project) -> None:
    Task.objects.update(open_slots=0)
    answer = anns_browser.post(NEXT, {"claim_id": uuid4()})
    assert answer.status_code == 409
    assert "Everything in this project is done." in answer.content.decode()
    assert "Everything in this project is done" in text_of(anns_browser)


def test_nothing_is_called_done_that_somebody_else_holds(
    anns_browser: Client, planned: Project, anns_assignment: Assignment, ann: User, bob: User
) -> None:
    """Ann gave hers back, Bob has it, and the rest is done."""
    release(annotator=ann, assignment_id=anns_assignment.pk)
    Task.objects.exclude(pk=anns_assignment.task_id).update(open_slots=0)
    for page in (text_of(anns_browser), anns_browser.post(NEXT, {"claim_id": uuid4()}).content.decode()):
        assert "Everything in this project is done" not in page
        assert "1 dialogue is free" not in page
        assert "1 dialogue is not done yet" in page
    claimed = claim_next_task(annotator=bob, project=planned, claim_id=uuid4())
    until = claimed.lease_until.strftime("%Y-%m-%dT%H:%M")
    page, refused = text_of(anns_browser), anns_browser.post(NEXT, {"claim_id": uuid4()}).content.decode()
    assert "Everything in this project is done" not in page + refused
    assert "You have had it, and somebody else writes it now." in page
    assert "free at" not in page, "Ann does not get it if Bob gives it back"
    assert "1 dialogue is not done yet" in refused
    assert until in refused


def test_nothing_is_called_done_that_the_person_has_saved(
    anns_browser: Client, anns_assignment: Assignment, ann: User
) -> None:
    save_for_later(annotator=ann, assignment_id=anns_assignment.pk)
    Task.objects.update(open_slots=0)
    page = text_of(anns_browser)
    assert "Everything in this project is done" not in page
    assert "No other dialogue is left: finish yours, or give it back." in page


def test_work_in_other_languages_is_named_with_the_way_to_the_setting(
    anns_browser: Client, planned: Project, ann: User
) -> None:
    Project.objects.update(language="zh")
    User.objects.filter(pk=ann.pk).update(reading_languages=["en"])
    answer = anns_browser.post(NEXT, {"claim_id": uuid4()})
    assert answer.status_code == 409
    for page in (answer.content.decode(), text_of(anns_browser)):
        assert "Nothing is left in the languages that you read." in page
        assert 'href="/account/"' in page
        assert "dialogues are free" not in page
    overview = anns_browser.get("/p/chit-chat/").content.decode()
    assert "3 dialogues wait in languages that you do not read." in overview
    User.objects.filter(pk=ann.pk).update(reading_languages=["en", "zh"])
    assert "3 dialogues are free" in text_of(anns_browser)


def test_all_claimed_by_others_says_until_when(anns_browser: Client, planned: Project, bob: User) -> None:
    for _ in range(3):
        claim_next_task(annotator=bob, project=planned, claim_id=uuid4())
    until = timezone.now() + timedelta(minutes=12)
    Assignment.objects.update(lease_until=until)
    page = anns_browser.post(NEXT, {"claim_id": uuid4()}).content.decode()
    assert "Others are working on everything that is left." in page
    assert until.strftime("%Y-%m-%dT%H:%M") in page


def test_too_many_open(anns_browser: Client, planned: Project, ann: User) -> None:
    for _ in range(3):
        claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    page = anns_browser.post(NEXT, {"claim_id": uuid4()}).content.decode()
    assert "You already have 3 open dialogues in this project." in page


def test_somebody_who_does_not_write_here_is_refused(client: Client, planned: Project, carlos: User) -> None:
    client.force_login(carlos)
    for answer in (client.get(QUEUE), client.post(NEXT, {"claim_id": uuid4()})):
        assert answer.status_code == 403
        assert "This needs one of the roles: Annotator" in answer.content.decode()


@pytest.mark.parametrize("before", ["9" * 5000, "²", "-1", "x", "9" * 18])
def test_an_invalid_page_of_the_list_is_not_an_error(
    anns_browser: Client, planned: Project, before: str
) -> None:
    assert anns_browser.get(QUEUE, {"before": before}).status_code == 200


def test_a_stranger_does_not_learn_that_the_project_exists(
    client: Client, planned: Project, joins: Any
) -> None:
    client.force_login(joins("stranger"))
    assert client.get(QUEUE).status_code == 404


def test_nothing_planned_yet(anns_browser: Client, project: Project) -> None:
    assert "No dialogues are planned yet" in text_of(anns_browser)


def test_finished_work_counts_today_and_can_be_taken_back(
    anns_browser: Client, anns_assignment: Assignment, writes: Callable[..., object]
) -> None:
    finish(anns_assignment, writes)
    page = text_of(anns_browser)
    assert "1 of 20 dialogues today" in page
    answer = anns_browser.post(f"/p/chit-chat/a/{anns_assignment.pk}/take-back/")
    assert answer.headers["Location"] == f"/p/chit-chat/a/{anns_assignment.pk}/"
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.ACTIVE


def test_the_queue_shows_one_persons_work_only(
    client: Client, anns_assignment: Assignment, bob: User, writes: Callable[..., object]
) -> None:
    writes(anns_assignment, "My cat sheds all over the sofa.", 0)
    client.force_login(bob)
    assert "My cat" not in text_of(client)


def test_the_queue_costs_the_same_queries_however_much_is_open(
    anns_browser: Client, mara: User, ann: User, planned: Project, django_assert_max_num_queries: Any
) -> None:
    planned.authoring.open_tasks_per_person = 50
    planned.authoring.save()
    for _ in range(3):
        claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    with django_assert_max_num_queries(22):
        anns_browser.get(QUEUE)


def test_both_languages(anns_browser: Client, planned: Project, ann: User) -> None:
    User.objects.filter(pk=ann.pk).update(language="zh-hans")
    page = text_of(anns_browser)
    assert "下一段对话" in page
    assert "Next dialogue" not in page


def test_another_projects_work_is_not_here(
    anns_browser: Client, anns_assignment: Assignment, mara: User, joins: Any, writes: Callable[..., object]
) -> None:
    writes(anns_assignment, "My cat sheds all over the sofa.", 0)
    other = create_project(slug="other", preset="diamante", actor=mara)
    joins("ann", other, "annotator")
    assert "My cat" not in text_of(anns_browser, "/p/other/queue/")
