"""Programs that use the API in somebody's name."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from accounts.models import Scope, User
from accounts.services import create_token
from projects.models import Project, Role
from tests.conftest import Joins

Program = Callable[..., APIClient]


@pytest.fixture
def program(db: None) -> Program:
    """program(ann, Scope.READ) sends a token of ann's with that scope; without scopes, with all of them."""

    def make(user: User, *scopes: Scope) -> APIClient:
        _token, plain = create_token(user=user, name="test", scopes=scopes or list(Scope))
        client = APIClient(raise_request_exception=True)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}")
        return client

    return make


@pytest.fixture
def olga(joins: Joins, project: Project) -> User:
    """Has every role."""
    return joins("olga", project, *Role)
