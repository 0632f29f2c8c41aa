"""`POST /chat/completions` with retries, a deadline and a limited answer; every failure has a cause and a remedy."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from generation.protocol import BackendError, end_sentence

logger = logging.getLogger(__name__)

# Fields that can be left out if a server refuses them, in the order in which they are suspected.
DISPENSABLE = ("top_k", "seed", "n", "response_format")
# Suspected if the server refuses a request without naming a field.
LIKELY_REFUSED = ("n", "response_format")
MAX_PAUSE_SECONDS = 10.0  # seconds between two tries, whatever Retry-After says
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _RequestDenied(Exception):
    """HTTP 400 or 422: the server refuses the request as it is. error: the message for a person."""

    def __init__(self, error: BackendError) -> None:
        super().__init__(error)
        self.error = error


class _ServerBusy(Exception):
    """A failure that may pass. pause: seconds that the server asked to wait, 0 if it named none."""

    def __init__(self, error: BackendError, pause: float = 0.0) -> None:
        super().__init__(error)
        self.error = error
        self.pause = pause


@dataclass(frozen=True, slots=True)
class Completion:
    """texts: one per choice, None for a choice without text.

    tokens: of all choices together; prompt_tokens: of the request; 0 if unknown.
    """

    texts: tuple[str | None, ...]
    tokens: int
    model: str
    prompt_tokens: int = 0


class Completions:
    """One server. denied: fields that it refused and that are left out since. served: its name for the model."""

    def __init__(
        self, base_url: httpx.URL, key: str, key_name: str, timeout: float, retries: int, max_body: int
    ) -> None:
        address = str(base_url).rstrip("/")
        self._url, self._models_url = f"{address}/chat/completions", f"{address}/models"
        self._key, self._key_name = key, key_name
        self._timeout, self._retries, self._max_body = timeout, retries, max_body
        self._client: httpx.AsyncClient | None = None
        self.denied: frozenset[str] = frozenset()
        self.served = ""

    def leave_out(self, name: str) -> None:
        """Send a field no longer, because the server ignores it."""
        self.denied |= {name}

    async def probe(self, seconds: float) -> None:
        """Raises a retryable BackendError unless the server answers a small request, also with a 404."""
        try:
            async with asyncio.timeout(seconds):
                response = await self._open_client().get(self._models_url, headers=self._headers())
        except (TimeoutError, httpx.TransportError, httpx.DecodingError) as error:
            raise _unreachable(self._models_url, error) from error
        if response.status_code in RETRIED:
            cause = f"The model server is busy or failed (HTTP {response.status_code})."
            raise BackendError(cause, "Try again later.", retryable=True)

    async def create(self, body: Mapping[str, Any], deadline: float) -> Completion:
        """Send one request. deadline: on the clock of time.monotonic. Raises BackendError.

        Fields that the server refuses are left out. They are remembered only once a request without them succeeds,
        because a refusal may have another reason.
        """
        denied = self.denied
        while True:
            fields = _drop_denied(body, denied)
            try:
                completion = await self._create_with_retries(fields, deadline)
            except _RequestDenied as refusal:
                culprit = _refused_field(str(refusal.error), fields)
                if culprit is None:
                    raise refusal.error from refusal
                denied |= {culprit}
                continue
            if denied - self.denied:
                logger.warning("%s is used without: %s.", self._url, ", ".join(sorted(denied)))
                self.denied |= denied
            self.served = completion.model
            return completion

    async def _create_with_retries(self, body: dict[str, Any], deadline: float) -> Completion:
        for attempt in itertools.count():
            try:
                return self._parse(await self._post_within_timeout(body, deadline))
            except _ServerBusy as busy:
                # Jitter, so that many workers do not retry at the same moment.
                pause = max(busy.pause, 0.25 * 2**attempt * random.uniform(1, 2))
                if attempt >= self._retries or time.monotonic() + pause >= deadline:
                    raise busy.error from busy.__cause__
                await asyncio.sleep(min(pause, MAX_PAUSE_SECONDS))
        raise AssertionError("itertools.count ended")

    async def close(self) -> None:
        if self._client:
            await self._client.aclose()
            self._client = None

    async def _post_within_timeout(self, body: dict[str, Any], deadline: float) -> bytes:
        """One try. The time limit covers all of it: a server that sends one byte per second hangs as well."""
        seconds = max(0.01, min(self._timeout, deadline - time.monotonic()))
        try:
            async with asyncio.timeout(seconds):
                return await self._post(body)
        except TimeoutError as error:
            raise _ServerBusy(
                BackendError(
                    f"The model server did not answer within {seconds:.3g} seconds.",
                    "Try again; if it happens again, check whether the server is overloaded, or raise the timeout.",
                    retryable=True,
                )
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _ServerBusy(_unreachable(self._url, error)) from error

    async def _post(self, body: dict[str, Any]) -> bytes:
        async with self._open_client().stream(
            "POST", self._url, json=body, headers=self._headers()
        ) as response:
            received = bytearray()
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > self._max_body:
                    raise BackendError(
                        f"The model server's answer is larger than {self._max_body >> 10} KiB.",
                        "Check that the address is that of a model server.",
                    )
        self._check_status(response, bytes(received))
        return bytes(received)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        return headers | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=None)  # noqa: S113  # asyncio.timeout limits the whole try
        return self._client

    def _check_status(self, response: httpx.Response, received: bytes) -> None:
        status = response.status_code
        if status == 200:
            return
        excerpt = self._excerpt(received)
        if status in RETRIED:
            error = BackendError(
                f"The model server is busy or failed (HTTP {status}){excerpt}", "Try again later.", True
            )
            raise _ServerBusy(error, _retry_after(response))
        if status in {400, 422}:
            raise _RequestDenied(
                BackendError(
                    f"The model server refuses the request (HTTP {status}){excerpt}",
                    "Check its address, which usually ends with /v1, the model's name and the other options.",
                )
            )
        remedies = {
            401: f"Set the environment variable {self._key_name} of the worker to a valid key.",
            403: f"Set the environment variable {self._key_name} of the worker to a key with access to this model.",
            404: "Check the model's name, and the address, which usually ends with /v1.",
        }
        remedy = remedies.get(status, "Check that the address is that of a model server.")
        raise BackendError(f"The model server answered with HTTP {status}{excerpt}", remedy)

    def _excerpt(self, received: bytes) -> str:
        """The start of the server's answer on one line, without the key."""
        text = " ".join(received[:2000].decode("utf-8", "replace").split())
        text = text.replace(self._key, "***") if self._key else text
        return f": {text[:300]}" if text else "."

    def _parse(self, received: bytes) -> Completion:
        try:
            answer = json.loads(received)
            choices, usage = answer["choices"], answer.get("usage")
            texts = tuple(_choice_text(choice) for choice in choices)
            counts = usage if isinstance(usage, dict) else {}
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise BackendError(
                f"The model server's answer is not a chat completion{self._excerpt(received)}",
                "Check that the address is that of an OpenAI-compatible server.",
            ) from error
        tokens, prompt_tokens = (_count(counts.get(f"{part}_tokens")) for part in ("completion", "prompt"))
        return Completion(texts, tokens, str(answer.get("model") or ""), prompt_tokens)


def _unreachable(url: str, error: Exception) -> BackendError:
    return BackendError(
        f"The model server at {url} cannot be reached, or closed the connection{end_sentence(error)}",
        "Start it, or correct its address.",
        retryable=True,
    )


def _drop_denied(body: Mapping[str, Any], denied: frozenset[str]) -> dict[str, Any]:
    """The body without refused fields; max_tokens is renamed instead, as newer models of OpenAI expect."""
    fields = {name: value for name, value in body.items() if name not in denied}
    if "max_tokens" in denied:
        fields["max_completion_tokens"] = body["max_tokens"]
    return fields


def _refused_field(message: str, fields: Mapping[str, Any]) -> str | None:
    """The dispensable field that the server's refusal names, or the likeliest that was sent if it names none."""
    if "max_tokens" in fields and "max_completion_tokens" in message:
        return "max_tokens"
    mentioned = (field for field in DISPENSABLE if re.search(rf"(?<![\w.\\]){field}(?!\w)", message))
    suspect = next((field for field in mentioned if field in fields), None)
    return suspect or next((field for field in LIKELY_REFUSED if field in fields), None)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _choice_text(choice: Any) -> str | None:
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else None


def _retry_after(response: httpx.Response) -> float:
    """Seconds from the header Retry-After; 0 if it is missing or a date."""
    header = response.headers.get("retry-after", "")
    return min(float(header), MAX_PAUSE_SECONDS) if header.isascii() and header.isdigit() else 0.0
