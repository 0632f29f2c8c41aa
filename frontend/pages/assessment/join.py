"""The pages of participants: consent, instructions, conversations with their statements, feedback, the code."""

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from assessment.sessions.models.conversations import Opinion, TopicChange
from assessment.sessions.models.participants import Assignment
from assessment.sessions.selectors.assignments import (
    Position,
    Step,
    completion_code,
    current_position,
    entry_step,
    return_address,
)
from assessment.sessions.selectors.turns import messages_of
from assessment.sessions.services import chat as chat_services
from assessment.sessions.services import participants, ratings
from assessment.sessions.services.links import RUN, SIGNATURE, parameter_names
from assessment.setup.instructions import fill_instructions
from assessment.setup.models import AssessmentSettings
from assessment.setup.wording import statement_text
from common.refusals import Invalid
from frontend.pages.assessment.participant import assignment_of, participant_page, project_of, set_cookie
from frontend.script_modules import preloaded
from frontend.ui.markdown import to_html

CHAT_SCRIPT: Final = "js/assessment/chat.js"
RATINGS_SCRIPT: Final = "js/assessment/ratings.js"
STATEMENT: Final = "statement_"  # begins the name of a statement's field


@require_safe
@participant_page
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Enter by a join link, or go on where the participant is."""
    project = project_of(slug)
    names = {*parameter_names(project.assessment).values(), RUN, SIGNATURE}
    if names & set(request.GET):
        entered = participants.enter(project=project, query=request.GET.dict(), language=_language())
        response = redirect("join", slug)
        set_cookie(response, entered)
        return response
    return _render_step(request, assignment_of(request, slug))


def _render_step(request: HttpRequest, assignment: Assignment, **changed: str) -> HttpResponse:
    """The page where the participant is. changed: values of the template instead of the stored ones."""
    position = current_position(assignment)
    settings = assignment.run.project.assessment
    template, context = _step_context(position, assignment, settings)
    context = {**_frame(assignment, position), **context, **changed}
    return render(request, f"assessment/participant/{template}.html", context)


def _step_context(
    position: Position, assignment: Assignment, settings: AssessmentSettings
) -> tuple[str, dict[str, Any]]:
    if position.step == Step.TOPIC:
        return "topic", _topic_context(position)
    if position.step == Step.CHAT:
        return "chat", _chat_context(position, settings)
    if position.step == Step.RATING:
        return "rating", _rating_context(settings)
    if position.step == Step.FEEDBACK:
        return "feedback", {"title": _("Your feedback")}
    if position.step == Step.CONSENT:
        return "consent", {"consent": to_html(_consent_text(settings)), "title": _("Before you begin")}
    return "outcome", _outcome_context(position.step, assignment, settings)


def _frame(assignment: Assignment, position: Position) -> dict[str, Any]:
    return {
        "project": assignment.run.project,
        "assignment": assignment,
        "position": position,
        "session": position.session,
        "may_leave": position.step in (Step.TOPIC, Step.CHAT, Step.RATING, Step.FEEDBACK),
    }


def _topic_context(position: Position) -> dict[str, Any]:
    assert position.session is not None  # noqa: S101
    return {
        "title": _("Topic"),
        "topic": position.session.topic,
        "opinions": Opinion.choices,
        "opinion": position.session.opinion,
    }


def _chat_context(position: Position, settings: AssessmentSettings) -> dict[str, Any]:
    assert position.session is not None  # noqa: S101
    shown, waiting = messages_of(position.session)
    return {
        "title": _("Chat"),
        "messages_shown": shown,
        "waiting": waiting,
        "needed": settings.inputs,
        "min_words": settings.min_words,
        "longest": chat_services.MAX_INPUT,
        "opinions": Opinion.choices,
        "script": CHAT_SCRIPT,
        "modules": preloaded(CHAT_SCRIPT),
    }


def _rating_context(settings: AssessmentSettings) -> dict[str, Any]:
    texts = [
        (f"{STATEMENT}{statement.name}", statement_text(statement, settings, _language()))
        for statement in settings.statement_list
    ]
    return {
        "title": _("What do you think of this conversation?"),
        "statements": texts,
        "opinions": Opinion.choices,
        "topic_changes": TopicChange.choices,
        "script": RATINGS_SCRIPT,
        "modules": preloaded(RATINGS_SCRIPT),
    }


def _outcome_context(step: Step, assignment: Assignment, settings: AssessmentSettings) -> dict[str, Any]:
    code = completion_code(assignment, settings)
    return {
        "title": OUTCOME_TITLES[step](),
        "step": step.value,
        "code": code,
        "address": return_address(settings, code) if code else "",
        "can_resume": step == Step.TIMED_OUT and entry_step(assignment.run) == Step.CONSENT,
    }


OUTCOME_TITLES: Final = {
    Step.COMPLETED: lambda: _("Thank you, you have finished."),
    Step.SYSTEM_FAILURE: lambda: _("The chatbots stopped working"),
    Step.TIMED_OUT: lambda: _("Your time ran out"),
    Step.DECLINED: lambda: _("You chose not to take part"),
    Step.RETURNED: lambda: _("You have left the study"),
    Step.FULL: lambda: _("All places are taken"),
    Step.CLOSED: lambda: _("The study is not open"),
}


def _consent_text(settings: AssessmentSettings) -> str:
    texts = (settings.consent_zh, settings.consent_en)
    first, second = texts if _language().startswith("zh") else reversed(texts)
    return first or second


def _language() -> str:
    return get_language() or "en"


@require_POST
@participant_page
def consent(request: HttpRequest, slug: str) -> HttpResponse:
    participants.consent(assignment=assignment_of(request, slug), language=_language())
    return redirect("join_instructions", slug)


@require_POST
@participant_page
def decline(request: HttpRequest, slug: str) -> HttpResponse:
    participants.decline(assignment=assignment_of(request, slug))
    return redirect("join", slug)


@require_safe
@participant_page
def instructions(request: HttpRequest, slug: str) -> HttpResponse:
    """The guidelines; also reachable during the conversations."""
    assignment = assignment_of(request, slug)
    position = current_position(assignment)
    context = {
        **_frame(assignment, position),
        "title": _("Instructions"),
        "guidelines": to_html(_instructions_text(assignment, position)),
        "has_begun": position.place > 1 or (position.session is not None and bool(position.session.topic)),
    }
    return render(request, "assessment/participant/instructions.html", context)


def _instructions_text(assignment: Assignment, position: Position) -> str:
    """In the participant's language if the project has it. Numbers are of this assignment, or else of the settings."""
    project = assignment.run.project
    texts = [("zh", project.guidelines_zh), ("en", project.guidelines_en)]
    ordered = texts if _language().startswith("zh") else texts[::-1]
    language, text = next((one for one in ordered if one[1]), ordered[0])
    return fill_instructions(
        text,
        project.assessment,
        conversations=position.places or project.assessment.ordinary_systems + 1,
        topic_mode=assignment.run.topic_mode,
        language=language,
    )


@require_POST
@participant_page
def resume(request: HttpRequest, slug: str) -> HttpResponse:
    participants.resume(assignment=assignment_of(request, slug))
    return redirect("join", slug)


@require_POST
@participant_page
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    participants.leave(assignment=assignment_of(request, slug))
    return redirect("join", slug)


@require_POST
@participant_page
def start(request: HttpRequest, slug: str) -> HttpResponse:
    assignment = assignment_of(request, slug)
    session_id = _session_id(request)
    topic, opinion = request.POST.get("topic", ""), request.POST.get("opinion", "")
    try:
        chat_services.start_session(
            participant=assignment.participant, session_id=session_id, topic=topic, opinion=opinion
        )
    except Invalid as refusal:
        if current_position(assignment).step != Step.TOPIC:
            raise
        messages.error(request, str(refusal))
        return _render_step(request, assignment, topic=topic, opinion=opinion)
    return redirect("join", slug)


@require_POST
@participant_page
def finish(request: HttpRequest, slug: str) -> HttpResponse:
    participant = assignment_of(request, slug).participant
    chat_services.finish_chat(participant=participant, session_id=_session_id(request))
    return redirect("join", slug)


@require_POST
@participant_page
def back(request: HttpRequest, slug: str) -> HttpResponse:
    participant = assignment_of(request, slug).participant
    chat_services.return_to_chat(participant=participant, session_id=_session_id(request))
    return redirect("join", slug)


@require_POST
@participant_page
def rate(request: HttpRequest, slug: str) -> HttpResponse:
    sent = {name.removeprefix(STATEMENT): value for name, value in request.POST.items() if STATEMENT in name}
    ratings.submit_ratings(
        participant=assignment_of(request, slug).participant,
        session_id=_session_id(request),
        values={name: _number(str(value)) for name, value in sent.items()},
        bot_opinion=request.POST.get("bot_opinion", ""),
        topic_change=request.POST.get("topic_change", ""),
    )
    return redirect("join", slug)


@require_POST
@participant_page
def feedback(request: HttpRequest, slug: str) -> HttpResponse:
    ratings.submit_feedback(
        assignment=assignment_of(request, slug), feedback=request.POST.get("feedback", "")
    )
    messages.success(request, _("Your answers are stored."))
    return redirect("join", slug)


def _session_id(request: HttpRequest) -> int:
    text = request.POST.get("session", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Invalid(_("There is no such conversation."), _("Reload the page."), field="session")
    return int(text)


def _number(text: str) -> float | None:
    """The value of a slider; None if it was never moved."""
    try:
        return float(text) if len(text) < 20 else None
    except ValueError:
        return None


urlpatterns = [
    path("join/<slug:slug>/", join, name="join"),
    path("join/<slug:slug>/consent/", consent, name="join_consent"),
    path("join/<slug:slug>/decline/", decline, name="join_decline"),
    path("join/<slug:slug>/instructions/", instructions, name="join_instructions"),
    path("join/<slug:slug>/resume/", resume, name="join_resume"),
    path("join/<slug:slug>/leave/", leave, name="join_leave"),
    path("join/<slug:slug>/start/", start, name="join_start"),
    path("join/<slug:slug>/finish/", finish, name="join_finish"),
    path("join/<slug:slug>/back/", back, name="join_back"),
    path("join/<slug:slug>/ratings/", rate, name="join_ratings"),
    path("join/<slug:slug>/feedback/", feedback, name="join_feedback"),
]
