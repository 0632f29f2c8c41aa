"""The conversations of a study, read as dialogues."""

import csv
import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, DjangoDbBlocker

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.collections.services.conversations import store_conversation
from assessment.collections.services.starting import CollectionPlan, start_collection
from assessment.sessions.models.conversations import Rating, Session
from assessment.sessions.models.runs import Run
from assessment.sessions.services.runs import close_run
from assessment.systems.connectors.protocol import SystemReply
from assessment.systems.models import System
from assessment.systems.services.trials import send_trial_input
from dialogues.models import Dialogue
from projects.models import Membership, Project, Role
from tests.assessment.taken_part import create_study, fill_run
from tests.assessment.talk import import_dialogues
from tests.module_rows import shared_rows


@pytest.fixture(scope="module")
def _study(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with shared_rows(django_db_blocker):
        project = create_study(User.objects.create(username="mara", email="mara@example.org"))
        fill_run(project, "spring", careful=2, careless=1)
        yield


@pytest.fixture
def study(_study: None, mara: User, client: Client) -> Project:
    """Ratings of three people; mara, who manages the study, is signed in."""
    client.force_login(mara)
    return Project.objects.get(slug="study")


def words(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    main = answer.content.decode().split("<main")[1]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main))


def test_the_list_names_system_run_and_rating(client: Client, study: Project) -> None:
    page = words(client, "/p/study/dialogues/?system=aster&rated=60")
    assert "Do you like hiking?" in page
    assert "aster" in page
    assert "Sel · rev · rew" not in page
    rated = Session.objects.filter(system__name="aster", state="rated")
    Rating.objects.filter(session__in=rated).update(value=50)
    assert "No dialogue matches" in words(client, "/p/study/dialogues/?system=aster&rated=60")
    assert "aster" in words(client, "/p/study/dialogues/?system=aster&rated=40")


def test_the_report_leads_to_the_conversations_of_its_run(client: Client, study: Project) -> None:
    assert "/p/study/dialogues/?run=1" in client.get("/p/study/report/").content.decode()
    assert "aster" in words(client, "/p/study/dialogues/?run=1")
    close_run(run=Run.objects.get(project=study), actor=None)
    fill_run(study, "autumn", careful=1, careless=0)
    page = client.get("/p/study/dialogues/?run=2&system=aster").content.decode()
    assert (
        page.count("Do you like hiking?")
        == Session.objects.filter(assignment__run__number=2, system__name="aster", state="rated").count()
    )


def test_a_dialogue_shows_what_its_participant_thinks(client: Client, study: Project) -> None:
    session = Session.objects.filter(system__name="fern", state="rated")[0]
    Rating.objects.filter(session=session).update(value=25)
    page = words(client, f"/p/study/dialogues/{session.dialogue_id}/")
    assert "In the study" in page
    assert "fern" in page
    assert session.topic in page
    assert "kept being repetitive during the conversation. 25" in page
    assert "Mean rating 39.3" in page, "robotic and repetitive count 100 - x"


def test_a_chinese_reader_reads_the_statements_in_chinese(client: Client, study: Project, mara: User) -> None:
    User.objects.filter(pk=mara.pk).update(language="zh-hans")
    session = Session.objects.filter(system__name="fern", state="rated")[0]
    page = words(client, f"/p/study/dialogues/{session.dialogue_id}/")
    assert "聊天机器人没有偏离话题。" in page
    assert "聊天机器人的语言在整段对话中流畅自然。" in page
    assert "robotic" not in page


def test_a_person_without_the_report_does_not_learn_the_system(
    client: Client, study: Project, carlos: User
) -> None:
    Membership.objects.create(project=study, user=carlos, roles=[Role.CONTROLLER])
    client.force_login(carlos)
    dialogue = Dialogue.objects.filter(project=study).latest("id")
    for path in ("/p/study/dialogues/", f"/p/study/dialogues/{dialogue.pk}/"):
        answer = client.get(path)
        if answer.status_code == 200:
            assert "aster" not in answer.content.decode()
            assert "In the study" not in answer.content.decode()


def test_the_report_and_the_participants_lead_to_the_conversations_of_a_person(
    client: Client, study: Project
) -> None:
    session = Session.objects.filter(state="rated", assignment__participant__panel_id="spring-0")[0]
    participant = session.assignment.participant_id
    address = f"/p/study/dialogues/?run=1&participant={participant}"
    for page in ("report/", "participants/"):
        assert address.replace("&", "&amp;") in client.get(f"/p/study/{page}").content.decode()
    shown = words(client, address)
    assert f"Only conversations of spring-0 (participant no. {participant})." in shown
    assert "6 dialogues" in shown
    assert "spring-0" in words(client, f"/p/study/dialogues/{session.dialogue_id}/")
    assert "6 dialogues" not in words(client, "/p/study/dialogues/?participant=999999999999")


def test_the_download_of_the_reliability_names_people(client: Client, study: Project) -> None:
    table = client.get("/p/study/report/participants.csv?run=1").content.decode("utf-8-sig")
    head, first, *_others = csv.reader(table.splitlines())
    assert head[:2] == ["participant no.", "name"]
    assert first[1] == "spring-careless-0", "those who failed come first"
    people = words(client, "/p/study/participants/")
    assert re.search(rf"{first[0]} spring-careless-0 .* failed", people)


def test_trials_are_marked_and_left_out_until_they_are_chosen(
    client: Client, study: Project, mara: User
) -> None:
    system = System.objects.get(name="aster")
    send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Is anybody there?")
    assert "Is anybody there?" not in words(client, "/p/study/dialogues/?system=aster")
    for query in ("kind=trial", "kind=trial&system=aster"):
        shown = words(client, f"/p/study/dialogues/?{query}")
        assert "Is anybody there?" in shown
        assert "aster" in shown
        assert "1 dialogue with these filters" in shown
    assert "No dialogue matches" in words(client, "/p/study/dialogues/?kind=trial&system=briar")
    tried = Dialogue.objects.latest("id")
    assert "Tried out" in words(client, f"/p/study/dialogues/{tried.pk}/")


def test_dialogues_of_a_collection_name_their_system(client: Client, study: Project, mara: User) -> None:
    source = create_project(slug="talks", preset="diamante", actor=mara, title="Talks")
    import_dialogues(source)
    rating = create_project(slug="rating", preset="diamante-evaluation", actor=mara, title="Rating")
    systems = tuple(System.objects.filter(name__in=["aster", "briar"]))
    plan = CollectionPlan(
        kind="static", target=rating, systems=systems, source=source, count=1, with_human=False
    )
    collection = start_collection(collection_id=uuid4(), project=study, actor=mara, plan=plan, enqueue=False)
    for row in collection.dialogues.select_related("system", "collection__project"):
        store_conversation(row, [SystemReply("I see.")])
    shown = words(client, "/p/study/dialogues/?kind=collected")
    assert "aster" in shown
    assert "briar" in shown
    assert "1 dialogue with these filters" in words(client, "/p/study/dialogues/?kind=collected&system=briar")


def test_the_list_costs_the_same_for_many(
    client: Client, study: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.get("/p/study/dialogues/")
    with django_assert_max_num_queries(18):
        client.get("/p/study/dialogues/")
