from typing import Any

from rest_framework import permissions
from rest_framework.request import Request

from accounts.models import ApiToken, Scope


class ScopedAccess(permissions.IsAuthenticated):
    """Signed in, and with a token whose scopes cover the request.

    A view names what its unsafe methods need with `write_scope` (default: manage); reading needs `read`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not super().has_permission(request, view):
            return False
        if not isinstance(request.auth, ApiToken):
            return True  # a browser session: the person's own roles decide
        reading = request.method in permissions.SAFE_METHODS
        needed = Scope.READ if reading else getattr(view, "write_scope", Scope.MANAGE)
        self.message = f"This needs a token with the scope “{needed}”."
        return needed in request.auth.scopes
