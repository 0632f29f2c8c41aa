"""Requests over connections that may break."""

from typing import Any

import httpx


async def post_with_retry(
    client: httpx.AsyncClient, address: str, *, json: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    """Post, and retry once if the connection broke: the server may have closed it when it became idle."""
    try:
        return await client.post(address, json=json, headers=headers)
    except httpx.TransportError:
        return await client.post(address, json=json, headers=headers)
