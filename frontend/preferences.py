"""The theme and language of a request."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation

from accounts.models import Theme, User

THEME_COOKIE = "lapidary_theme"


def theme_of(request: HttpRequest) -> str:
    """The signed-in person's choice, or that in the cookie of a guest."""
    user = getattr(request, "user", None)
    if isinstance(user, User):
        return user.theme
    cookie = request.COOKIES.get(THEME_COOKIE, "")
    return cookie if cookie in Theme.values else Theme.AUTO.value


def activate_language(request: HttpRequest, language: str) -> None:
    """Answer in this language; with "" the language stays as it is."""
    if language:
        translation.activate(language)
        request.LANGUAGE_CODE = translation.get_language() or settings.LANGUAGE_CODE
