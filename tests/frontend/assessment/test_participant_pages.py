"""What the pages of participants say."""

import pytest
from django.test import Client

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.sessions.models.participants import Assignment
from assessment.sessions.models.runs import Run
from assessment.setup.models import TopicMode
from projects.models import Project
from tests.assessment.steps import add_systems, complete, current_session, opened_run, start, talk

LINK = "/join/study/?PROLIFIC_PID=ann"


def text_of(browser: Client, address: str) -> str:
    return browser.get(address, follow=True).content.decode()


@pytest.mark.parametrize(
    ("language", "topic_mode", "phrases"),
    [
        ("en", TopicMode.FREE, ("3 conversations", "1 message<", "6 statements", "enter a topic that")),
        ("en", TopicMode.ICE_BREAKER, ("read the sentence that you are given",)),
        ("zh-hans", TopicMode.FREE, ("3 段对话", "1 条消息", "6 句话", "输入一个你想聊的话题")),
        ("zh-hans", TopicMode.ICE_BREAKER, ("阅读给你的一句话",)),
    ],
)
def test_the_instructions_say_the_numbers_of_the_study(
    study: Project, language: str, topic_mode: str, phrases: tuple[str, ...]
) -> None:
    settings = study.assessment
    settings.inputs, settings.ordinary_systems, settings.statements = 1, 2, settings.statements[:6]
    settings.save()
    opened_run(study, topic_mode=topic_mode)
    browser = Client(headers={"accept-language": language})
    browser.get(LINK)
    for address in ("/join/study/instructions/", "/join/study/consent/"):
        if address.endswith("consent/"):
            browser.post(address)
        page = text_of(browser, "/join/study/instructions/")
        assert all(phrase in page for phrase in phrases)
        assert "{" not in page.partition("<main")[2].partition("</main>")[0]


def test_members_read_the_guidelines_with_the_numbers_of_the_settings(
    study: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)
    page = text_of(client, "/p/study/guidelines/")
    assert all(phrase in page for phrase in ("6 conversations", "2 messages"))
    assert "{topic}" not in page


def test_a_refused_topic_keeps_what_was_chosen(run: Run) -> None:
    browser = Client()
    browser.get(LINK)
    browser.post("/join/study/consent/")
    session = current_session(Assignment.objects.get())
    sent = {"session": session.pk, "topic": "  ", "opinion": "dislike"}
    answer = browser.post("/join/study/start/", sent)
    page = answer.content.decode()
    assert 'class="alert' in page
    assert 'value="dislike" required checked' in page
    assert 'value="  "' in page


@pytest.mark.parametrize(("codes", "is_explained"), [({"declined": "NO1"}, True), ({}, False)])
def test_the_page_after_declining_explains_its_code(
    run: Run, codes: dict[str, str], is_explained: bool
) -> None:
    run.project.assessment.completion_codes = codes
    run.project.assessment.save()
    browser = Client()
    browser.get(LINK)
    browser.post("/join/study/decline/")
    page = text_of(browser, "/join/study/")
    assert ("This is the code for declining." in page) is is_explained
    assert ("NO1" in page) is is_explained


@pytest.mark.parametrize("is_coded", [True, False])
def test_the_last_page_promises_a_code_only_if_there_is_one(run: Run, is_coded: bool) -> None:
    if not is_coded:
        run.project.assessment.completion_codes = {}
        run.project.assessment.save()
    browser = Client()
    browser.get(LINK)
    browser.post("/join/study/consent/")
    complete(Assignment.objects.get())
    page = text_of(browser, "/join/study/")
    assert ("Here is your completion code." in page) is is_coded
    assert ("You need no code" in page) is not is_coded


@pytest.mark.parametrize(
    ("project_language", "page_language", "words"),
    [
        ("en", "en", "The chatbot&#x27;s English was fluent"),
        ("zh", "en", "The chatbot&#x27;s Chinese was fluent"),
        ("zh", "zh-hans", "聊天机器人的中文在整段对话中流畅自然"),
        ("mul", "en", "The chatbot&#x27;s English was fluent"),
        ("mul", "zh-hans", "聊天机器人的中文在整段对话中流畅自然"),
    ],
)
def test_statements_name_the_language_that_people_chat_in(
    mara: User, project_language: str, page_language: str, words: str
) -> None:
    project = create_project(
        slug="study", preset="live-assessment", actor=mara, title="Study", language=project_language
    )
    project.assessment.signed_links, project.assessment.inputs = False, 1
    project.assessment.save()
    add_systems(project)
    opened_run(project)
    browser = Client(headers={"accept-language": page_language})
    browser.get(LINK)
    browser.post("/join/study/consent/")
    session = start(Assignment.objects.get())
    talk(session, 1)
    browser.post("/join/study/finish/", {"session": session.pk})
    assert words in text_of(browser, "/join/study/")


def test_a_form_of_an_earlier_step_does_not_ask_to_reload(run: Run) -> None:
    browser = Client()
    browser.get(LINK)
    browser.post("/join/study/consent/")
    session = Assignment.objects.get().sessions.order_by("-place").first()
    assert session is not None
    sent = {"session": session.pk, "topic": "cats", "opinion": "like"}
    page = browser.post("/join/study/start/", sent, follow=True).content.decode()
    assert "You have another conversation to finish first." in page
    assert "Reload the page" not in page
