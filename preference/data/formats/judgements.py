"""Format `judgements`: one row per judgement, with a pseudonym instead of its author.

In authoring a judgement is the action of a turn (question `action`) or an expert's verdict (`expert_review`); in
labelling it is one answer to one question, of an utterance where it has a position; in a study it is the value of one
statement, or one answer about the topic.
"""

import heapq
import hmac
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from django.conf import settings

from annotation.authoring.models import Turn
from annotation.expert_review.models import ExpertReview
from assessment.sessions.models.conversations import Session
from assessment.sessions.models.participants import Assignment
from dialogues.models import Dialogue
from preference.data.formats.labels import revisions_on
from preference.data.selectors.selection import Selection
from preference.data.selectors.study import StudyAssignment, StudySelection
from projects.models import Protocol

VERSION = "1"
SCHEMA_VERSION = "diamante/1"
STUDY_VERSION = "live-assessment/1"
ABOUT_TOPIC = ("opinion", "bot_opinion", "topic_change")  # answers beside the statements


def pseudonym(project_id: int, user_id: int) -> str:
    """Stable per person and project; only SECRET_KEY leads back to the person."""
    return _pseudonym(f"{settings.SECRET_KEY}/{project_id}", user_id)


@lru_cache(10_000)
def _pseudonym(key: str, user_id: int) -> str:
    return "p" + hmac.digest(key.encode(), str(user_id).encode(), "sha256").hex()[:12]


def pseudonym_of_participant(project_id: int, participant_id: int) -> str:
    """Of a participant of a study, who has no account; unlike every pseudonym of a user."""
    return _pseudonym(f"{settings.SECRET_KEY}/{project_id}/participant", participant_id)


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    """Dialogue by dialogue: its turns in the order they were sent, then the verdicts on it."""
    if selection.project.protocol == Protocol.LABELLING:
        yield from answer_rows(page)
        return
    by_id = {dialogue.pk: dialogue for dialogue in page}
    for _dialogue, row in heapq.merge(action_rows(by_id), verdict_rows(by_id), key=itemgetter(0)):
        yield row


DialogueRow = tuple[int, dict[str, Any]]  # dialogue id, row


def action_rows(by_id: Mapping[int, Dialogue]) -> Iterator[DialogueRow]:
    """The turns of these dialogues in the order they were sent, undone ones included."""
    turns = Turn.objects.filter(dialogue__in=by_id).select_related("assignment", "utterance")
    for turn in turns.order_by("dialogue_id", "stored_at", "id"):
        row = {
            **common_fields(by_id[turn.dialogue_id], turn.assignment.annotator_id),
            "question": "action",
            "position": turn.position,
            "value": turn.provenance.action,
            "source": turn.provenance.source,
            "edit_distance": turn.provenance.edit_distance,
            "status": "undone" if turn.undone_at else "live",
            "active_seconds": turn.active_ms / 1000,
            "idle_seconds": turn.idle_ms / 1000,
            "at": turn.stored_at.isoformat(),
        }
        yield turn.dialogue_id, row


def answer_rows(page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    """One row per answer of every revision, by dialogue and person; answers about the dialogue come first."""
    submissions = revisions_on(page)
    for dialogue in page:
        for submission in submissions.get(dialogue.pk, []):
            fields = {
                **common_fields(dialogue, submission.annotator_id),
                "state": submission.task_state,
                "batch": submission.batch,
                "round": submission.round,
                "review": submission.review,
                "schema_version": submission.schema_version,
                "stage": submission.stage,
                "revision": submission.revision,
                "status": "superseded" if submission.superseded_at else "live",
                "active_seconds": submission.active_ms / 1000,
                "idle_seconds": submission.idle_ms / 1000,
                "at": submission.stored_at.isoformat(),
            }
            for question, value in submission.answers["dialogue"].items():
                yield {**fields, "question": question, "position": None, "value": value}
            for position, answers in submission.answers["utterances"].items():
                for question, value in answers.items():
                    yield {**fields, "question": question, "position": int(position), "value": value}


def verdict_rows(by_id: Mapping[int, Dialogue]) -> Iterator[DialogueRow]:
    """Verdicts of experts on these dialogues; a verdict that was changed later is superseded."""
    reviews = ExpertReview.objects.filter(dialogue__in=by_id).exclude(verdict="")
    for review in reviews.order_by("dialogue_id", "decided_at", "id"):
        row = {
            **common_fields(by_id[review.dialogue_id], review.reviewer_id),
            "question": "expert_review",
            "value": review.verdict,
            "reason": review.reason,
            "remarks": review.remarks,
            "status": "superseded" if review.superseded_at else "live",
            "at": review.decided_at.isoformat() if review.decided_at else None,
        }
        yield review.dialogue_id, row


def common_fields(dialogue: Dialogue, user_id: int) -> dict[str, Any]:
    """Fields of every judgement. round: of the batch; authoring has only round 1."""
    return {
        "dialogue": dialogue.external_id,
        "annotator": pseudonym(dialogue.project_id, user_id),
        "round": 1,
        "review": dialogue.review_state,
        "schema_version": SCHEMA_VERSION,
    }


def study_rows(selection: StudySelection, page: Sequence[StudyAssignment]) -> Iterator[dict[str, Any]]:
    """Conversation by conversation: the values of the statements, then the answers about the topic."""
    ratings = selection.ratings(session for each in page for session in each.sessions)
    for each in page:
        assignment, run = each.assignment, each.assignment.run
        annotator = pseudonym_of_participant(run.project_id, assignment.participant_id)
        for session in each.sessions:
            fields = {
                "dialogue": _name_of_conversation(session, assignment),
                "annotator": annotator,
                "run": run.number,
                "system": session.system.name,
                "state": assignment.state,
                "schema_version": STUDY_VERSION,
                "status": "live",
                "at": session.rated_at.isoformat() if session.rated_at else None,
            }
            about_topic = {name: getattr(session, name) for name in ABOUT_TOPIC}
            answers = {name: value for name, value in about_topic.items() if value}
            for question, value in {**ratings.get(session.pk, {}), **answers}.items():
                yield {**fields, "question": question, "position": None, "value": value}


def _name_of_conversation(session: Session, assignment: Assignment) -> str:
    if session.dialogue:
        return session.dialogue.external_id
    return f"run-{assignment.run.number}/{assignment.pk}/{session.place}"
