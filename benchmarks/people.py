"""Annotators of a project, with the tokens and connections that they work with through HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from projects.models import Project


def create_annotators(project: Project, count: int) -> list[str]:
    from accounts.models import Scope, User
    from accounts.services import create_token
    from projects.models import Membership, Role

    tokens = []
    for number in range(count):
        person = User.objects.create(username=f"annotator-{number}")
        Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
        tokens.append(create_token(user=person, name="bench", scopes=[Scope.READ, Scope.ANNOTATE])[1])
    return tokens


@asynccontextmanager
async def open_clients(url: str, tokens: list[str]) -> AsyncIterator[list[httpx.AsyncClient]]:
    """A client with one connection for each token, as browsers have.

    With one shared client some requests wait for seconds before the server sees them, because its pool hands out
    connections in no fair order.
    """
    async with AsyncExitStack() as opened:
        clients = [
            httpx.AsyncClient(
                base_url=url,
                timeout=60,
                headers={"Authorization": f"Bearer {token}"},
                limits=httpx.Limits(max_connections=1),
                verify=False,  # no certificates are read: the server is on this machine
                trust_env=False,
            )
            for token in tokens
        ]
        yield [await opened.enter_async_context(client) for client in clients]
