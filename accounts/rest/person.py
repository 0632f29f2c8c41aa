from rest_framework.request import Request

from accounts.models import User


def person(request: Request) -> User:
    """The person who sends the request. The permission class refuses everybody else; this informs the type checker."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("an anonymous request reached a view")
    return user
