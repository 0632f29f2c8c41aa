"""The workbench: one dialogue, written turn by turn. static/js/authoring/workbench.js runs it over the REST API."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import path, reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.authoring.models import Topic
from annotation.authoring.serializers import serialize_full_assignment
from annotation.authoring.services.completion import take_back_dialogue
from annotation.expert_review.selectors import deciding_verdicts_on, is_being_judged
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.selectors.assignments import assignment_for, assignment_not_found
from annotation.tasks.selectors.queue import Today, today_of
from annotation.tasks.services import assignment as holding
from dialogues.models import ReviewState
from frontend.pages.requests import signed_in
from frontend.script_modules import loaded_on_need, preloaded
from frontend.ui.dialogues import content_language
from projects.models import Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

TOPICS_SENT = 60
CLOSED = (AssignmentState.SUBMITTED, AssignmentState.RELEASED)
SCRIPT = "js/authoring/workbench.js"


@login_required
@never_cache
@require_safe
def workbench(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    user = signed_in(request)
    assignment = assignment_in(user, slug, assignment_id)
    shown = serialize_full_assignment(assignment)
    position = len(shown["dialogue"]["utterances"])
    draft = shown["draft"] if shown["draft"] and shown["draft"]["position"] == position else {}
    today = today_of(user, assignment.project)
    context = {
        "project": assignment.project,
        "utterances": shown["dialogue"]["utterances"],
        "round_words": round_words(assignment, position // 2),
        "closed": assignment.state in CLOSED,
        "rounds_done": position // 2,
        "least_rounds": assignment.project.authoring.min_rounds,
        "writes_words": _("{speaker} writes").format(speaker="AB"[position % 2]),
        "today": today,
        "dialogue_lang": content_language(assignment.project),
        "draft": draft.get("text", ""),
        "verdicts": deciding_verdicts_on(assignment.dialogue) if review_outcome(assignment) else [],
        "script": SCRIPT,
        "modules": preloaded(SCRIPT),
        "shows_model": Capability.CONFIGURE in capabilities_of(user, assignment.project),
        "data": _workbench_data(user, assignment, shown, today),
    }
    return render(request, "authoring/workbench/workbench.html", context)


def _workbench_data(
    user: User, assignment: Assignment, shown: dict[str, Any], today: Today
) -> dict[str, Any]:
    """The initial data of static/js/authoring/workbench.js."""
    slug = assignment.project.slug
    return {
        "assignment": shown,
        "submit_on_enter": user.submit_on_enter,
        "topics": topic_suggestions(assignment),
        "lang": content_language(assignment.project),
        "closed": assignment.state in CLOSED,
        "today": {"finished": today.finished, "goal": today.goal},
        "decision": review_outcome(assignment),
        "files": [static(name) for name in loaded_on_need(SCRIPT)],
        "urls": {
            "queue": reverse("queue", args=[slug]),
            "workbench": reverse("workbench", args=[slug, 0]),
            "login": reverse("account_login"),
        },
    }


def round_words(assignment: Assignment, rounds: int) -> str:
    """The heading until static/js/authoring/dialogue.js, which says the same, has run."""
    if assignment.state in CLOSED:
        return ngettext("{n} round", "{n} rounds", rounds).format(n=rounds)
    return _("Round {n} of {needed}").format(n=rounds + 1, needed=assignment.project.authoring.min_rounds)


def review_outcome(assignment: Assignment) -> str:
    """passed, vetoed, or reading while experts read; empty as long as the author may take the dialogue back."""
    dialogue = assignment.dialogue
    if assignment.state != AssignmentState.SUBMITTED or not is_being_judged(dialogue):
        return ""
    return "reading" if dialogue.review_state == ReviewState.UNREVIEWED else dialogue.review_state


def assignment_in(user: User, slug: str, assignment_id: int) -> Assignment:
    assignment = assignment_for(user, assignment_id, Protocol.AUTHORING)
    if assignment.project.slug != slug:
        raise assignment_not_found()
    return assignment


def topic_suggestions(assignment: Assignment) -> list[dict[str, str]]:
    """Ideas for the opening, in the reader's language first, starting at another topic for each dialogue."""
    topics = list(Topic.objects.filter(project=assignment.project)[:TOPICS_SENT])
    language = (get_language() or "en")[:2]
    own = [topic for topic in topics if topic.language.startswith(language)]
    others = [topic for topic in topics if not topic.language.startswith(language)]
    return [
        {"language": topic.language, "title": topic.title, "example": topic.example}
        for topic in [*_rotate(own, assignment.pk), *_rotate(others, assignment.pk)]
    ]


def _rotate(topics: list[Topic], number: int) -> list[Topic]:
    # 5 is coprime to most lengths, so neighbouring dialogues do not start at neighbouring topics.
    start = number * 5 % len(topics) if topics else 0
    return topics[start:] + topics[:start]


@require_POST
@login_required
def resume(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    assignment_in(signed_in(request), slug, assignment_id)
    holding.resume(annotator=signed_in(request), assignment_id=assignment_id)
    return redirect("workbench", slug, assignment_id)


@require_POST
@login_required
def take_back(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    assignment_in(signed_in(request), slug, assignment_id)
    take_back_dialogue(annotator=signed_in(request), assignment_id=assignment_id)
    return redirect("workbench", slug, assignment_id)


urlpatterns = [
    path("p/<slug:slug>/a/<int:assignment_id>/", workbench, name="workbench"),
    path("p/<slug:slug>/a/<int:assignment_id>/resume/", resume, name="resume"),
    path("p/<slug:slug>/a/<int:assignment_id>/take-back/", take_back, name="take_back"),
]
