"""What joint training needs to know about a tokenizer's chat template, and what it changes in it.

Every server renders the template of a trained folder by itself, so whatever a dialogue needs has to be in the template.
In a dialogue of two people, whoever replies may have opened it, or have spoken last; many templates accept neither. For
these, a user who says "…" is put where a user is missing (`accept_any_order`).

What a template writes around a reply (`reply_frame`) differs: the token that ends it is often not the tokenizer's
eos_token, and some put a space before it.

    <|im_start|>user⏎Hello<|im_end|>⏎<|im_start|>assistant⏎ │ Hi there │ <|im_end|>
    <s>[INST] Hello [/INST]                                 │  Hi there│ </s>
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from generation.protocol import BackendError

UNHEARD = "…"  # what a user says who is missing

LEADING_USER = (
    "{%- if messages and messages[0]['role'] == 'assistant' %}"
    "{%- set messages = [{'role': 'user', 'content': '…'}] + messages %}"
    "{%- elif messages | length > 1 and messages[0]['role'] == 'system' and messages[1]['role'] == 'assistant' %}"
    "{%- set messages = messages[:1] + [{'role': 'user', 'content': '…'}] + messages[1:] %}"
    "{%- endif %}"
)
CLOSING_USER = (
    "{%- if add_generation_prompt and messages and messages[-1]['role'] == 'assistant' %}"
    "{%- set messages = messages + [{'role': 'user', 'content': '…'}] %}"
    "{%- endif %}"
)
ROLES = {"u": "user", "a": "assistant"}
# Every shape that a dialogue of two speakers can have, by the first letters of its roles.
SHAPES = ("u", "a", "ua", "au", "uau", "aua", "uaua", "auau")
Encode = Callable[[str], list[int]]
Messages = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class ReplyFrame:
    """What a template writes between the prompt for a reply and its words (before), and after them up to `end`.

    end: the token that ends a reply. continues: whether the prompt for the next reply begins with the tokens of this
    prompt and this reply, so that the replies of a dialogue can share what is encoded of it.
    """

    before: str
    after: str
    end: int
    continues: bool


def accept_any_order(tokenizer: Any) -> None:
    """Change the tokenizer's template, in place, so that it renders every order of two speakers.

    Only where it refuses one, or leaves out what was said. Raises BackendError without a template, or if it refuses
    nevertheless.
    """
    own = _own_template(tokenizer)
    tokenizer.chat_template = own
    if _why_refused(tokenizer, "auau") or _why_refused(tokenizer, "a"):
        tokenizer.chat_template = LEADING_USER + own
    if _why_refused(tokenizer, "ua") or _why_refused(tokenizer, "aua"):
        tokenizer.chat_template = CLOSING_USER + str(tokenizer.chat_template)
    for shape in SHAPES:
        if why := _why_refused(tokenizer, shape):
            order = ", ".join(ROLES[letter] for letter in shape)
            raise BackendError(
                f"The chat template refuses a dialogue of the roles {order}: {why}.",
                "Train without the template, or use a model whose template takes a user and an assistant in turn.",
            )


def _own_template(tokenizer: Any) -> str:
    """The default one of several. Raises BackendError without any."""
    try:
        return str(tokenizer.get_chat_template())
    except Exception as error:  # transformers raises ValueError, and other tokenizers what they like
        raise BackendError(
            "The tokenizer has no chat template.",
            "Train without the template, or use a chat model, whose name often ends in Instruct or Chat.",
        ) from error


def _why_refused(tokenizer: Any, shape: str) -> str:
    """What the template says against roles of this shape, "" if it renders all messages in their order."""
    messages = [{"role": ROLES[letter], "content": _mark(place)} for place, letter in enumerate(shape)]
    try:
        text = render(tokenizer, messages)
    except Exception as error:  # templates raise what they like
        return str(error).strip().rstrip(".") or type(error).__name__
    places = [text.find(message["content"]) for message in messages]
    return "" if -1 not in places and places == sorted(places) else "it leaves out what was said"


def _mark(place: int) -> str:
    return f"mark{place}end"


def render(tokenizer: Any, messages: Messages, *, prompt: bool = True, **options: Any) -> str:
    """The text of a dialogue. prompt: whether it ends where the assistant's reply begins. options: for the template."""
    return str(
        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt, **options)
    )


def reply_frame(tokenizer: Any) -> ReplyFrame:
    """How the template frames a reply that others follow.

    Raises BackendError if no token of its own ends a reply, or if special ones begin it, which no backend draws.
    """
    words = f"mark{secrets.token_hex(8)}"
    question, answer, next_one = _said("Hello"), _said(words, "assistant"), _said("Hello again")
    prompt = render(tokenizer, [question])
    before, _, following = render(tokenizer, [question, answer, next_one]).partition(words)
    after, end = _first_token(following, tokenizer)
    between = before.removeprefix(prompt) if before.startswith(prompt) else ""
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    if special.intersection(_encode(tokenizer, between)):
        raise BackendError(
            f"The chat template begins a reply with special tokens ({between.strip()}), which no reply may "
            "contain.",
            "Train without the template, or use a model whose template has them in the prompt.",
        )
    lead, continues = _lead(tokenizer, prompt, between, after, end)
    return ReplyFrame(lead, after, end, continues and before.startswith(prompt))


def _said(content: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": content}


def _first_token(text: str, tokenizer: Any) -> tuple[str, int]:
    """What stands before the first of the tokenizer's own tokens (special or added), and its id."""
    added = tokenizer.added_tokens_decoder
    names: Iterable[tuple[int, str]] = ((number, token.content) for number, token in added.items())
    found = [(text.find(name), -len(name), number) for number, name in names if name.strip() and name in text]
    if not found:
        raise BackendError(
            "The chat template ends a reply with ordinary text and not with a token, so that the model could not "
            "learn where to stop.",
            "Train without the template, or use a model whose template has such a token, for example <|im_end|>.",
        )
    place, _, number = min(found)
    return text[:place], number


def _lead(tokenizer: Any, prompt: str, between: str, after: str, end: int) -> tuple[str, bool]:
    """`between`, or what is left of it if words encoded on their own get its space anyway (as in SentencePiece).

    Also whether prompt and words encoded apart are the tokens of both encoded together.
    """
    encode = partial(_encode, tokenizer)
    together = [*encode(f"{prompt}{between}Hello{after}"), end]
    for lead in (between, between.rstrip(" ")):
        if [*encode(prompt), *encode_framed(encode, encode, lead, "Hello", after), end] == together:
            return lead, True
    return between, False


def _encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False)) if text else []


def encode_framed(markup: Encode, encode: Encode, before: str, words: str, after: str) -> list[int]:
    """Tokens of a reply without its end. markup, encode: of the template's text and of words, which stay words.

    White space is encoded with the words, because most vocabularies join them.
    """
    head = before.rstrip()
    return [*markup(head), *encode(f"{before[len(head) :]}{words}{after}")]
