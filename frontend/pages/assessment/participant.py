"""Who takes part: the signed cookie of a participant, and refusals as pages without the workbench around them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from assessment.sessions.models.participants import Assignment
from assessment.sessions.selectors.assignments import assignment_in, find_participant
from common.refusals import NotFound, Refusal
from projects.models import Project, Protocol

COOKIE: Final = "lapidary_participant"
SALT: Final = "assessment.participant"
MAX_AGE: Final = 14 * 24 * 3600  # seconds

# Refusals of a form from a page that is not the participant's present one.
OUTDATED: Final = frozenset({"assignment_over", "not_chatting", "not_current", "not_rating", "not_rated"})

View = Callable[..., HttpResponse]
Cookie = tuple[UUID, int]


def set_cookie(response: HttpResponse, assignment: Assignment) -> None:
    """Remember the participant and their run. Only the pages below /join/<slug>/ get the cookie."""
    response.set_signed_cookie(
        COOKIE,
        f"{assignment.participant.token}.{assignment.run.number}",
        salt=SALT,
        max_age=MAX_AGE,
        path=reverse("join", args=[assignment.run.project.slug]),
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def read_cookie(request: HttpRequest) -> Cookie | None:
    """Token and run number of the browser's participant. None without a cookie that this server signed."""
    value = request.get_signed_cookie(COOKIE, default="", salt=SALT, max_age=MAX_AGE)
    token, _dot, number = (value or "").partition(".")
    try:
        return UUID(token), int(number)
    except ValueError:
        return None


def project_of(slug: str) -> Project:
    """The assessment project of a join link. Raises NotFound."""
    project = Project.objects.filter(slug=slug, protocol=Protocol.ASSESSMENT).first()
    if project is None:
        raise NotFound(
            _("There is no study at this address."), _("Use the complete link that you were sent.")
        )
    return project


def token_of(request: HttpRequest) -> UUID:
    """The token in the cookie. Raises NotFound."""
    cookie = read_cookie(request)
    if cookie is None:
        raise _unknown()
    return cookie[0]


def assignment_of(request: HttpRequest, slug: str) -> Assignment:
    """The assignment of the browser's participant. Raises NotFound."""
    cookie = read_cookie(request)
    participant = find_participant(project_of(slug), cookie[0]) if cookie else None
    if cookie is None or participant is None:
        raise _unknown()
    return assignment_in(participant, cookie[1])


def _unknown() -> NotFound:
    return NotFound(
        _("This browser does not know who you are yet."),
        _("Open the complete link that you were sent, in this browser."),
    )


def participant_page(view: View) -> View:
    """A page of participants: never cached, and a refusal is a plain page, or a message on the page they are on."""

    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, slug, **kwargs)
        except Refusal as refusal:
            if "application/json" in request.headers.get("Accept", ""):
                raise  # RefusalMiddleware answers with JSON
            if request.method == "POST" and refusal.status not in (403, 404):
                # The page that follows shows where the participant is: nobody needs to load it again.
                is_outdated = refusal.code in OUTDATED
                messages.error(request, str(refusal.message if is_outdated else refusal))
                return redirect("join", slug)
            context = {"refusal": refusal, "title": refusal.message}
            return render(request, "assessment/participant/refused.html", context, status=refusal.status)

    return never_cache(wrapped)
