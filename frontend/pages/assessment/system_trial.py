"""Trying a system out, and what the degraded system did to its replies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from assessment.sessions.selectors.turns import degraded_replies
from assessment.setup.selectors import assessment_project
from assessment.systems.models import Connector, System, TrialState, TrialTurn
from assessment.systems.selectors.sentences import translate_error
from assessment.systems.selectors.systems import system_in
from assessment.systems.selectors.trials import present_turns
from assessment.systems.services.asking import QUEUE
from assessment.systems.services.trials import MAX_INPUT, end_trial, refresh_trial, send_trial_input
from frontend.pages.requests import posted_uuid, signed_in
from generation.selectors import QUEUE as GPU
from jobs.broker import broker_answers
from jobs.selectors import live_workers
from measures.degradation import span_of_words
from projects.roles import Capability

RECENT: Final = 20


@dataclass(frozen=True, slots=True)
class Degradation:
    """How a degraded reply was made: the source around the removed words, and the reply around the inserted ones."""

    before: str
    removed: str
    after: str
    reply_before: str
    inserted: str
    reply_after: str
    source_dialogue: int
    donor_dialogue: int


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """error, remedy: in the reader's language."""

    turn: TrialTurn
    error: str
    remedy: str
    degradation: Degradation | None


@login_required
@never_cache
@require_safe
def system_try(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    user, system = signed_in(request), _system(request, slug, key)
    if request.GET.get("part") == "messages":
        return render(request, "assessment/systems/messages.html", _messages(user, system))
    return render(request, "assessment/systems/try.html", _context(user, system))


@login_required
@require_POST
def system_try_send(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    user, system = signed_in(request), _system(request, slug, key)
    send_trial_input(
        system=system,
        user=user,
        turn_id=posted_uuid(request, "turn"),
        text=request.POST.get("text", ""),
    )
    if "HX-Request" in request.headers:
        return render(request, "assessment/systems/conversation.html", _context(user, system))
    return redirect("system_try", slug, key)


@login_required
@require_POST
def system_try_again(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    """Begin a new trial: the system forgets what was said."""
    end_trial(system=_system(request, slug, key), user=signed_in(request))
    return redirect("system_try", slug, key)


def _system(request: HttpRequest, slug: str, key: int) -> System:
    return system_in(assessment_project(signed_in(request), slug, Capability.CONFIGURE), key)


def _context(user: User, system: System) -> dict[str, Any]:
    context: dict[str, Any] = {
        "title": system.name,
        "turn_id": uuid4(),
        "longest": MAX_INPUT,
        "can_chat": system.connector != Connector.IMPORTED,
        **_messages(user, system),
    }
    if system.is_degraded:
        context["replies"] = [
            build_degradation(text, trace) for text, trace in degraded_replies(system, RECENT)
        ]
    return context


def _messages(user: User, system: System) -> dict[str, Any]:
    turns = present_turns(system, user)
    if turns:
        turns[-1] = refresh_trial(turns[-1])
    queue = GPU if system.connector == Connector.GENERATOR else QUEUE
    is_waiting = bool(turns) and turns[-1].state == TrialState.WAITING
    return {
        "project": system.project,
        "system": system,
        "turns": [_show(turn) for turn in turns],
        "is_waiting": is_waiting,
        "queue": queue,
        "is_queue_away": is_waiting and not broker_answers(),
        "is_served": not is_waiting or live_workers(queue).exists(),
    }


def _show(turn: TrialTurn) -> ShownTurn:
    degradation = build_degradation(turn.reply.text, turn.trace) if turn.reply else None
    return ShownTurn(turn, translate_error(turn.error), translate_error(turn.remedy), degradation)


def build_degradation(reply: str, trace: Mapping[str, Any]) -> Degradation | None:
    """From what the connector logged; None for a reply of another system."""
    if "source_text" not in trace:
        return None
    source, inserted = trace["source_text"], trace["inserted"]
    first, last = span_of_words(source, trace["start"], trace["count"])
    begin = reply.find(inserted, first)
    end = begin + len(inserted) if begin >= 0 else 0
    return Degradation(
        before=source[:first],
        removed=trace["removed"],
        after=source[last:],
        reply_before=reply[: max(begin, 0)],
        inserted=inserted if begin >= 0 else "",
        reply_after=reply[end:],
        source_dialogue=trace["source_dialogue"],
        donor_dialogue=trace["donor_dialogue"],
    )


urlpatterns = [
    path("p/<slug:slug>/systems/<int:key>/try/", system_try, name="system_try"),
    path("p/<slug:slug>/systems/<int:key>/try/send/", system_try_send, name="system_try_send"),
    path("p/<slug:slug>/systems/<int:key>/try/again/", system_try_again, name="system_try_again"),
]
