from rest_framework.request import Request

from accounts.models import User


def person(request: Request) -> User:
    """Who asks. The permission class let nobody else through, so this only tells the type checker."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("an anonymous request reached a view")
    return user
