"""What the chat of a participant sends and asks for, as JSON; RefusalMiddleware makes refusals JSON too."""

import json
import re
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from assessment.sessions.models.conversations import Turn
from assessment.sessions.selectors.assignments import Step, current_position
from assessment.sessions.selectors.turns import messages_of, turn_status
from assessment.sessions.services import chat, recovery
from common.refusals import Invalid
from frontend.pages.assessment.participant import assignment_of, participant_page, token_of

MAX_ID: Final = 2**63 - 1
SURROGATE: Final = re.compile("[\ud800-\udfff]")


@require_POST
@participant_page
def send(request: HttpRequest, slug: str) -> HttpResponse:
    """{"id", "session", "text", "writing"}: store an input; the same id again returns the first one."""
    body = _read_json(request)
    turn = chat.send_input(
        participant=assignment_of(request, slug).participant,
        session_id=_whole_number(body, "session"),
        turn_id=_uuid(body, "id"),
        text=_text(body, "text"),
        writing=body["writing"] if isinstance(body.get("writing"), dict) else {},
    )
    return JsonResponse(_describe(turn), status=201)


def _describe(turn: Turn) -> dict[str, Any]:
    return {"id": str(turn.pk), "number": turn.number}


@require_safe
@participant_page
def reply(request: HttpRequest, slug: str, turn_id: UUID) -> HttpResponse:
    """{"state", "reply"} or {"state", "retry_after_ms"}."""
    status = turn_status(slug=slug, token=token_of(request), turn_id=turn_id)
    if status.is_lost:
        recovery.recover(turn_id)
    return JsonResponse(status.as_json())


@require_safe
@participant_page
def state(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole chat, for a page that was away or a second device. session: null unless the step is the chat."""
    assignment = assignment_of(request, slug)
    position = current_position(assignment)
    session = position.session
    if position.step != Step.CHAT or session is None:
        return JsonResponse({"step": position.step, "session": None})
    messages, waiting = messages_of(session)
    return JsonResponse(
        {
            "step": position.step,
            "session": session.pk,
            "topic": session.topic,
            "opinion": session.opinion,
            "waiting": waiting,
            "messages": [{"turn": one.turn, "mine": one.is_mine, "text": one.text} for one in messages],
        }
    )


@require_POST
@participant_page
def change_topic(request: HttpRequest, slug: str) -> HttpResponse:
    """{"id", "session", "topic", "opinion"}: the topic from the next input on."""
    body = _read_json(request)
    session = chat.change_topic(
        participant=assignment_of(request, slug).participant,
        session_id=_whole_number(body, "session"),
        change_id=_uuid(body, "id"),
        topic=_text(body, "topic"),
        opinion=_text(body, "opinion"),
    )
    return JsonResponse({"topic": session.topic, "opinion": session.opinion})


def _read_json(request: HttpRequest) -> dict[str, Any]:
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise Invalid(_("This is not JSON.")) from error
    if not isinstance(body, dict):
        raise Invalid(_("This is not a JSON object."))
    return body


def _text(body: dict[str, Any], name: str) -> str:
    """A text without lone surrogates, which the database cannot store."""
    value = body.get(name)
    if not isinstance(value, str) or SURROGATE.search(value):
        raise Invalid(_("This is not a text."), field=name)
    return value


def _whole_number(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_ID:
        raise Invalid(_("This is not a whole number."), field=name)
    return value


def _uuid(body: dict[str, Any], name: str) -> UUID:
    try:
        return UUID(_text(body, name))
    except ValueError as error:
        raise Invalid(_("This is not a UUID."), field=name) from error


urlpatterns = [
    path("join/<slug:slug>/chat/", state, name="join_chat"),
    path("join/<slug:slug>/turns/", send, name="join_turns"),
    path("join/<slug:slug>/turns/<uuid:turn_id>/", reply, name="join_turn"),
    path("join/<slug:slug>/topic/", change_topic, name="join_topic"),
]
