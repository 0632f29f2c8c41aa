"""Requests over connections that may break, to a server that may be busy."""

import asyncio
from http import HTTPStatus
from typing import Any, Final

import httpx

SENDS: Final = 20  # of one request


async def post_with_retry(
    client: httpx.AsyncClient, address: str, *, json: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    """Post, and do it again while the server says that it is too busy (503), as its answer asks for.

    Also once if the connection broke: the server may have closed it when it became idle.
    """
    for _send in range(SENDS):
        try:
            answer = await client.post(address, json=json, headers=headers)
        except httpx.TransportError:
            answer = await client.post(address, json=json, headers=headers)
        if answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
            break
        await asyncio.sleep(int(answer.headers["Retry-After"]))
    return answer
