"""Scripted participants of the demo study: whole conversations with stored replies, rated as their scripts say.

Rows are written directly, with times of the last days: a service would ask the systems, which do not run yet.
"""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from assessment.sessions.models.conversations import (
    Opinion,
    Rating,
    Session,
    SessionState,
    TopicChange,
    Turn,
    TurnState,
)
from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.setup.models import AssessmentSettings
from assessment.systems.connectors.degraded import DegradedConnector
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from dialogues.models import Dialogue, DialogueState, Origin, Utterance, new_external_id
from dialogues.splits import split_for
from generation.demo_model.corpus import write_corpus
from generation.protocol import Message

PEOPLE: Final = 16
CARELESS: Final = 3
# How good the scripts find the systems, from 0 to 100; they find the others fair.
QUALITY: Final = {
    "Demo model": 68,
    "Demo model, cautious": 57,
    "Demo model, hot": 34,
    "Rule bot": 76,
    "Script bot": 44,
    "Degraded": 12,
}
SPREAD: Final = 13.0
TOPICS: Final = (
    ("hiking", Opinion.LIKE),
    ("coffee", Opinion.LIKE),
    ("early meetings", Opinion.DISLIKE),
    ("my neighbours", Opinion.AMBIVALENT),
    ("cooking", Opinion.LIKE),
)
BETWEEN: Final = timedelta(minutes=35)  # from one participant to the next


def complete_assignment(
    assignment: Assignment, number: int, *, is_careless: bool, began: datetime
) -> Assignment:
    """Rate every conversation of an assignment that has just been consented to, and mark it as a script's.

    is_careless: the ratings have nothing to do with the systems.
    """
    rng = random.Random(number)
    settings = assignment.run.project.assessment
    consented = time = began + number * BETWEEN
    for session in assignment.sessions.select_related("system"):
        time = _converse(session, settings, rng, time, is_careless)
    assignment.state, assignment.is_scripted = AssignmentState.COMPLETED, True
    assignment.consented_at, assignment.ended_at, assignment.expires_at = consented, time, None
    assignment.feedback = rng.choice(
        ["", "", "Some of them repeat themselves.", "The last one made no sense."]
    )
    assignment.save()
    return assignment


def _converse(
    session: Session, settings: AssessmentSettings, rng: random.Random, begun: datetime, is_careless: bool
) -> datetime:
    """One conversation from topic to ratings. Returns when it ended."""
    project = settings.project
    external_id = new_external_id()
    dialogue = Dialogue.objects.create(
        project=project,
        external_id=external_id,
        origin=Origin.CHATTED,
        state=DialogueState.FINISHED,
        split=split_for(external_id),
        language="en",
        utterance_count=2 * settings.inputs,
        created_at=begun,
    )
    topic, opinion = rng.choice(TOPICS)
    session.topic, session.opinion, session.dialogue = topic, opinion, dialogue
    end = _write_turns(session, settings.inputs, rng, begun)
    session.state, session.input_count = SessionState.RATED, settings.inputs
    session.started_at, session.rated_at = begun, end + timedelta(seconds=rng.uniform(20, 70))
    session.bot_opinion = rng.choice(Opinion.values)
    session.topic_change = rng.choice(TopicChange.values)
    session.save()
    Dialogue.objects.filter(pk=dialogue.pk).update(finished_at=session.rated_at)
    _rate(session, settings, rng, is_careless)
    return session.rated_at


def _write_turns(session: Session, inputs: int, rng: random.Random, time: datetime) -> datetime:
    talks = _talks(inputs)
    talk, turns, texts = rng.choice(talks), [], []
    for number in range(1, inputs + 1):
        message = talk[2 * number - 2]
        reply = _reply(session, talks, talk, number, rng)
        sent = time + timedelta(seconds=rng.uniform(6, 25))
        time = sent + timedelta(seconds=rng.uniform(1.6, 2.6))
        pair = [
            Utterance(dialogue=session.dialogue, position=2 * number - 2, speaker="A", text=message),
            Utterance(dialogue=session.dialogue, position=2 * number - 1, speaker="B", text=reply.text),
        ]
        texts += pair
        turns.append(_turn(session, number, pair, reply, rng, sent, time))
    Utterance.objects.bulk_create(texts)
    Turn.objects.bulk_create(turns)
    return time


def _turn(
    session: Session,
    number: int,
    pair: Sequence[Utterance],
    reply: SystemReply,
    rng: random.Random,
    sent: datetime,
    replied: datetime,
) -> Turn:
    return Turn(
        session=session,
        number=number,
        input=pair[0],
        reply=pair[1],
        state=TurnState.REPLIED,
        topic=session.topic,
        opinion=session.opinion,
        seed=rng.getrandbits(62),
        attempts=1,
        asked_at=sent,
        latency_ms=rng.randint(120, 900),
        sent_at=sent,
        replied_at=replied,
        visible_at=replied,
        writing={"typing_ms": rng.randint(1500, 9000), "pasted": 0, "left_page": 0},
        trace=dict(reply.trace),
    )


def _reply(
    session: Session, talks: Sequence[list[str]], talk: list[str], number: int, rng: random.Random
) -> SystemReply:
    """The better the system, the more often its reply belongs to the conversation."""
    system = session.system
    if system.corpus_id is not None and session.dialogue_id is not None:
        context = (Message("A", talk[2 * number - 2]),)
        question = Question(Conversation(session.dialogue_id), context, rng.getrandbits(62), deadline=0.0)
        return DegradedConnector(system.corpus_id).reply(question)
    fits = rng.random() < QUALITY.get(system.name, 50) / 80
    return SystemReply((talk if fits else rng.choice(talks))[2 * number - 1])


@cache
def _talks(inputs: int) -> list[list[str]]:
    """English conversations with at least so many messages and replies."""
    talks = [
        [text for _speaker, text in messages]
        for language, messages in write_corpus(23, 200)
        if language == "en"
    ]
    return [talk for talk in talks if len(talk) >= 2 * inputs]


def _rate(session: Session, settings: AssessmentSettings, rng: random.Random, is_careless: bool) -> None:
    quality = QUALITY.get(session.system.name, 50)
    values: dict[str, Any] = {}
    for statement in settings.statement_list:
        found = rng.uniform(0, 100) if is_careless else rng.gauss(quality, SPREAD)
        agreed = min(100.0, max(0.0, found))
        values[statement.name] = round(100 - agreed if statement.is_reversed else agreed)
    Rating.objects.bulk_create(
        Rating(session=session, statement=name, value=value) for name, value in values.items()
    )
