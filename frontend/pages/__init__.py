"""The pages: thin views that call services and selectors and render one template each."""

from django.http import HttpRequest

from accounts.models import User


def signed_in(request: HttpRequest) -> User:
    """The person behind a request that @login_required let through, with its type."""
    assert isinstance(request.user, User)  # noqa: S101
    return request.user
