"""The backends' sentences, marked for translation here because backends do not import Django.

A test checks that each of them occurs in a backend. A worker stores them in English, because it does not know who will
read them; `selectors.translate_sentences` finds them again. A pattern is a sentence with what differs in it.
"""

import re
from collections.abc import Iterable

from django.utils.translation import gettext_noop

SENTENCES = (
    gettext_noop("The model wrote an empty reply."),
    gettext_noop("The model repeated one of its other replies."),
    gettext_noop("The model gave no further reply."),
    gettext_noop("The model wrote in another script."),
    gettext_noop("The model wrote a broken sentence."),
    gettext_noop("The model wrote nearly the same twice."),
    gettext_noop("The model gave no reply."),
    gettext_noop("Try again; if it happens again, raise the temperature or top_k, or try another model."),
    gettext_noop("The dialogue has no utterance yet."),
    gettext_noop("Write the opening first."),
    gettext_noop("The model server answered without a text."),
    gettext_noop("Try again, or use another model."),
    gettext_noop(
        "Try again; if it happens again, check whether the server is overloaded, or raise the timeout."
    ),
    gettext_noop("Start it, or correct its address."),
    gettext_noop("Check that the address is that of a model server."),
    gettext_noop("Check that the address is that of an OpenAI-compatible server."),
    gettext_noop("Try again later."),
    gettext_noop("Check its address, which usually ends with /v1, the model's name and the other options."),
    gettext_noop("Check the model's name, and the address, which usually ends with /v1."),
    gettext_noop("The device has too little memory for this dialogue."),
    gettext_noop("Lower max_context or use a smaller model."),
    gettext_noop("Lower max_new_tokens."),
    gettext_noop("Try again; the log has details."),
    gettext_noop("The model gave no usable probabilities (not a number)."),
    gettext_noop("The model gave no usable score (not a number)."),
    gettext_noop("The script says that the model fails."),
    gettext_noop("The script says that this reply fails."),
    gettext_noop("Try again."),
)
PATTERNS = (
    gettext_noop("The model server did not answer within %(seconds)s seconds."),
    gettext_noop("The model server's answer is larger than %(size)s KiB."),
    # The rest is ": " with what the server or the connection said, or a full stop.
    gettext_noop("The model server at %(address)s cannot be reached, or closed the connection%(rest)s"),
    gettext_noop("The model server is busy or failed (HTTP %(status)s)%(rest)s"),
    gettext_noop("The model server refuses the request (HTTP %(status)s)%(rest)s"),
    gettext_noop("The model server answered with HTTP %(status)s%(rest)s"),
    gettext_noop("The model server's answer is not a chat completion%(rest)s"),
    gettext_noop("Set the environment variable %(name)s of the worker to a valid key."),
    gettext_noop("Set the environment variable %(name)s of the worker to a key with access to this model."),
)
# Of the refusals with which a trained model cannot be fetched; the sentences without a place need no list.
OF_FILES = (
    gettext_noop("Files of the model “%(name)s” are missing or incomplete on the server."),
    gettext_noop("The model %(folder)s was changed or damaged in the object store: its SHA-256 differs."),
    gettext_noop("The model takes %(size)s MB, and the disk of the models has %(free)s MB left."),
    gettext_noop("The object store refused the access (%(code)s)."),
    gettext_noop("The object store does not answer (%(code)s)."),
)
PLACE = re.compile(r"%\\\((\w+)\\\)s")  # as re.escape leaves it


def compile_patterns(patterns: Iterable[str]) -> dict[str, re.Pattern[str]]:
    """The expression that finds each pattern in a text, with a group for what differs."""
    return {one: re.compile(PLACE.sub(r"(?P<\1>.+?)", re.escape(one)), re.DOTALL) for one in patterns}
