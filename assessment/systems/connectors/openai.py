"""The connector `openai`: a server with `/chat/completions`. Every turn sends the whole conversation."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import httpx

from assessment.systems.connectors.event_loop import run_in_loop
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from generation.backends.completions import Completions
from generation.backends.replies import add_persona, chat_messages
from generation.protocol import BackendError, Sampling

SPEAKER = "B"
MAX_BODY = 4 << 20  # bytes
# The caller retries and has the deadline.
NO_LIMIT = 3600.0


class OpenAIConnector:
    """base_url: with "/v1". api_key_env: the environment variable with the key, if the server wants one.

    extra_body: more fields for the server. The answer is read as it streams in, up to MAX_BODY, and returned whole.
    """

    def __init__(
        self,
        sampling: Sampling,
        base_url: str,
        model: str,
        api_key_env: str = "",
        system_prompt: str = "",
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self._model, self._system_prompt = model, system_prompt
        self._sampling, self._extra_body = sampling, dict(extra_body or {})
        self._server = _server(base_url, model, api_key_env)

    def open(self, conversation: Conversation, deadline: float) -> str:
        return ""

    def reply(self, question: Question) -> SystemReply:
        done = run_in_loop(self._server.create(self._body(question), question.deadline))
        if not done.texts or done.texts[0] is None:
            raise BackendError(
                "The model server answered without a text.", "Try again, or use another model.", True
            )
        return SystemReply(done.texts[0], {"model": done.model, "tokens": done.tokens})

    def close(self, handle: str, deadline: float) -> None:
        """The server keeps nothing."""

    def _body(self, question: Question) -> dict[str, Any]:
        prompt = add_persona(self._system_prompt, question.conversation.persona)
        return {
            "model": self._model,
            "messages": chat_messages(question.context, SPEAKER, prompt),
            "temperature": self._sampling.temperature,
            "top_k": self._sampling.top_k,
            "max_tokens": self._sampling.max_new_tokens,
            "seed": question.seed % 2**31,  # the most that some servers take
            **self._extra_body,
        }


@lru_cache(maxsize=256)
def _server(base_url: str, model: str, api_key_env: str) -> Completions:
    """Kept for the life of the process, with its connections and what the server refused for this model."""
    key = os.environ.get(api_key_env, "") if api_key_env else ""
    name = api_key_env or "LAPIDARY_KEY_…"
    return Completions(httpx.URL(base_url), key, name, NO_LIMIT, retries=0, max_body=MAX_BODY)
