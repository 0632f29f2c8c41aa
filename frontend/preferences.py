"""The theme of a request: the signed-in person's choice, or the cookie of a guest."""

from django.http import HttpRequest

from accounts.models import Theme, User

THEME_COOKIE = "lapidary_theme"


def theme_of(request: HttpRequest) -> str:
    user = getattr(request, "user", None)
    if isinstance(user, User):
        return user.theme
    cookie = request.COOKIES.get(THEME_COOKIE, "")
    return cookie if cookie in Theme.values else Theme.AUTO.value
