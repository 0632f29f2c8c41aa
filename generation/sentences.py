"""The backends' sentences, marked for translation here because backends do not import Django.

A test checks that each of them occurs in a backend. `selectors.describe_request` translates what a worker stored, one
sentence at a time; sentences that contain a number, an address or a model's name stay in English.
"""

from django.utils.translation import gettext_noop

SENTENCES = (
    gettext_noop("The model wrote an empty reply."),
    gettext_noop("The model repeated one of its other replies."),
    gettext_noop("The model gave no further reply."),
    gettext_noop("The model gave no reply."),
    gettext_noop("Try again; if it happens again, raise the temperature or top_k, or try another model."),
    gettext_noop("The dialogue has no utterance yet."),
    gettext_noop("Write the opening first."),
    gettext_noop("The model server answered without a text."),
    gettext_noop("Try again, or use another model."),
    gettext_noop(
        "Try again; if it happens again, check whether the server is overloaded, or raise the timeout."
    ),
    gettext_noop("Start it, or correct base_url."),
    gettext_noop("Check that base_url points to a model server."),
    gettext_noop("Check that base_url points to an OpenAI-compatible server."),
    gettext_noop("Try again later."),
    gettext_noop("Change the options."),
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
