from typing import Any

from django.utils.translation import gettext as _
from rest_framework import permissions
from rest_framework.request import Request

from accounts.models import ApiToken, Scope, User
from common.refusals import Refusal


class ScopedAccess(permissions.IsAuthenticated):
    """Requires a signed-in person with their own password and, with a token, the scope of the request.

    Reading needs the scope `read`. Other methods need the `write_scope` of the view (default: manage).
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not super().has_permission(request, view):
            return False
        if isinstance(request.user, User) and request.user.temporary_password_until:
            raise Refusal(
                "one_time_password",
                _("You signed in with a one-time password."),
                _("Choose a password of your own first."),
                status=403,
            )
        needed = scope_for(request.method or "GET", view)
        # Without a token this is a browser session, and the person's roles decide.
        if isinstance(request.auth, ApiToken) and needed not in request.auth.scopes:
            raise Refusal(
                "scope_missing",
                _("This needs a token with the scope “%(scope)s”.") % {"scope": needed},
                _("Create a token that has it."),
                status=403,
                details={"scope": needed},
            )
        return True


def scope_for(method: str, view: Any) -> str:
    if method.upper() in permissions.SAFE_METHODS:
        return Scope.READ.value
    return str(getattr(view, "write_scope", Scope.MANAGE.value))
