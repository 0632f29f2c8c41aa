"""What a participant sees when chatbots are slow, dead, empty, or all gone: nobody waits without an end."""

import pytest
from playwright.sync_api import expect

from assessment.sessions.models.conversations import Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState
from dialogues.models import Utterance
from projects.models import Project
from tests.assessment.talk import begin_with, degraded_system, import_dialogues, openai_system
from tests.browser.assessment.taking_part import Visitor
from tests.browser.conftest import SignedIn

EXPLAINED = "The last chatbot stopped answering."


def visit(signs_in: SignedIn, project: Project, server: str, *modes: str, spare: str = "") -> Visitor:
    """Ann's first conversation is with the first system; the degraded one is her last."""
    import_dialogues(project)
    systems = [openai_system(project, server, mode) for mode in modes]
    degraded = degraded_system(project)
    if spare:
        openai_system(project, server, spare)
    begin_with(project, *systems, degraded)
    return Visitor.come(signs_in)


@pytest.mark.parametrize("mode", ["dies", "empty", "hangs"])
def test_a_failing_chatbot_is_replaced_by_another(
    study: Project, server: str, signs_in: SignedIn, mode: str
) -> None:
    study.assessment.reply_timeout_seconds = 1 if mode == "hangs" else 10
    study.assessment.save()
    ann = visit(signs_in, study, server, mode, spare="good")
    ann.choose_topic("the sea")
    ann.page.keyboard.type("Is anybody there?")
    ann.press("Enter")
    expect(ann.page.locator(".alert")).to_contain_text(EXPLAINED)
    study.assessment.reply_timeout_seconds = 10
    study.assessment.save()
    expect(ann.page.locator("#topic")).to_have_value("the sea")
    expect(ann.page.locator(".study-progress")).to_contain_text("Conversation 1 of 2")
    ann.tab_to(ann.page.locator("main .primary"))
    ann.press("Enter")
    ann.chat()
    ann.finish_chat()
    ann.rate()
    expect(ann.page.locator(".study-progress")).to_contain_text("Conversation 2 of 2")
    assert Utterance.objects.filter(text="Is anybody there?").exists()
    voided = Session.objects.get(state=SessionState.VOIDED)
    assert voided.void_reason
    assert voided.system.name == mode


def test_a_chatbot_that_recovers_is_tried_again_unseen(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    study.assessment.reply_retries = 2
    study.assessment.save()
    ann = visit(signs_in, study, server, "recovers-1")
    ann.choose_topic()
    ann.write("Hello")
    assert Turn.objects.get().attempts == 2
    assert not Session.objects.filter(state=SessionState.VOIDED).exists()


def test_a_slow_chatbot_types_until_its_reply_is_there(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    study.assessment.reply_timeout_seconds = 60
    study.assessment.save()
    ann = visit(signs_in, study, server, "slow-8")
    ann.choose_topic()
    ann.page.keyboard.type("Take your time")
    ann.press("Enter")
    expect(ann.page.locator("#typing")).to_be_visible()
    ann.page.keyboard.type("Already the next")
    ann.press("Enter")
    expect(ann.page.locator("#note")).to_contain_text("Wait for the reply")
    expect(ann.messages).to_have_count(2)
    expect(ann.page.locator("#text")).to_have_value("Already the next")
    expect(ann.page.locator("#typing")).to_be_hidden()


def test_all_chatbots_dead_end_with_a_paid_code(study: Project, server: str, signs_in: SignedIn) -> None:
    ann = visit(signs_in, study, server, "dies", "breaks")
    ann.choose_topic()
    for n in range(2):
        ann.page.keyboard.type("Hello?")
        ann.press("Enter")
        if n == 0:
            expect(ann.page.locator(".alert")).to_contain_text(EXPLAINED)
            ann.tab_to(ann.page.locator("main .primary"))
            ann.press("Enter")
            ann.can_write()
    ann.see_code("PAID2")
    expect(ann.page.locator("main")).to_contain_text("This is not your fault, and you are paid")
    assert Assignment.objects.get().state == AssignmentState.SYSTEM_FAILURE
    assert Utterance.objects.filter(text="Hello?").count() == 2
    ann.page.goto(ann.address)
    ann.see_code("PAID2")


def test_a_degraded_system_without_words_ends_with_a_paid_code(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    openai_system(study, server, "good")
    begin_with(study, degraded_system(study))
    ann = Visitor.come(signs_in)
    ann.choose_topic()
    ann.page.keyboard.type("Hello?")
    ann.press("Enter")
    ann.see_code("PAID2")
