"""Format `assessment`: the ratings of a run as the study of Ji et al. (2022) released them, with texts and topics.

import_dialogues reads it back: the report of the imported run has the same numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assessment.sessions.models.conversations import Session, Turn
from assessment.sessions.models.participants import Assignment
from assessment.systems.models import Connector, System
from preference.data.formats.judgements import pseudonym_of_participant
from preference.data.selectors.selection import UtteranceText
from preference.data.selectors.study import StudyAssignment, StudySelection

VERSION = "1"
PARTICIPANT = "A"  # the speaker of inputs
DEGRADED = "degraded"  # the name of the degraded system in the file, if the project has none or several


def opening(selection: StudySelection) -> dict[str, Any]:
    """The metadata of the file: its statements and systems."""
    statements = selection.settings.statement_list
    systems = System.objects.filter(project=selection.project).exclude(connector=Connector.DEGRADED)
    return {
        "score": {
            each.name: {"positive": not each.is_reversed, "qc": each.in_reliability_test, "max": 100}
            for each in statements
        },
        "model": list(systems.order_by("name").values_list("name", flat=True)),
        "qc-model": _name_of_degraded(selection),
        "ranking": None,
        "sorted_scores": [each.name for each in statements],
    }


def rows(selection: StudySelection, page: Sequence[StudyAssignment]) -> Iterator[dict[str, Any]]:
    """One row per assignment, with its conversations in their order."""
    sessions = [session for each in page for session in each.sessions]
    parts = _Parts(
        _name_of_degraded(selection),
        selection.ratings(sessions),
        selection.texts(sessions),
        _topics_of_turns(sessions),
    )
    for each in page:
        assignment = each.assignment
        yield {
            "hit": assignment.study_group,
            "assignment": assignment.external_id or f"run-{assignment.run.number}-{assignment.pk}",
            "worker": pseudonym_of_participant(selection.project.pk, assignment.participant_id),
            "run": assignment.run.number,
            "state": assignment.state,
            "duration in seconds": _seconds(assignment),
            "feedback": assignment.feedback,
            "result": [_result(session, parts) for session in each.sessions],
        }


class _Parts:
    """What the conversations of a page consist of. degraded: the name of the degraded system in the file."""

    def __init__(
        self,
        degraded: str,
        ratings: Mapping[int, Mapping[str, float]],
        texts: Mapping[int, Sequence[UtteranceText]],
        topics: Mapping[int, list[dict[str, Any]]],
    ) -> None:
        self.degraded, self.ratings, self.texts, self.topics = degraded, ratings, texts, topics


def _result(session: Session, parts: _Parts) -> dict[str, Any]:
    system, dialogue = session.system, session.dialogue
    kept = dialogue.metadata if dialogue else {}
    said = {
        "persona": kept.get("persona") or system.persona,
        "topic": kept.get("topics") or _topics(session, parts.topics.get(session.pk, [])),
        "bot opinion": session.bot_opinion,
        "topic change": session.topic_change,
        "dialogue": [
            {"speaker": "user" if one.speaker == PARTICIPANT else "bot", "text": one.text}
            for one in parts.texts.get(session.dialogue_id or 0, [])
        ],
    }
    return {
        "model": parts.degraded if system.is_degraded else system.name,
        "score": dict(parts.ratings.get(session.pk, {})),
        **{key: value for key, value in said.items() if value},
    }


def _topics_of_turns(sessions: Sequence[Session]) -> dict[int, list[dict[str, Any]]]:
    """The topics in force as inputs were sent, by session, where they changed."""
    rows = Turn.objects.filter(session__in=[session.pk for session in sessions])
    topics: dict[int, list[dict[str, Any]]] = {}
    for session, number, topic, opinion in rows.order_by("session_id", "number").values_list(
        "session_id", "number", "topic", "opinion"
    ):
        _append_topic(topics.setdefault(session, []), number - 1, topic, opinion)
    return topics


def _topics(session: Session, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the last topic, which may have changed after the last input."""
    _append_topic(topics, session.input_count if topics else 0, session.topic, session.opinion)
    return topics


def _append_topic(topics: list[dict[str, Any]], round_: int, topic: str, opinion: str) -> None:
    latest = (topics[-1]["topic"], topics[-1]["attitude"]) if topics else None
    if topic and (topic, opinion) != latest:
        topics.append({"round": round_, "topic": topic, "attitude": opinion})


def _seconds(assignment: Assignment) -> float | None:
    if assignment.duration_seconds is not None or not (assignment.consented_at and assignment.ended_at):
        return assignment.duration_seconds
    return (assignment.ended_at - assignment.consented_at).total_seconds()


def _name_of_degraded(selection: StudySelection) -> str:
    """The format knows one degraded system."""
    names = System.objects.filter(project=selection.project, connector=Connector.DEGRADED)
    found = list(names.order_by("name").values_list("name", flat=True)[:2])
    return found[0] if len(found) == 1 else DEGRADED
