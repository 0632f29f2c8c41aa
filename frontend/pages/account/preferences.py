"""The language and theme switches in the header, for guests too: a guest's choice is kept in a cookie."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import Theme, User
from accounts.services import set_preferences
from frontend.preferences import THEME_COOKIE

YEAR = 60 * 60 * 24 * 365  # seconds


@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return HttpResponseBadRequest(_("There is no such language."))
    if isinstance(request.user, User):
        set_preferences(user=request.user, language=language)
    response = redirect(_next_url(request))
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME, language, max_age=YEAR, samesite="Lax", secure=settings.HTTPS
    )
    return response


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    theme = request.POST.get("theme", "")
    if theme not in Theme.values:
        return HttpResponseBadRequest(_("There is no such theme."))
    if isinstance(request.user, User):
        set_preferences(user=request.user, theme=theme)
    # theme.js has already changed the page, so htmx needs no content.
    response = HttpResponse(status=204) if "HX-Request" in request.headers else redirect(_next_url(request))
    response.set_cookie(THEME_COOKIE, theme, max_age=YEAR, samesite="Lax", secure=settings.HTTPS)
    return response


def _next_url(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else "/"


urlpatterns = [
    path("account/language/", set_language, name="set_language"),
    path("account/theme/", set_theme, name="set_theme"),
]
