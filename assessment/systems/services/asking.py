"""Asking a system for a reply, whatever its connector."""

import logging
import time
from typing import Final

from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.connectors.registry import connector_for
from assessment.systems.models import System
from generation.backends.replies import clean_reply
from generation.protocol import BackendError

logger = logging.getLogger(__name__)

QUEUE: Final = "chat"  # its workers are threads, because they wait for other servers
MAX_REPLY: Final = 10_000  # characters
CLOSING_SECONDS: Final = 10.0
BROKE: Final = "The connector broke off."


def open_conversation(system: System, conversation: Conversation, deadline: float) -> str:
    """Returns what the system calls the conversation; "" if it keeps no state. Raises BackendError."""
    try:
        return connector_for(system).open(conversation, deadline)
    except BackendError:
        raise
    except Exception as error:
        logger.exception(BROKE, extra={"system": system.pk})
        raise _broke() from error


def ask(system: System, question: Question) -> SystemReply:
    """The reply, clean and not blank. Raises BackendError for whatever else the system does."""
    try:
        reply = connector_for(system).reply(question)
    except BackendError:
        raise
    except Exception as error:
        logger.exception(BROKE, extra={"system": system.pk})
        raise _broke() from error
    return checked_reply(reply)


def checked_reply(reply: SystemReply) -> SystemReply:
    """What the database can hold and a page can show. Raises BackendError for a blank and for an over-long reply."""
    text = clean_reply(reply.text)
    if not text:
        raise BackendError("The system wrote an empty reply.", "Try again; check its log.", retryable=True)
    if len(text) > MAX_REPLY:
        raise BackendError(
            f"The system wrote a reply of {len(text)} characters.",
            f"At most {MAX_REPLY} can be shown: lower its max_new_tokens.",
            retryable=True,
        )
    return SystemReply(text, reply.trace)


def close_conversation(system: System, handle: str) -> None:
    """Tell the system that a conversation is over. A failure changes nothing for anybody and is logged."""
    try:
        connector_for(system).close(handle, time.monotonic() + CLOSING_SECONDS)
    except Exception:
        logger.warning("a conversation could not be closed", exc_info=True, extra={"system": system.pk})


def _broke() -> BackendError:
    return BackendError(
        BROKE,
        "Try again; if it happens again, tell whoever runs the server to look at the worker's log.",
        retryable=True,
    )
