"""Chat templates that a model keeps: which orders of speakers they take, and what they write around a reply.

The templates of real models come with trl.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from generation.backends.hf.chat_template import (
    CLOSING_USER,
    LEADING_USER,
    SHAPES,
    UNHEARD,
    accept_any_order,
    render,
    reply_frame,
)
from generation.protocol import BackendError
from tests.generation.conftest import CHAT_TEMPLATE, STRICT, USER_FIRST, build_tokenizer

FORGETFUL = "{% for m in messages if m['role'] == 'user' %}" + CHAT_TEMPLATE.split("%}", 1)[1]
REAL = {
    "qwen2_5": (False, "<|im_end|>", True),
    "qwen3": (False, "<|im_end|>", True),
    "llama3": (False, "<|eot_id|>", True),
    "gemma3": (True, "<end_of_turn>", True),
    "phi3": (False, "<|end|>", True),
    # Its prompt begins a thought that its history leaves out.
    "deepseek_r1_distill": (False, "<｜end▁of▁sentence｜>", False),
}


def real_tokenizer(name: str) -> Any:
    """The tests' vocabulary with the tokens that a real model's template names."""
    template = (files("trl") / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")
    tokenizer = build_tokenizer(template)
    names = sorted(set(re.findall(r"<[|｜]?[A-Za-z_▁]+[|｜]?>", template)))
    tokenizer.add_tokens([each for each in names if "think" not in each], special_tokens=True)
    return tokenizer


def talk(shape: str) -> list[dict[str, str]]:
    roles = {"u": "user", "a": "assistant"}
    return [{"role": roles[letter], "content": f"said {place}"} for place, letter in enumerate(shape)]


@pytest.mark.parametrize("name", REAL)
def test_templates_of_real_models(name: str) -> None:
    tokenizer = real_tokenizer(name)
    base = tokenizer.chat_template
    needs_user, end, continues = REAL[name]
    accept_any_order(tokenizer)
    assert tokenizer.chat_template == (LEADING_USER + base if needs_user else base)
    for shape in SHAPES:
        text = render(tokenizer, talk(shape))
        assert re.findall(r"said \d", text) == [f"said {place}" for place in range(len(shape))]
        assert (UNHEARD in text) == (needs_user and shape.startswith("a"))
    frame = reply_frame(tokenizer)
    assert (frame.before, frame.after) == ("", "")
    assert (tokenizer.convert_ids_to_tokens(frame.end), frame.continues) == (end, continues)
    prepared = tokenizer.chat_template
    accept_any_order(tokenizer)
    assert tokenizer.chat_template == prepared, "preparing it twice adds nothing"


def test_a_template_that_takes_turns_strictly_gets_the_user_that_is_missing() -> None:
    tokenizer = build_tokenizer(STRICT)
    accept_any_order(tokenizer)
    assert tokenizer.chat_template == CLOSING_USER + LEADING_USER + STRICT
    assert render(tokenizer, talk("ua")) == "<bos>[INST] said 0 [/INST] said 1<eou>[INST] … [/INST]"
    assert render(tokenizer, talk("au")) == "<bos>[INST] … [/INST] said 0<eou>[INST] said 1 [/INST]"
    assert render(tokenizer, talk("ua"), prompt=False) == "<bos>[INST] said 0 [/INST] said 1<eou>"
    frame = reply_frame(tokenizer)
    assert (frame.before, frame.after, frame.end) == (" ", "", tokenizer.eos_token_id)
    assert frame.continues


def test_a_system_prompt_stays_first() -> None:
    tokenizer = build_tokenizer(
        USER_FIRST.replace("messages[0]['role'] != 'user'", "messages[0]['role'] == 'assistant'")
    )
    tokenizer.chat_template = LEADING_USER + tokenizer.chat_template
    said = render(tokenizer, [{"role": "system", "content": "Be kind."}, *talk("au")])
    assert said.startswith("<|system|>Be kind.<eou><|user|>…<eou><|assistant|>said 0<eou><|user|>said 1<eou>")


@pytest.mark.parametrize(
    ("template", "cause"),
    [
        ("", "has no chat template"),
        ("{{ raise_exception('never') }}", "refuses a dialogue of the roles user: never"),
        (FORGETFUL, "roles a?u?.*: it leaves out what was said"),
    ],
)
def test_a_template_that_cannot_render_dialogues_is_refused(template: str, cause: str) -> None:
    with pytest.raises(BackendError, match=cause) as refused:
        accept_any_order(build_tokenizer(template))
    assert refused.value.remedy.startswith("Train without the template")


@pytest.mark.parametrize(
    ("around", "cause"),
    [
        (("", "\n"), "ends a reply with ordinary text"),
        (("<|system|>", "<eou>"), "begins a reply with special tokens"),
    ],
)
def test_a_reply_needs_an_end_that_can_be_learned(around: tuple[str, str], cause: str) -> None:
    before, after = around
    template = (
        "{% for m in messages %}{% if m['role'] == 'user' %}U: {{ m['content'] }}\nA: "
        f"{{% else %}}{before}{{{{ m['content'] }}}}{after}{{% endif %}}{{% endfor %}}"
    )
    with pytest.raises(BackendError, match=cause) as refused:
        reply_frame(build_tokenizer(template))
    assert refused.value.remedy
