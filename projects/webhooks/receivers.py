"""One HTTP request to a receiver: limited in time and size, to a checked address, never redirected.

The name is resolved here, and the request goes to the very address that was checked: another answer of the name server
(DNS rebinding) a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from types import TracebackType
from typing import Final

import httpx

from projects.models import DeliveryProblem
from projects.webhooks.addresses import may_send

SECONDS: Final = 10.0  # for the whole of a request: name, connection, answer
BODY_SECONDS: Final = 1.0  # for what follows the status; it delays other deliveries to this receiver only
MAX_BODY: Final = 64 * 1024  # bytes of an answer that are read, and not kept
GONE: Final = 410
CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request. problem: empty if the receiver has the delivery. status: in HTTP, if it answered."""

    problem: str = ""
    detail: str = ""
    status: int | None = None
    milliseconds: int = 0


class ForbiddenAddress(httpx.TransportError):
    """The name leads to internal addresses only, or http:// to the internet."""


class Receiver:
    """Keeps its connection between requests. Use as a context manager, in one thread."""

    def __init__(self, url: str) -> None:
        self._url, self._runner = url, asyncio.Runner()
        self._client = httpx.AsyncClient(
            transport=CheckedTransport(),
            timeout=None,  # noqa: S113  # asyncio.timeout limits the whole request
            trust_env=False,
            follow_redirects=False,
        )

    def __enter__(self) -> Receiver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._client.aclose())
        finally:
            self._runner.close()

    def post(self, body: bytes, headers: dict[str, str]) -> Answer:
        """Never raises for anything that the receiver or the network does."""
        begun = time.monotonic()
        try:
            status = self._runner.run(self._limited(body, headers))
        except TimeoutError:
            answer = Answer(DeliveryProblem.TIMEOUT)
        except ForbiddenAddress as error:
            answer = Answer(DeliveryProblem.ADDRESS, str(error))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            answer = Answer(DeliveryProblem.UNREACHABLE, str(error) or type(error).__name__)
        else:
            answer = Answer(_problem_of(status), status=status)
        milliseconds = round(1000 * (time.monotonic() - begun))
        return Answer(answer.problem, answer.detail[:200], answer.status, milliseconds)

    async def _limited(self, body: bytes, headers: dict[str, str]) -> int:
        async with (
            asyncio.timeout(SECONDS),
            self._client.stream("POST", self._url, content=body, headers=headers) as response,
        ):
            with suppress(TimeoutError, httpx.HTTPError):  # the status is there, and counts
                async with asyncio.timeout(BODY_SECONDS):
                    await _drain(response)
            return response.status_code


class CheckedTransport(httpx.AsyncBaseTransport):
    """Sends a request to an address of its host that webhooks may go to. TLS still checks the name of the host."""

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=2, max_keepalive_connections=1)
        certificates = trusted_certificates(*(os.environ.get(name, "") for name in CERTIFICATES))
        self._inner = httpx.AsyncHTTPTransport(limits=limits, verify=certificates)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host, error = request.url.raw_host.decode("ascii"), httpx.ConnectError("no address")
        request.extensions = {**request.extensions, "sni_hostname": host}
        for address in await allowed_addresses(request.url):
            request.url = request.url.copy_with(host=address)
            try:
                return await self._inner.handle_async_request(request)
            except httpx.ConnectError as refused:
                error = refused
        raise error

    async def aclose(self) -> None:
        await self._inner.aclose()


@lru_cache(maxsize=2)
def trusted_certificates(_file: str, _folder: str) -> ssl.SSLContext:
    """As httpx reads them from these variables. Once: it takes 16 ms, and each turn of a webhook has a new client."""
    return httpx.create_ssl_context()


async def allowed_addresses(url: httpx.URL) -> list[str]:
    """Raises ForbiddenAddress if the name leads to none, OSError if it leads nowhere."""
    port = url.port or (443 if url.scheme == "https" else 80)
    found = await asyncio.get_running_loop().getaddrinfo(url.raw_host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    allowed = [address for address in addresses if may_send(ip_address(address), url.scheme)]
    if not allowed:
        raise ForbiddenAddress(", ".join(addresses))
    return allowed


async def _drain(response: httpx.Response) -> None:
    """Read what is left, so that the connection can be kept; a long answer ends with its connection."""
    received = 0
    async for chunk in response.aiter_raw():
        received += len(chunk)
        if received > MAX_BODY:
            break


def _problem_of(status: int) -> str:
    if 200 <= status < 300:
        return ""
    return DeliveryProblem.REDIRECT if 300 <= status < 400 else DeliveryProblem.ANSWER
