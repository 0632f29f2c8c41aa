"""What every backend needs for replies: seeds, clean text, removal of duplicates, chat roles."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence

from generation.protocol import BackendError, Message, Reply, ReplySet


def child_seed(seed: int, attempt: int) -> int:
    """The seed of the attempt-th reply of a request; the first is the request's own.

    31 bits, because some model servers accept at most that.
    """
    if attempt == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{attempt}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def mean_surprise(reply: Reply) -> float:
    """Negative mean log-probability of a token, the end included, in nats; infinite if a server does not return it."""
    return math.inf if reply.logprob is None else -reply.logprob / (reply.tokens + 1)


def clean_reply(text: str) -> str:
    """A model's text, ready to be stored and shown.

    Removes a reasoning model's thoughts, control characters (PostgreSQL refuses NUL), lone surrogates, and the
    replacement characters that remain at the ends if a multi-byte character was cut.
    """
    spoken = text.rsplit("</think>", 1)[-1]
    visible = "".join(c for c in spoken if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"})
    return visible.strip(" \n\t\ufffd").strip()


def reply_key(text: str) -> str:
    """Equal for replies that look the same to a reader: ignores case, width, spaces and invisible marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c for c in folded if unicodedata.category(c) != "Cf").split())


class DistinctReplies:
    """The replies of one request: collects `count` different, non-empty ones in the order they are offered.

    spare: how many more it takes, none of which is missed.
    """

    def __init__(self, count: int, spare: int = 0) -> None:
        self.count, self.spare = count, spare
        self._replies: dict[str, Reply] = {}
        self._reasons: list[str] = []

    @property
    def missing(self) -> int:
        return max(0, self.count - len(self._replies))

    def offer(self, reply: Reply) -> None:
        key = reply_key(reply.text)
        if not key:
            self._reasons.append("The model wrote an empty reply.")
        elif key in self._replies:
            self._reasons.append("The model repeated one of its other replies.")
        elif len(self._replies) < self.count + self.spare:
            self._replies[key] = reply

    def fail(self, reason: str) -> None:
        self._reasons.append(reason)

    def result(self) -> ReplySet:
        """The collected replies, with one reason per missing one. Raises BackendError if there is no reply at all."""
        unknown = ["The model gave no further reply."] * self.missing
        reasons = (unknown + self._reasons)[len(unknown + self._reasons) - self.missing :]
        if not self._replies:
            raise BackendError(
                f"The model gave no reply. {reasons[-1]}",
                "Try again; if it happens again, raise the temperature or top_k, or try another model.",
                retryable=True,
            )
        return ReplySet(tuple(self._replies.values()), tuple(reasons))


def spoken(text: str, longest: int | None = None) -> str:
    """What an utterance says: without white space around it; "" for a blank one, which every context leaves out.

    longest: characters, of which the last are kept; None: all.
    """
    words = text.strip()
    return words if longest is None or len(words) <= longest else words[-longest:].lstrip()


def without_blanks(context: Iterable[Message], longest: int | None = None) -> list[Message]:
    """The messages that say something, each as `spoken` has it."""
    said = ((message.speaker, spoken(message.text, longest)) for message in context)
    return [Message(speaker, words) for speaker, words in said if words]


def chat_messages(context: Iterable[Message], speaker: str, system_prompt: str = "") -> list[dict[str, str]]:
    """The dialogue as `speaker` sees it, who is the assistant; consecutive messages of one role are joined.

    Blank ones are left out.
    """
    messages = [{"role": "system", "content": system_prompt}] if system_prompt else []
    for message in without_blanks(context):
        role = "assistant" if message.speaker == speaker else "user"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + replace_surrogates(message.text)
        else:
            messages.append({"role": role, "content": replace_surrogates(message.text)})
    return messages


def add_persona(system_prompt: str, persona: Sequence[str]) -> str:
    """The system prompt of a chat model that plays a persona."""
    described = ["Your persona:", *persona] if persona else []
    return "\n".join([*([system_prompt] if system_prompt else []), *described])


def replace_surrogates(text: str) -> str:
    """The text with lone surrogates, which neither tokenizers nor JSON accept, replaced by question marks."""
    return text.encode("utf-8", "replace").decode()


def missing_opening_error() -> BackendError:
    """For a dialogue without utterances, or with blank ones only: a chat model needs something to answer."""
    return BackendError("The dialogue has no utterance yet.", "Write the opening first.")
