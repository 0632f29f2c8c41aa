"""A study in which people have taken part: whole conversations, rated as well as their systems are."""

import random
from uuid import uuid4

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.sessions.models.participants import Assignment
from assessment.sessions.models.runs import Run
from assessment.sessions.services import chat, ratings
from assessment.sessions.services.runs import create_run, open_run
from assessment.systems.models import Connector, System
from projects.models import Project
from tests.assessment.steps import STATEMENTS, answer, begin, current_session, enter, rate, send, start

QUALITY = {"aster": 74, "briar": 66, "clover": 61, "daisy": 47, "fern": 33, "degraded": 12}
REVERSED = ("robotic", "repetitive")
TALK = (
    ("Do you like hiking?", "I do, most of all in autumn."),
    ("Where do you go?", "The hills behind the town are quiet on weekdays."),
    ("Alone, or with friends?", "With a friend, who always carries too much food."),
)
TOPICS = (("hiking", "like"), ("my old car", "ambivalent"), ("early meetings", "dislike"), ("cats", "like"))


def create_study(manager: User, slug: str = "study", title: str = "Which chatbot is best?") -> Project:
    """Five systems and a degraded one, three messages a conversation, unsigned links."""
    project = create_project(slug=slug, preset="live-assessment", actor=manager, title=title)
    settings = project.assessment
    settings.inputs, settings.signed_links = len(TALK), False
    settings.save()
    System.objects.bulk_create(
        System(project=project, name=name, connector=Connector.OPENAI, identity_words=[name.title()])
        for name in QUALITY
        if name != "degraded"
    )
    System.objects.create(project=project, name="degraded", connector=Connector.DEGRADED, corpus=project)
    return project


def create_opened_run(project: Project, places: int) -> Run:
    run = create_run(project=project, actor=None, creation_id=uuid4(), places=places, topic_mode="free")
    return open_run(run=run, actor=None, accepts_unproven=True)


def take_part(project: Project, name: str, *, careless: bool = False, sessions: int = 6) -> Assignment:
    """Somebody consents and rates this many conversations; after all six they are done.

    careless: they do not see what is wrong with the degraded system. Ratings are drawn from the name.
    """
    rng = random.Random(name)
    assignment = begin(project, name)
    for _n in range(sessions):
        _converse(assignment, rng, careless)
    if sessions == assignment.sessions.count():
        ratings.submit_feedback(assignment=assignment, feedback="")
    return assignment


def _converse(assignment: Assignment, rng: random.Random, careless: bool) -> None:
    topic, opinion = rng.choice(TOPICS)
    session = start(assignment, topic=topic, opinion=opinion)
    for message, reply in TALK:
        answer(send(session, message), reply)
    chat.finish_chat(participant=assignment.participant, session_id=session.pk)
    quality: float = QUALITY[session.system.name]
    if careless:
        quality = rng.uniform(50, 90) if session.system.is_degraded else rng.uniform(20, 80)
    values = {name: min(100.0, max(0.0, rng.gauss(quality, 14))) for name in STATEMENTS}
    values = {name: round(100 - value if name in REVERSED else value) for name, value in values.items()}
    rate(session, values, bot_opinion=opinion)


def fill_run(project: Project, names: str, careful: int, careless: int) -> None:
    """A run in which so many people complete their assignments; one more is at it, and one has only come."""
    create_opened_run(project, places=careful + careless + 3)
    for n in range(careful):
        take_part(project, f"{names}-{n}")
    for n in range(careless):
        take_part(project, f"{names}-careless-{n}", careless=True)
    late = take_part(project, f"{names}-late", sessions=2)
    chat.start_session(
        participant=late.participant,
        session_id=current_session(late).pk,
        topic="tea",
        opinion="like",
    )
    enter(project, f"{names}-new")
