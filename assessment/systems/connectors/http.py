"""The connector `http`: a conversational service that remembers its conversations.

    POST {address}/init  {"conversation", "persona"}                  -> {"session_id"}
    POST {address}/next  {"session_id", "text", "turn", "seed"}       -> {"text"}
    POST {address}/end   {"session_id"}                               -> anything

`turn` counts the participant's inputs from 1. A reply that was lost is asked for again with the same turn, so that a
service can tell a repeat from a new input.
"""

import asyncio
import json
import os
import time
from functools import cache
from typing import Any, Final

import httpx

from assessment.systems.connectors.event_loop import run_in_loop
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from generation.backends.replies import replace_surrogates
from generation.protocol import BackendError, end_sentence

MAX_BODY: Final = 1 << 20  # bytes
MAX_HANDLE: Final = 500  # characters
FORGOTTEN: Final = frozenset({404, 410})
BUSY: Final = frozenset({408, 409, 425, 429})


class HTTPConnector:
    """address: of the service, without "/init". api_key_env: the environment variable with its bearer token, if any."""

    def __init__(self, address: str, api_key_env: str = "") -> None:
        self._address, self._key_name = address.rstrip("/"), api_key_env
        self._key = os.environ.get(api_key_env, "") if api_key_env else ""

    def open(self, conversation: Conversation, deadline: float) -> str:
        sent = {"conversation": str(conversation.dialogue_id), "persona": list(conversation.persona)}
        handle = self._post("init", sent, deadline).get("session_id")
        if isinstance(handle, int) and not isinstance(handle, bool):
            handle = str(handle)
        if not isinstance(handle, str) or not 0 < len(handle) <= MAX_HANDLE:
            raise _odd_answer("init", '{"session_id": "…"}')
        return handle

    def reply(self, question: Question) -> SystemReply:
        inputs = sum(1 for message in question.context if message.speaker == "A")
        sent = {
            "session_id": question.handle,
            "text": replace_surrogates(question.context[-1].text),
            "turn": inputs,
            "seed": question.seed,
        }
        text = self._post("next", sent, question.deadline).get("text")
        if not isinstance(text, str):
            raise _odd_answer("next", '{"text": "…"}')
        return SystemReply(text, {"session_id": question.handle})

    def close(self, handle: str, deadline: float) -> None:
        if handle:
            run_in_loop(self._limited("end", {"session_id": handle}, deadline))

    def _post(self, action: str, sent: dict[str, Any], deadline: float) -> dict[str, Any]:
        received = run_in_loop(self._limited(action, sent, deadline))
        try:
            answer = json.loads(received)
        except (ValueError, RecursionError) as error:
            raise _odd_answer(action, "JSON") from error
        if not isinstance(answer, dict):
            raise _odd_answer(action, "a JSON object")
        return answer

    async def _limited(self, action: str, sent: dict[str, Any], deadline: float) -> bytes:
        seconds = max(0.01, deadline - time.monotonic())
        try:
            async with asyncio.timeout(seconds):
                return await self._once(action, sent)
        except TimeoutError as error:
            raise BackendError(
                f"The service did not answer /{action} within {seconds:.3g} seconds.",
                "Check whether it is overloaded, or raise the time limit of a reply.",
                retryable=True,
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise BackendError(
                f"The service at {self._address} cannot be reached, or broke off{end_sentence(error)}",
                "Start it, or correct its address.",
                retryable=True,
            ) from error

    async def _once(self, action: str, sent: dict[str, Any]) -> bytes:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        url, received = f"{self._address}/{action}", bytearray()
        async with _client().stream("POST", url, json=sent, headers=headers) as response:
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > MAX_BODY:
                    raise BackendError(
                        f"The answer of the service is larger than {MAX_BODY >> 10} KiB.",
                        "Check that the address is that of a conversational service.",
                    )
        if not response.is_success:
            raise self._status_error(action, response.status_code)
        return bytes(received)

    def _status_error(self, action: str, status: int) -> BackendError:
        cause = f"The service answered /{action} with HTTP {status}."
        if status in {401, 403}:
            name = self._key_name or "LAPIDARY_KEY_…"
            return BackendError(cause, f"Set the environment variable {name} of the worker to a valid key.")
        if action == "next" and status in FORGOTTEN:
            return BackendError(f"The service forgot the conversation (HTTP {status}).", "Check its log.")
        passing = status in BUSY or status >= 500
        return BackendError(cause, "Check the log of the service.", retryable=passing)


@cache
def _client() -> httpx.AsyncClient:
    """One for the process: its connections are kept. The deadline covers the whole of a call."""
    return httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None))  # noqa: S113


def _odd_answer(action: str, expected: str) -> BackendError:
    return BackendError(
        f"The answer of the service to /{action} is not {expected}.",
        "Check that the address is that of a conversational service.",
        retryable=True,
    )
