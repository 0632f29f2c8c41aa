"""The start page: my projects, my roles, and the next step of each."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue, DialogueState, Origin
from projects.models import Membership, Project, Role


def page_of(client: Client, person: User) -> str:
    client.force_login(person)
    return client.get("/").content.decode()


def test_an_annotator_writes(client: Client, planned: Project, ann: User) -> None:
    page = page_of(client, ann)
    assert "Chit-chat" in page
    assert 'href="/p/chit-chat/queue/"' in page
    assert "Annotator" in page
    assert "/members/" not in page


def test_open_work_is_named(client: Client, planned: Project, ann: User) -> None:
    claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    page = page_of(client, ann)
    assert "Continue writing" in page
    assert "1 open" in page


def test_a_controller_reviews_and_does_not_write(client: Client, planned: Project, carlos: User) -> None:
    page = page_of(client, carlos)
    assert "/p/chit-chat/queue/" not in page
    assert "/p/chit-chat/review/" not in page
    assert "Nothing waits for you here." in page
    finish_dialogue(planned)
    assert 'href="/p/chit-chat/review/"' in page_of(client, carlos)


@pytest.mark.parametrize("role", list(Role))
def test_every_role_can_open_the_project(client: Client, planned: Project, joins: Any, role: Role) -> None:
    assert '<a href="/p/chit-chat/">Chit-chat</a>' in page_of(client, joins("somebody", planned, role))


def test_projects_with_waiting_work_come_first(
    client: Client, planned: Project, mara: User, joins: Any
) -> None:
    create_project(slug="later", preset="diamante", title="Another one", actor=mara)
    later = Project.objects.get(slug="later")
    carlos = joins("carlos", planned, Role.CONTROLLER)
    joins("carlos", later, Role.CONTROLLER)
    for project, other in ((planned, "Another one"), (later, "Chit-chat")):
        Dialogue.objects.all().delete()
        finish_dialogue(project)
        page = page_of(client, carlos)
        assert page.index(project.title) < page.index(other)


@pytest.fixture
def newer(planned: Project, ann: User, mara: User) -> Project:
    """A second project of ann's, created after the first, with a dialogue to write."""
    project = create_project(slug="newer", preset="diamante", title="Newer", actor=mara)
    Membership.objects.create(project=project, user=ann, roles=[Role.ANNOTATOR])
    plan_dialogues(project=project, count=1, actor=mara, plan_id=uuid4())
    return project


@pytest.mark.usefixtures("newer")
def test_begun_work_comes_before_what_anybody_may_take(client: Client, planned: Project, ann: User) -> None:
    """Newer projects come first otherwise."""
    page = page_of(client, ann)
    assert page.index("Newer") < page.index("Chit-chat")
    claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
    page = page_of(client, ann)
    assert page.index("Chit-chat") < page.index("Newer")


@pytest.mark.usefixtures("newer")
def test_one_key_opens_the_most_urgent_and_no_key_counts_cards(client: Client, ann: User) -> None:
    page = page_of(client, ann)
    assert page.count('data-key="n"') == 1
    assert page.index("Newer") < page.index('data-key="n"') < page.index("Chit-chat")
    assert not re.search(r'data-key="\d"', page)


def test_what_can_only_be_looked_at_comes_after_what_waits(
    client: Client, planned: Project, ann: User, mara: User
) -> None:
    """The newer project runs by itself; the other one has nothing left to write."""
    running = create_project(slug="running", preset="diamante", actor=mara)
    Membership.objects.create(project=running, user=ann, roles=[Role.ANNOTATOR])
    Task.objects.update(project=running)
    client.force_login(mara)
    html = client.get("/").content.decode()
    assert 0 < html.index("/p/chit-chat/settings/#plan") < html.index("/p/running/statistics/")


def test_a_description_is_in_the_language_of_the_reader(client: Client, planned: Project, ann: User) -> None:
    Project.objects.update(description="Chat about pets and travel. 聊聊宠物和旅行。")
    assert "宠物" not in page_of(client, ann)
    User.objects.update(language="zh-hans")
    page = page_of(client, ann)
    assert "聊聊宠物和旅行。" in page
    assert "pets" not in page


def finish_dialogue(project: Project) -> None:
    Dialogue.objects.create(
        project=project, origin=Origin.AUTHORED, state=DialogueState.FINISHED, split="train"
    )


def test_a_card_shows_the_first_paragraph(client: Client, planned: Project, ann: User) -> None:
    Project.objects.update(description="Chat about pets.\nAnd travel.\r\n\r\nPaid by the hour.")
    page = page_of(client, ann)
    assert "And travel." in page
    assert "Paid by the hour." not in page


def test_somebody_without_a_project_learns_whom_to_ask(client: Client, joins: Any) -> None:
    page = page_of(client, joins("newcomer"))
    assert "You are not in any project yet" in page
    assert "your sign-in name is newcomer" in page


def test_whoever_may_make_projects_sees_the_button(
    client: Client, planned: Project, mara: User, ann: User
) -> None:
    assert "New project" in page_of(client, mara)
    assert "New project" not in page_of(client, ann)


def test_others_projects_are_not_shown(client: Client, planned: Project, joins: Any, mara: User) -> None:
    other = create_project(slug="other", preset="diamante", title="Another one", actor=mara)
    assert "Chit-chat" not in page_of(client, joins("zoe", other, Role.ANNOTATOR))


def test_guests_sign_in(client: Client, db: None) -> None:
    assert client.get("/").headers["Location"] == "/accounts/login/?next=/"


def test_the_page_costs_the_same_queries_however_many_projects(
    client: Client, mara: User, ann: User, joins: Callable[..., User], django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        project = create_project(slug=f"p{number}", preset="diamante", actor=mara)
        plan_dialogues(project=project, actor=mara, count=1, plan_id=uuid4())
        joins("ann", project, Role.ANNOTATOR, Role.TRAINER)
    client.force_login(ann)
    with django_assert_max_num_queries(14):  # one asks whether there are archived projects
        client.get("/")
