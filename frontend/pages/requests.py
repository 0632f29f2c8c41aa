"""What a view reads from a request: the signed-in person and ids made by the browser."""

from uuid import UUID, uuid4

from django.http import HttpRequest

from accounts.models import User


def signed_in(request: HttpRequest) -> User:
    """The person behind a request that @login_required let through, typed."""
    assert isinstance(request.user, User)  # noqa: S101
    return request.user


def posted_uuid(request: HttpRequest, name: str) -> UUID:
    """The UUID in a form field; a new one if the field is missing or malformed.

    Sending the same form again repeats the id, so the service does the work once.
    """
    try:
        return UUID(request.POST.get(name, ""))
    except ValueError:
        return uuid4()
