from typing import Any

from django.utils.translation import gettext as _
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from accounts.models import ApiToken, User
from accounts.services import use_token


class ApiTokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer <token>`; `request.auth` is then the ApiToken."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        header = authentication.get_authorization_header(request).split()
        if not header or header[0].lower() != self.keyword.lower().encode():
            return None
        token = use_token(plain=header[1].decode(errors="replace")) if len(header) == 2 else None
        if token is None:
            raise exceptions.AuthenticationFailed(
                _("This token is unknown, expired or revoked."), code="bad_token"
            )
        return token.user, token

    def authenticate_header(self, request: Request) -> Any:
        return self.keyword


class OtherPerson(exceptions.AuthenticationFailed):
    def __init__(self, signed_in: User) -> None:
        name = signed_in.shown_name
        detail = _("This page was opened by somebody else; %(name)s is signed in now.") % {"name": name}
        super().__init__(detail, code="other_person")
        self.facts = {"name": name}


class PageAuthentication(authentication.SessionAuthentication):
    """The session of a page. `X-Lapidary-User` is the id of the person for whom the page was rendered: their work must
    not be stored for somebody who has since signed in in another tab."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        authenticated = super().authenticate(request)
        page_user = request.headers.get("X-Lapidary-User", "")
        if authenticated and page_user and page_user != str(authenticated[0].pk):
            raise OtherPerson(authenticated[0])
        return authenticated
