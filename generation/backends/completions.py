"""`POST /chat/completions` with retries, a deadline and a bounded answer; every failure has a cause and a remedy."""

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

from generation.protocol import BackendError

logger = logging.getLogger(__name__)

# What a server may refuse and we can do without, in the order in which the culprit is looked for.
DISPENSABLE = ("top_k", "seed", "n")
LONGEST_PAUSE = 10.0  # seconds between two tries, whatever the server asks for
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _Denied(Exception):
    """HTTP 400 or 422: the server does not take the request as it is; `error` says it to a person."""

    def __init__(self, error: BackendError) -> None:
        super().__init__(error)
        self.error = error


class _Busy(Exception):
    """Worth another try, after `pause` seconds where the server named some."""

    def __init__(self, error: BackendError, pause: float = 0.0) -> None:
        super().__init__(error)
        self.error = error
        self.pause = pause


@dataclass(frozen=True, slots=True)
class Completion:
    """texts: one per choice, None where a choice holds no text; tokens: of all choices together, 0 if not said."""

    texts: tuple[str | None, ...]
    tokens: int
    model: str


class Completions:
    """One server. denied: the fields that it refused and that are left out since; served: its name for the model."""

    def __init__(
        self, base_url: httpx.URL, key: str, key_name: str, timeout: float, retries: int, max_body: int
    ) -> None:
        self._url = f"{str(base_url).rstrip('/')}/chat/completions"
        self._key, self._key_name = key, key_name
        self._timeout, self._retries, self._max_body = timeout, retries, max_body
        self._client: httpx.AsyncClient | None = None
        self.denied: frozenset[str] = frozenset()
        self.served = ""

    async def create(self, body: Mapping[str, Any], deadline: float) -> Completion:
        """deadline: on the clock of time.monotonic. Raises BackendError.

        Leaves out what the server refuses, and remembers that once it worked: a refusal may have another reason.
        """
        denied = self.denied
        while True:
            fields = _without(body, denied)
            try:
                done = await self._persistently(fields, deadline)
            except _Denied as refusal:
                culprit = _culprit(str(refusal.error), fields)
                if culprit is None:
                    raise refusal.error from refusal
                denied |= {culprit}
                continue
            if denied - self.denied:
                logger.warning("%s does without: %s.", self._url, ", ".join(sorted(denied)))
                self.denied |= denied
            self.served = done.model
            return done

    async def _persistently(self, body: dict[str, Any], deadline: float) -> Completion:
        for attempt in itertools.count():
            try:
                return self._parsed(await self._limited(body, deadline))
            except _Busy as busy:
                # Jitter, so that many workers do not come back at the same moment.
                pause = max(busy.pause, 0.25 * 2**attempt * random.uniform(1, 2))
                if attempt >= self._retries or time.monotonic() + pause >= deadline:
                    raise busy.error from busy.__cause__
                await asyncio.sleep(min(pause, LONGEST_PAUSE))
        raise AssertionError("the loop above has no end")

    async def close(self) -> None:
        if self._client:
            await self._client.aclose()
            self._client = None

    async def _limited(self, body: dict[str, Any], deadline: float) -> bytes:
        """One try. The limit is on the whole of it: a server that sends a byte a second hangs as well."""
        seconds = max(0.01, min(self._timeout, deadline - time.monotonic()))
        try:
            async with asyncio.timeout(seconds):
                return await self._once(body)
        except TimeoutError as error:
            raise _Busy(
                BackendError(
                    f"The model server did not answer within {seconds:.3g} seconds.",
                    "Try again; if it stays so, look whether the server is overloaded, or raise the timeout.",
                    retryable=True,
                )
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Busy(
                BackendError(
                    f"The model server at {self._url} cannot be reached, or broke off: "
                    f"{str(error) or type(error).__name__}",
                    "Start it, or correct base_url.",
                    retryable=True,
                )
            ) from error

    async def _once(self, body: dict[str, Any]) -> bytes:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        async with self._open().stream("POST", self._url, json=body, headers=headers) as response:
            received = bytearray()
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > self._max_body:
                    raise BackendError(
                        f"The model server's answer is larger than {self._max_body >> 10} KiB.",
                        "Look whether base_url points to a model server.",
                    )
        self._check_status(response, bytes(received))
        return bytes(received)

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=None)  # noqa: S113  # ours covers the whole of a try
        return self._client

    def _check_status(self, response: httpx.Response, received: bytes) -> None:
        status = response.status_code
        if status == 200:
            return
        said = self._excerpt(received)
        if status in RETRIED:
            error = BackendError(
                f"The model server is busy or failed (HTTP {status}){said}", "Try again later.", True
            )
            raise _Busy(error, _retry_after(response))
        if status in {400, 422}:
            raise _Denied(
                BackendError(
                    f"The model server refuses the request (HTTP {status}){said}", "Change the options."
                )
            )
        remedies = {
            401: f"Set the environment variable {self._key_name} of the worker to a valid key.",
            403: f"Set the environment variable {self._key_name} of the worker to a key with access to this model.",
            404: 'Check the model\'s name, and that base_url ends in "/v1" (or what the server uses instead).',
        }
        remedy = remedies.get(status, "Look whether base_url points to a model server.")
        raise BackendError(f"The model server answered with HTTP {status}{said}", remedy)

    def _excerpt(self, received: bytes) -> str:
        """What the server said, on one short line, and never the key."""
        text = " ".join(received[:2000].decode("utf-8", "replace").split())
        text = text.replace(self._key, "***") if self._key else text
        return f": {text[:300]}" if text else "."

    def _parsed(self, received: bytes) -> Completion:
        try:
            answer = json.loads(received)
            choices, usage = answer["choices"], answer.get("usage")
            texts = tuple(_text(choice) for choice in choices)
            tokens = usage.get("completion_tokens") if isinstance(usage, dict) else 0
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise BackendError(
                f"The model server's answer is no chat completion{self._excerpt(received)}",
                "Look whether base_url points to an OpenAI-compatible server.",
            ) from error
        return Completion(texts, tokens if isinstance(tokens, int) else 0, str(answer.get("model") or ""))


def _without(body: Mapping[str, Any], denied: frozenset[str]) -> dict[str, Any]:
    """Newer models of OpenAI want another name for max_tokens, so that one is renamed."""
    kept = {name: value for name, value in body.items() if name not in denied}
    if "max_tokens" in denied:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


def _culprit(said: str, fields: Mapping[str, Any]) -> str | None:
    """Which dispensable field the server's refusal names; `n` is suspected where it names none."""
    if "max_tokens" in fields and "max_completion_tokens" in said:
        return "max_tokens"
    named = (field for field in DISPENSABLE if re.search(rf"(?<![\w.\\]){field}(?!\w)", said))
    suspect = next((field for field in named if field in fields), None)
    return suspect or ("n" if "n" in fields else None)


def _text(choice: Any) -> str | None:
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else None


def _retry_after(response: httpx.Response) -> float:
    """Seconds; servers may also send a date, which we do not follow."""
    said = response.headers.get("retry-after", "")
    return min(float(said), LONGEST_PAUSE) if said.isascii() and said.isdigit() else 0.0
