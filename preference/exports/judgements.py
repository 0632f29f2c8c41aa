"""Format `judgements`: one row per judgement, with who made it as a pseudonym.

In authoring a judgement is the action of a turn (question `action`) or an expert's verdict (`expert_review`).
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings

from annotation.models import ExpertReview, Turn
from dialogues.models import Dialogue
from preference.exports.selection import Selection

SCHEMA_VERSION = "diamante/1"


def pseudonym(project_id: int, user_id: int) -> str:
    """The same person in the same project always has the same; nobody without SECRET_KEY can work out who it is."""
    key = f"{settings.SECRET_KEY}/{project_id}".encode()
    return "p" + hmac.new(key, str(user_id).encode(), hashlib.sha256).hexdigest()[:10]


def rows(selection: Selection) -> Iterator[dict[str, Any]]:
    for page in selection.pages():
        by_id = {dialogue.pk: dialogue for dialogue in page}
        for turn in Turn.objects.filter(dialogue__in=by_id).select_related("assignment").order_by("dialogue", "stored_at"):
            yield of_turn(turn, by_id[turn.dialogue_id])
        yield from verdicts(page)


def of_turn(turn: Turn, dialogue: Dialogue) -> dict[str, Any]:
    return {
        **common(dialogue, turn.assignment.annotator_id),
        "question": "action",
        "position": turn.position,
        "value": turn.action,
        "source": turn.source,
        "edit_distance": turn.edit_distance,
        "status": "undone" if turn.undone_at else "live",
        "active_seconds": turn.active_ms / 1000,
        "idle_seconds": turn.idle_ms / 1000,
        "at": turn.stored_at.isoformat(),
    }


def verdicts(page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    by_id = {dialogue.pk: dialogue for dialogue in page}
    for review in ExpertReview.objects.filter(dialogue__in=by_id).exclude(verdict="").order_by("dialogue", "decided_at"):
        yield {
            **common(by_id[review.dialogue_id], review.reviewer_id),
            "question": "expert_review",
            "value": review.verdict,
            "reason": review.reason,
            "remarks": review.remarks,
            "status": "superseded" if review.superseded_at else "live",
            "at": review.decided_at.isoformat() if review.decided_at else None,
        }


def common(dialogue: Dialogue, user_id: int) -> dict[str, Any]:
    return {
        "dialogue": dialogue.external_id or f"{dialogue.project_id}-{dialogue.pk}",
        "annotator": pseudonym(dialogue.project_id, user_id),
        "round": 1,
        "review": dialogue.review_state,
        "schema_version": SCHEMA_VERSION,
    }
