"""What participants do, in a few words."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from assessment.sessions.models.conversations import Session, Turn, TurnState
from assessment.sessions.models.participants import Assignment
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.assignments import current_position
from assessment.sessions.services import chat, participants, ratings
from assessment.sessions.services.runs import create_run, open_run
from assessment.setup.models import TopicMode
from assessment.systems.models import Connector, System
from dialogues.models import Dialogue, Utterance
from projects.models import Project

STATEMENTS = ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic")
HALF = dict.fromkeys(STATEMENTS, 50.0)


def add_systems(project: Project, ordinary: int = 5, **values: Any) -> list[System]:
    """Ordinary systems a, b, … and one degraded system, which takes its words from the project itself."""
    systems = [
        System(project=project, name=chr(ord("a") + n), connector=Connector.OPENAI, **values)
        for n in range(ordinary)
    ]
    degraded = System(project=project, name="degraded", connector=Connector.DEGRADED, corpus=project)
    return System.objects.bulk_create([*systems, degraded])


def opened_run(project: Project, places: int = 10, topic_mode: str = TopicMode.FREE) -> Run:
    run = create_run(project=project, actor=None, creation_id=uuid4(), places=places, topic_mode=topic_mode)
    return open_run(run=run, actor=None, accepts_unproven=True)


def enter(project: Project, name: str, **query: str) -> Assignment:
    """By a link without a signature, which the project must allow."""
    return participants.enter(project=project, query={"PROLIFIC_PID": name, **query}, language="en")


def begin(project: Project, name: str, **query: str) -> Assignment:
    return participants.consent(assignment=enter(project, name, **query))


def current_session(assignment: Assignment) -> Session:
    session = current_position(Assignment.objects.get(pk=assignment.pk)).session
    assert session is not None
    return session


def start(assignment: Assignment, topic: str = "cats", opinion: str = "like") -> Session:
    return chat.start_session(
        participant=assignment.participant,
        session_id=current_session(assignment).pk,
        topic=topic,
        opinion=opinion,
    )


def send(session: Session, text: str = "Hello!", turn_id: UUID | None = None, **writing: Any) -> Turn:
    return chat.send_input(
        participant=session.assignment.participant,
        session_id=session.pk,
        turn_id=turn_id or uuid4(),
        text=text,
        writing=writing,
    )


def answer(turn: Turn, text: str = "I see.", visible_in: float = -1) -> None:
    """The reply of the system. visible_in: seconds."""
    dialogue = Dialogue.objects.get(assessment_session=turn.session_id)
    reply = Utterance.objects.create(
        dialogue=dialogue, position=2 * turn.number - 1, speaker=chat.SYSTEM, text=text
    )
    now = timezone.now()
    Turn.objects.filter(pk=turn.pk).update(
        state=TurnState.REPLIED, reply=reply, replied_at=now, visible_at=now + timedelta(seconds=visible_in)
    )
    Dialogue.objects.filter(pk=dialogue.pk).update(utterance_count=2 * turn.number)


def talk(session: Session, inputs: int) -> None:
    for n in range(inputs):
        answer(send(session, f"Message {n}"))


def rate(session: Session, values: dict[str, Any] | None = None, **answers: str) -> Session:
    return ratings.submit_ratings(
        participant=session.assignment.participant,
        session_id=session.pk,
        values=HALF if values is None else values,
        **{"bot_opinion": "like", "topic_change": "none", **answers},
    )


def converse(assignment: Assignment) -> Session:
    """One whole conversation, rated."""
    session = start(assignment)
    talk(session, assignment.run.project.assessment.inputs)
    chat.finish_chat(participant=assignment.participant, session_id=session.pk)
    return rate(session)


def complete(assignment: Assignment, feedback: str = "") -> Assignment:
    for _ in range(assignment.sessions.count()):
        converse(assignment)
    return ratings.submit_feedback(assignment=assignment, feedback=feedback)
