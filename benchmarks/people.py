"""Annotators of a project, with the tokens that they work with through HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projects.models import Project


def tokens_of_annotators(project: Project, count: int) -> list[str]:
    from accounts.models import Scope, User
    from accounts.services import create_token
    from projects.models import Membership, Role

    tokens = []
    for number in range(count):
        person = User.objects.create(username=f"annotator-{number}")
        Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
        tokens.append(create_token(user=person, name="bench", scopes=[Scope.READ, Scope.ANNOTATE])[1])
    return tokens
