"""The backend `openai`: replies from a server with `/chat/completions` (vLLM, SGLang, transformers serve, OpenAI)."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import httpx

from generation.backends.completions import Completions
from generation.backends.failover import CompletionServers, check_addresses
from generation.backends.replies import (
    DistinctReplies,
    add_persona,
    chat_messages,
    child_seed,
    clean_reply,
    missing_opening_error,
    without_blanks,
)
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet

T = TypeVar("T")


class OpenAIBackend:
    """Requests all replies of a set at once (`n`); one by one from a server that refuses or ignores `n`.

    base_url: with "/v1"; a list of them for several servers with the same model, of which each call goes to one that
    answers (`failover`). api_key_env: name of the environment variable that holds the key; if it is not set, no key is
    sent. timeout: seconds for one answer. total_timeout: seconds for one call of `generate` with all its retries,
    (retries + 2) timeouts by default. extra_body: more fields for the server. Servers offer no n-gram blocking, so
    no_repeat_ngram_size is ignored. Replies from one answer share its seed and its mean token count.
    """

    def __init__(
        self,
        base_url: str | Sequence[str],
        model: str,
        api_key_env: str = "OPENAI_API_KEY",
        timeout: float = 30.0,
        retries: int = 2,
        max_parallel: int = 8,
        system_prompt: str = "",
        extra_rounds: int = 2,
        total_timeout: float | None = None,
        max_body: int = 4 << 20,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        urls = [httpx.URL(address) for address in check_addresses(base_url)]
        if not model or not all(_is_web_address(url) for url in urls):
            raise ValueError(
                'base_url must look like "http://127.0.0.1:8000/v1", without a password, and model be named.'
            )
        if timeout <= 0 or retries < 0 or max_parallel < 1 or extra_rounds < 0 or max_body < 1:
            raise ValueError(
                "timeout, max_parallel and max_body must be above 0, the other numbers at least 0."
            )
        self.model, self.system_prompt = model, system_prompt
        self.max_parallel, self.extra_rounds = max_parallel, extra_rounds
        self.total_timeout = total_timeout or timeout * (retries + 2)
        self.extra_body = dict(extra_body or {})
        self._hosts = [url.netloc.decode() for url in urls]
        key = os.environ.get(api_key_env, "")
        # One of several is not tried twice in a row: the next one answers sooner.
        tries = retries if len(urls) == 1 else 0
        servers = {str(url): Completions(url, key, api_key_env, timeout, tries, max_body) for url in urls}
        self._server = CompletionServers(servers, 0 if len(urls) == 1 else retries)
        self._lock = threading.Lock()
        # One event loop for the backend's lifetime, so that connections stay open between calls.
        self._runner: asyncio.Runner | None = None

    @property
    def version(self) -> str:
        """The server's name for the model, the host, how many more there are, and refused sampling settings."""
        others = f" and {len(self._hosts) - 1} more" if len(self._hosts) > 1 else ""
        refused = "".join(f" without {name}" for name in sorted(self._server.denied & {"top_k", "seed"}))
        return f"{self._server.served or self.model} at {self._hosts[0]}{others}{refused}"

    def check(self) -> None:
        """Request one token, of the first server that answers."""
        hello = {"role": "user", "content": "Hello!"}
        body = {"model": self.model, "messages": [hello], "max_tokens": 1, **self.extra_body}
        self._run(self._server.create(body, time.monotonic() + self.total_timeout))

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        return self._run(self._answer_all(requests))

    def close(self) -> None:
        with self._lock:
            if self._runner:
                self._runner.run(self._server.close())
                self._runner.close()
                self._runner = None

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            self._runner = self._runner or asyncio.Runner()
            return self._runner.run(work)

    async def _answer_all(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        parallel = asyncio.Semaphore(self.max_parallel)
        calls = _ReplyCalls(self, self._server, parallel, time.monotonic() + self.total_timeout)
        return list(await asyncio.gather(*(calls.answer(request) for request in requests)))


def _is_web_address(url: httpx.URL) -> bool:
    return url.scheme in {"http", "https"} and bool(url.host) and not url.userinfo


class _ReplyCalls:
    """The calls for one `generate`, with a common deadline and a limit on how many run at once."""

    def __init__(
        self, backend: OpenAIBackend, server: CompletionServers, parallel: asyncio.Semaphore, deadline: float
    ) -> None:
        self._backend = backend
        self._server = server
        self._parallel = parallel
        self._deadline = deadline

    async def answer(self, request: ReplyRequest) -> ReplySet | BackendError:
        if not without_blanks(request.context):
            return missing_opening_error()
        distinct = DistinctReplies(request.count)
        failed: list[BackendError] = []
        attempts = 0
        for _ in range(1 + self._backend.extra_rounds):
            outcomes = await self._draw(request, distinct.missing, attempts)
            attempts += len(outcomes)
            failed = [outcome for outcome in outcomes if isinstance(outcome, BackendError)]
            for outcome in outcomes:
                if isinstance(outcome, BackendError):
                    distinct.fail(outcome.cause)
                else:
                    distinct.offer(outcome)
            if not distinct.missing or len(failed) == len(outcomes):
                break
        return _result(distinct, failed)

    async def _draw(self, request: ReplyRequest, count: int, drawn: int) -> list[Reply | BackendError]:
        """`count` replies: in one call if the server accepts `n`; single calls for those that are still missing."""
        outcomes: list[Reply | BackendError] = []
        if count > 1 and "n" not in self._server.denied:
            outcomes = await self._call(request, child_seed(request.seed, drawn), count)
            if len(outcomes) < count:
                self._server.leave_out("n")
        seeds = [child_seed(request.seed, drawn + number) for number in range(len(outcomes), count)]
        singles = await asyncio.gather(*(self._call(request, seed, 1) for seed in seeds))
        return outcomes + [outcome for single in singles for outcome in single]

    async def _call(self, request: ReplyRequest, seed: int, count: int) -> list[Reply | BackendError]:
        """At most `count` replies, fewer if the server ignores `n`; `count` errors if the call fails."""
        sampling = request.sampling
        body = {
            "model": self._backend.model,
            "messages": chat_messages(
                request.context, request.speaker, add_persona(self._backend.system_prompt, request.persona)
            ),
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "max_tokens": sampling.max_new_tokens,
            "seed": seed,
            **({"n": count} if count > 1 else {}),
            **self._backend.extra_body,
        }
        try:
            async with self._parallel:
                done = await self._server.create(body, self._deadline, request.conversation)
        except BackendError as error:
            return [error] * count
        if not done.texts:
            return [_missing_text_error()]
        mean = round(done.tokens / len(done.texts))
        return [
            _missing_text_error() if text is None else Reply(clean_reply(text), seed, mean)
            for text in done.texts[:count]
        ]


def _missing_text_error() -> BackendError:
    return BackendError("The model server answered without a text.", "Try again, or use another model.", True)


def _result(distinct: DistinctReplies, failed: Sequence[BackendError]) -> ReplySet | BackendError:
    if failed and distinct.missing == distinct.count:
        return failed[0]
    try:
        return distinct.result()
    except BackendError as error:
        return error
