"""Pictures of a study: the pages of its participants, each in the middle of something, and of its manager."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import Page

from tests.browser.shots import Shot

SLUG: Final = "study"
TALK: Final = (
    ("Hi! I spent the whole weekend in the garden.", "That sounds lovely. What do you grow there?"),
    ("Mostly tomatoes and beans.", "My grandmother had tomatoes on her balcony. Are yours ripe already?"),
    ("The first ones are. We ate them with basil yesterday.", "I love basil! Do you cook every day?"),
)
WAITING: Final = "Nearly. 周末的时候我会做中国菜，比如番茄炒蛋。"


def join_as(name: str, who: str = "", **options: Any) -> Shot:
    """The page that this participant is on."""
    address = f"/join/{SLUG}/?PROLIFIC_PID={name}"
    return Shot("join", who=who, address=address, file=f"join-{name}", main=True, **options)


def in_study(_world: object) -> tuple[str]:
    return (SLUG,)


def in_run(_world: object) -> tuple[str, int]:
    return SLUG, 1


def system_named(name: str) -> tuple[str, int]:
    from assessment.systems.models import System

    return SLUG, System.objects.get(project__slug=SLUG, name=name).pk


def answer_some(page: Page) -> None:
    """Two questions and three sliders, then Submit: the first slider without a value is marked."""
    page.locator("label[for=bot_opinion-like]").click()
    page.locator("label[for=topic_change-none]").click()
    for slider, presses in ((0, 1), (1, 9), (2, 4)):
        page.locator("input[type=range]").nth(slider).focus()
        for _n in range(presses):
            page.keyboard.press("PageUp")
    page.locator("#ratings .primary").click()


def open_topic(page: Page) -> None:
    page.locator("#change-topic").click()
    page.locator("#new-topic").fill("Cooking")


def open_menu(page: Page) -> None:
    page.locator(".study-more > summary").click()


def read_instructions(page: Page) -> None:
    page.goto(f"/join/{SLUG}/instructions/")


STUDY_SHOTS: Final = [
    join_as("invited"),
    join_as("reading", act=read_instructions),
    join_as("topic"),
    join_as("ice-breaker"),
    join_as("chat", whole=False),
    join_as("waiting", whole=False),
    join_as("menu", act=open_menu, whole=False),
    join_as("new-topic", act=open_topic, whole=False),
    join_as("rating"),
    join_as("rating-missing", act=answer_some, whole=False),
    join_as("replaced"),
    join_as("feedback"),
    join_as("completed"),
    join_as("failed"),
    join_as("away"),
    join_as("declined"),
    join_as("left"),
    Shot("join", who="", address="/join/study/?run=7", file="join-refused"),
    Shot("systems", who="mara", args=in_study, main=True),
    Shot("systems", who="mara", args=lambda _world: ("new-study",), file="systems-empty"),
    Shot("system_new", who="mara", args=lambda _world: (SLUG, "openai"), main=True),
    Shot("system_new", who="mara", args=lambda _world: (SLUG, "degraded"), file="system-new-degraded"),
    Shot("system_edit", who="mara", args=lambda _world: system_named("a")),
    Shot("system_try", who="mara", args=lambda _world: system_named("a"), main=True),
    Shot("system_try", who="mara", args=lambda _world: system_named("degraded"), file="system-degraded"),
    Shot("runs", who="mara", args=in_study, main=True),
    Shot("runs", who="mara", args=lambda _world: ("new-study",), file="runs-empty"),
    Shot("run", who="mara", args=in_run, main=True),
    Shot("assessment_report", who="mara", args=in_study, main=True),
    Shot("participants", who="mara", args=in_study, main=True),
    Shot("take_part", who="mara", args=in_study, main=True),
    Shot("study_settings", who="mara", args=in_study, main=True),
    Shot("project", who="mara", args=in_study, file="project-study", main=True),
    Shot("project", who="mara", args=lambda _world: ("new-study",), file="project-study-new"),
    Shot("project_settings", who="mara", args=in_study, file="project-settings-study"),
]
STUDY_NO_PAGES: Final = {
    *("join_consent", "join_decline", "join_resume", "join_leave", "join_start", "join_finish", "join_back"),
    *("join_ratings", "join_feedback", "join_chat", "join_turns", "join_turn", "join_topic"),
    *("join_instructions",),  # in the middle of something
    *("assessment_report_json", "assessment_report_download"),
    *("system_retire", "system_restore", "system_try_send", "system_try_again"),
    *("run_create", "run_open", "run_close", "run_places", "run_links", "run_take_part", "study_statements"),
}


def fill_study(mara: Any) -> None:
    """A run with participants who are everywhere, an ice-breaker run, and a project without either."""
    from datetime import timedelta

    from django.utils import timezone

    from annotation.project_setup.services import create_project
    from assessment.setup.models import TopicMode
    from jobs.models import Worker
    from tests.assessment import steps

    seen_at = timezone.now() + timedelta(days=1)  # while the pictures are taken
    Worker.objects.update_or_create(name="chat", defaults={"queues": ["chat"], "seen_at": seen_at})
    create_project(slug="new-study", preset="live-assessment", actor=mara, title="New study 新研究")
    project = create_project(
        slug=SLUG, preset="live-assessment", actor=mara, title="How good are our chatbots?"
    )
    settings = project.assessment
    settings.signed_links, settings.inputs, settings.ordinary_systems = False, 3, 2
    settings.return_url = "https://app.prolific.com/submissions/complete?cc={code}"
    settings.completion_codes = {
        "completed": "C1ABCDEF",
        "system_failure": "FAIL7788",
        "timed_out": "TIME1234",
    }
    settings.ice_breakers = ["I have never seen the sea, but I have swum in every lake within a day's walk."]
    settings.save()
    steps.add_systems(project, persona=["I like to garden."])
    steps.opened_run(project, places=40)
    for name in ("invited", "declined", "left"):
        steps.enter(project, name)
    _end_early(project)
    for name in ("reading", "topic", "chat", "waiting", "menu", "new-topic", "rating", "rating-missing"):
        _have_talk(steps.begin(project, name), name)
    _replace(steps.begin(project, "replaced"))
    _complete_some(project)
    _try_out(project, mara)
    steps.opened_run(project, places=5, topic_mode=TopicMode.ICE_BREAKER)
    steps.begin(project, "ice-breaker", run="2")


def _try_out(project: Any, mara: Any) -> None:
    """A system that answered and failed, and a degraded reply with its source."""
    from uuid import uuid4

    from assessment.systems.connectors.protocol import SystemReply
    from assessment.systems.models import System
    from assessment.systems.services.trials import (
        answer_trial,
        fail_trial,
        send_trial_input,
        store_trial_reply,
    )
    from generation.protocol import BackendError
    from tests.assessment.talk import import_dialogues

    import_dialogues(project)
    system = System.objects.get(project=project, name="a")
    first = send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Do you cook?")
    store_trial_reply(first, SystemReply("Every evening. I like soup.", {"model": "mega/bot-7b"}))
    second = send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Which one?")
    fail_trial(second, BackendError("The system did not answer in time.", "Check whether it is overloaded."))
    degraded = System.objects.get(project=project, name="degraded")
    answer_trial(send_trial_input(system=degraded, user=mara, turn_id=uuid4(), text="Do you cook?").pk)


def _end_early(project: Any) -> None:
    from django.db import transaction

    from assessment.sessions.models.participants import AssignmentState
    from assessment.sessions.services import participants
    from assessment.sessions.services.assignment import end_assignment
    from tests.assessment import steps

    participants.decline(assignment=steps.enter(project, "declined"))
    participants.leave(assignment=steps.enter(project, "left"))
    for name, state in (("away", AssignmentState.TIMED_OUT), ("failed", AssignmentState.SYSTEM_FAILURE)):
        assignment = steps.begin(project, name)
        steps.start(assignment)
        with transaction.atomic():
            end_assignment(participants.lock_assignment(assignment), to=state)


def _have_talk(assignment: Any, name: str) -> None:
    from assessment.sessions.services import chat
    from tests.assessment import steps

    if name in ("reading", "topic"):
        return
    steps.converse(assignment)
    session = steps.start(assignment, "my garden")
    for said, reply in TALK:
        steps.answer(steps.send(session, said), reply)
    if name.startswith("rating"):
        chat.finish_chat(participant=assignment.participant, session_id=session.pk)
    elif name == "waiting":
        steps.send(session, WAITING)


def _replace(assignment: Any) -> None:
    from assessment.sessions.services.failures import void_session
    from tests.assessment import steps

    session = steps.start(assignment, "holidays at the sea")
    steps.send(session)
    void_session(session=session, reason="The system does not answer.")


def _complete_some(project: Any) -> None:
    from tests.assessment import steps

    steps.complete(
        steps.begin(project, "completed"), "The third one was fun, the fifth made no sense at all."
    )
    assignment = steps.begin(project, "feedback")
    for _n in range(assignment.sessions.count()):
        steps.converse(assignment)
