"""`POST /chat/completions` to one of several servers with the same model, and to the next one if it fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from generation.backends.addresses import Address, Addresses
from generation.backends.completions import Completion, Completions
from generation.protocol import BackendError

PROBE_SECONDS = 2.0  # a server that failed must answer within this time before it gets a call again
ROUND_PAUSE = 0.5  # seconds before all addresses are tried once more


class CompletionServers:
    """Servers that are used as one. A connection that fails, a timeout, 429 and 5xx lead to the next address.

    retries: how often all addresses are tried again. Other errors, such as a wrong key, are raised at once: they are
    mistakes that the next server would only hide.
    """

    def __init__(self, servers: Mapping[str, Completions], retries: int) -> None:
        self._servers = servers
        self._addresses = Addresses(servers)
        self._retries = retries
        self.served = ""

    @property
    def denied(self) -> frozenset[str]:
        """The fields that any of them refused: the servers are meant to be equal."""
        return frozenset().union(*(server.denied for server in self._servers.values()))

    def leave_out(self, name: str) -> None:
        for server in self._servers.values():
            server.leave_out(name)

    async def create(self, body: Mapping[str, Any], deadline: float, conversation: str = "") -> Completion:
        """Send one request. deadline: on the clock of time.monotonic. Raises the first error if all addresses fail."""
        if len(self._servers) == 1:
            return await self._create_alone(body, deadline)
        errors: list[BackendError] = []
        for attempt in range(self._retries + 1):
            if attempt:
                if time.monotonic() + ROUND_PAUSE * attempt >= deadline:
                    break
                await asyncio.sleep(ROUND_PAUSE * attempt)
            for address in self._addresses.in_order(conversation):
                if errors and time.monotonic() >= deadline:
                    break
                try:
                    return await self._create_at(address, body, deadline)
                except BackendError as error:
                    if not error.retryable:
                        raise
                    errors.append(error)
        raise errors[0]

    async def _create_alone(self, body: Mapping[str, Any], deadline: float) -> Completion:
        (server,) = self._servers.values()
        completion = await server.create(body, deadline)
        self.served = completion.model
        return completion

    async def _create_at(self, address: Address, body: Mapping[str, Any], deadline: float) -> Completion:
        server = self._servers[address.url]
        address.open_calls += 1
        try:
            if address.failures:
                await server.probe(PROBE_SECONDS)
            completion = await server.create(body, deadline)
        except BackendError as error:
            if error.retryable and time.monotonic() < deadline:  # else there was no time left for an answer
                self._addresses.note_failure(address)
            raise
        finally:
            address.open_calls -= 1
        self._addresses.note_success(address)
        self.served = completion.model
        return completion

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()


def check_addresses(base_url: str | Sequence[str]) -> list[str]:
    """The addresses of an option. Raises ValueError for none, for one that is not text, and for one named twice."""
    urls = [base_url] if isinstance(base_url, str) else list(base_url)
    named = {url.rstrip("/") for url in urls if isinstance(url, str)}
    if not urls or len(named) < len(urls):
        raise ValueError("base_url must be an address or a list of different addresses.")
    return [url.rstrip("/") for url in urls]
