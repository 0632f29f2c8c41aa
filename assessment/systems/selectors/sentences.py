"""Why a system did not answer, in the reader's language. Connectors know no reader, so they say it in English."""

from typing import Final

from django.utils.translation import gettext_noop

from generation.selectors import BACKEND_PATTERNS, translate_sentences
from generation.sentences import compile_patterns

SENTENCES: Final = (
    gettext_noop("The corpus has too few dialogues to take replies and words from."),
    gettext_noop("Import dialogues into the corpus, or choose another one."),
    gettext_noop("Check whether it is overloaded, or raise the time limit of a reply."),
    gettext_noop("Start it, or correct its address."),
    gettext_noop("Check that the address is that of a conversational service."),
    gettext_noop("Check the log of the service."),
    gettext_noop("Check its log."),
    gettext_noop("This system cannot be asked for replies."),
    gettext_noop("Choose another one."),
    gettext_noop("The system wrote an empty reply."),
    gettext_noop("Try again; check its log."),
    gettext_noop("The connector broke off."),
    gettext_noop("Try again; if it happens again, tell whoever runs the server to look at the worker's log."),
)
PATTERNS: Final = (
    gettext_noop("The service did not answer %(action)s within %(seconds)s seconds."),
    gettext_noop("The service at %(address)s cannot be reached, or broke off%(rest)s"),
    gettext_noop("The answer of the service is larger than %(size)s KiB."),
    gettext_noop("The service answered %(action)s with HTTP %(status)s."),
    gettext_noop("The service forgot the conversation (HTTP %(status)s)."),
    gettext_noop("The answer of the service to %(action)s is not %(expected)s."),
    gettext_noop("The system wrote a reply of %(n)s characters."),
    gettext_noop("At most %(n)s can be shown: lower its max_new_tokens."),
)
_COMPILED: Final = BACKEND_PATTERNS | compile_patterns(PATTERNS)


def translate_error(text: str) -> str:
    """The stored cause or remedy, or both, of a BackendError."""
    return translate_sentences(text, _COMPILED)
