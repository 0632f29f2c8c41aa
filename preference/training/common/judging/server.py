"""A judge: an OpenAI-compatible server that answers questions about dialogues."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from generation.backends.completions import Completion, Completions
from generation.protocol import BackendError
from preference.training.common.errors import TrainingError
from preference.training.common.judging.prompts import PROMPT_VERSION, JudgePrompt, parse_answer
from preference.training.common.judging.questions import Answer
from preference.training.common.messages import gettext as _

MAX_BODY = 4 << 20  # bytes of one answer
DIRECT_TOKENS, STEPS_TOKENS = 64, 768
# After so many questions without any answer the server is taken for dead: the run stops and can be resumed.
QUESTIONS_UNTIL_DEAD = 4
SHOWN_PROSE = 120  # characters of an answer outside the options that a message quotes


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """value: None if the judge gave no answer; `reason` then says why, in a whole sentence.

    requests: answers that the server gave, 2 if the question was repeated, 0 if it gave none. prompt_tokens,
    completion_tokens: of these, as the server counts them. failed: whether the server failed, not the judge.
    """

    value: Answer | None
    reason: str = ""
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: bool = False
    remedy: str = ""


class JudgeServer:
    """Asks one model, with temperature 0, several questions at a time.

    base_url: with "/v1". key_name: of the environment variable with the key; no key is sent if it is not set. timeout:
    seconds for one try, of which there are retries + 1 after a failure that may pass. Raises TrainingError for a
    string that is not a web address.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key_name: str = "OPENAI_API_KEY",
        parallel: int = 8,
        timeout: float = 60.0,
        retries: int = 2,
        max_tokens: int = 0,
    ) -> None:
        self._url = _parse_address(base_url)
        self.base_url, self.model, self.served = base_url, model, ""
        self._key_name, self._has_answered = key_name, False
        self._parallel, self._max_tokens = parallel, max_tokens
        self._timeout, self._retries = timeout, retries

    def describe(self) -> dict[str, Any]:
        """What decides about the answers, as JSON values; without the key."""
        return {
            "base_url": self.base_url,
            "model": self.model,
            "temperature": 0,
            "prompt_version": PROMPT_VERSION,
        }

    def ask(self, prompts: Sequence[JudgePrompt]) -> list[JudgeAnswer]:
        """One answer for each prompt, in their order.

        Raises TrainingError if the server answers none of them, unless they are a few after it answered others.
        """
        answers = asyncio.run(self._ask_all(prompts))
        failed = [answer for answer in answers if answer.failed]
        if len(failed) < len(answers):
            self._has_answered = True
        elif failed and (not self._has_answered or len(failed) >= QUESTIONS_UNTIL_DEAD):
            raise TrainingError(failed[0].reason, failed[0].remedy)
        return answers

    async def _ask_all(self, prompts: Sequence[JudgePrompt]) -> list[JudgeAnswer]:
        key = os.environ.get(self._key_name, "")
        server = Completions(self._url, key, self._key_name, self._timeout, self._retries, MAX_BODY)
        slots = asyncio.Semaphore(self._parallel)
        try:
            return list(await asyncio.gather(*(self._ask(server, slots, prompt) for prompt in prompts)))
        finally:
            self.served = server.served or self.served
            await server.close()

    async def _ask(self, server: Completions, slots: asyncio.Semaphore, prompt: JudgePrompt) -> JudgeAnswer:
        """An answer; after prose the question is repeated once."""
        answers: list[Completion] = []
        async with slots:
            try:
                answers.append(await self._complete(server, prompt, prompt.messages()))
                value = parse_answer(_text(answers[0]), prompt.question)
                if value is None:
                    messages = prompt.messages_after(_text(answers[0]))
                    answers.append(await self._complete(server, prompt, messages))
                    value = parse_answer(_text(answers[1]), prompt.question)
            except BackendError as error:
                return _judge_answer(answers, None, error.cause, failed=True, remedy=error.remedy)
        reason = "" if value is not None else _no_answer(_text(answers[-1]))
        return _judge_answer(answers, value, reason)

    async def _complete(
        self, server: Completions, prompt: JudgePrompt, messages: list[dict[str, str]]
    ) -> Completion:
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": 0,
            "max_tokens": self._max_tokens or (STEPS_TOKENS if prompt.in_steps else DIRECT_TOKENS),
            "response_format": prompt.response_format(),
        }
        return await server.create(body, time.monotonic() + self._timeout * (self._retries + 2))


def _parse_address(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
        raise TrainingError(
            _("%(url)s is not the address of a judge.") % {"url": base_url},
            _("Write it as http://127.0.0.1:8000/v1, without a password."),
        )
    return url


def _judge_answer(
    answers: Sequence[Completion],
    value: Answer | None,
    reason: str,
    *,
    failed: bool = False,
    remedy: str = "",
) -> JudgeAnswer:
    return JudgeAnswer(
        value,
        reason,
        requests=len(answers),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        completion_tokens=sum(answer.tokens for answer in answers),
        failed=failed,
        remedy=remedy,
    )


def _text(completion: Completion) -> str:
    return (completion.texts[0] if completion.texts else None) or ""


def _no_answer(text: str) -> str:
    excerpt = " ".join(text.split())
    if not excerpt:
        return _("The judge answered nothing.")
    if len(excerpt) > SHOWN_PROSE:
        excerpt = excerpt[:SHOWN_PROSE] + "…"
    return _("The judge chose none of the options, twice: “%(text)s”") % {"text": excerpt}
