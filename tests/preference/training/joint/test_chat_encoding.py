"""Dialogues through a chat template: the tokens that servers have, and the losses of plain sequences in any layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from generation.backends.hf.chat_template import accept_any_order
from preference.training.common.errors import TrainingError
from preference.training.joint.chat_encoding import ChatEncoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.choice import choose_layout
from preference.training.joint.layouts.micro_batches import LAYOUTS, Layout
from preference.training.joint.quadruples import draw_quadruples
from tests.generation.conftest import CHAT_TEMPLATE, OTHER_END, STRICT, THINKING, build_tokenizer
from tests.preference.training.joint.test_equality import CLOSE, plain_loss
from tests.preference.training.made_up import dialogue, fed, joint_model, learned, ragged

TEMPLATES = {"plain": CHAT_TEMPLATE, "other end": OTHER_END, "strict": STRICT, "thinking": THINKING}
SAID = ["I like tea.", "How are you?", "  ", "Fine, and you?", "你好", "Rain again!"]


def prepared(name: str) -> Any:
    tokenizer = build_tokenizer(TEMPLATES[name])
    accept_any_order(tokenizer)
    return tokenizer


def encoder_of(name: str, **limits: int) -> ChatEncoder:
    return ChatEncoder(prepared(name), **limits)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("count", range(1, 7))
def test_a_context_is_what_a_server_renders(name: str, count: int) -> None:
    tokenizer = prepared(name)
    speakers = ["Eve", "Dan", "Dan", "Eve", "Dan", "Eve", "Dan"]
    messages: list[dict[str, str]] = []
    for speaker, text in zip(speakers[:count], SAID, strict=False):
        role = "assistant" if speaker == speakers[count] else "user"
        if text.strip() and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + text
        elif text.strip():
            messages.append({"role": role, "content": text})
    served = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    encoder = ChatEncoder(tokenizer)
    assert encoder.context(SAID[:count], speakers) == tuple(served)
    assert encoder.context_length(SAID[:count], speakers) == len(served)


def test_a_reply_ends_as_the_template_ends_it() -> None:
    encoder = encoder_of("other end", reply=8)
    pad = encoder.end
    assert pad == build_tokenizer().convert_tokens_to_ids("<pad>")
    assert encoder.reply("tea") == (*build_tokenizer().encode("tea"), pad)
    assert encoder.reply(" \n") == ()
    assert len(encoder.reply("I like tea and long walks")) == 8
    assert encoder.reply("I like tea and long walks")[-1] == pad
    assert encoder.cuts("I like tea and long walks")
    words = encoder.reply("<pad>")
    assert words.count(pad) == 1, "words never become special tokens"


def test_old_utterances_are_dropped_and_a_blank_context_is_one_that_nobody_heard() -> None:
    encoder = encoder_of("other end", context=40)
    decode = build_tokenizer().decode
    talk = ["Hello there, how are you today?", "Fine", "I like tea", "Oh"]
    cut = decode(encoder.context(talk))
    assert "Hello" not in cut
    assert cut.endswith("<|assistant|>\nI like tea<pad>\n<|user|>\nOh<pad>\n<|assistant|>\n")
    assert len(encoder.context(["walk " * 90])) <= 40
    assert decode(encoder.context([" "])) == "<bos><|user|>\n…<pad>\n<|assistant|>\n"
    assert decode(encoder.context([])) == decode(encoder.context([" "]))


def test_a_context_without_room_beside_the_template_is_refused() -> None:
    with pytest.raises(TrainingError, match="template alone takes"):
        encoder_of("other end", context=7).context(["I like tea"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("names", [(), ("Ann", "Bob", "Ann", "Ann", "Carl", "Bob", "Bob")])
def test_every_layout_has_the_loss_and_gradient_of_plain_sequences(
    name: str, layout: str, names: tuple[str, ...]
) -> None:
    model = joint_model("llama")
    encoder = ChatEncoder(prepared(name), context=70, reply=16)
    dialogues = [replace(talk, speakers=names[: len(talk.utterances)]) for talk in ragged(3, count=4)]
    step = draw_quadruples(dialogues, seed=3, epoch=0)
    loss = plain_loss(model, encoder, dialogues, step)
    torch.autograd.backward(loss)
    expected = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}
    losses, gradients = learned(model, Layout(layout, dialogues, encoder).micro_batches(step))
    assert losses["loss"] == pytest.approx(float(loss.detach()), abs=CLOSE)
    for key, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[key], atol=CLOSE, rtol=0, msg=key)


@pytest.mark.parametrize("name", ["plain", "other end", "strict"])
def test_a_dialogue_has_a_tree_for_each_speaker(name: str) -> None:
    """Closed formula: the last context of either speaker with its human reply, and two leaves a turn."""
    encoder = encoder_of(name, context=1000)
    words = dialogue(*["I like tea", "Do you like rain?", "fine"] * 3)
    step = draw_quadruples([words, dialogue("walk", "rain")], seed=1, epoch=0)[: len(words.turns)]
    last = len(words.utterances) - 1
    trunks = sum(
        len(encoder.context(words.utterances[:place])) + len(encoder.reply(words.utterances[place]))
        for place in (last - 1, last)
    )
    leaves = sum(len(encoder.reply(item.model)) + len(encoder.reply(item.random)) for item in step)
    assert fed(Layout("trees", [words], encoder, token_budget=5000), step) == trunks + leaves
    assert fed(Layout("packed", [words], encoder, token_budget=5000), step) > 2 * (trunks + leaves)


def test_a_template_whose_prompts_do_not_continue_is_packed_and_says_so() -> None:
    model = joint_model("llama")
    layout = choose_layout(model, ragged(1), encoder_of("thinking"))
    assert layout.name == "packed"
    assert layout.notes == [
        "Every turn is encoded apart from the rest of its dialogue: the chat template renders a reply "
        "differently when it is written and when others follow it."
    ]
    assert choose_layout(model, ragged(1), encoder_of("other end")).name == "trees"


def test_turns_beyond_the_limits_are_counted() -> None:
    model = joint_model("llama")
    talk = dialogue(*["I like tea and long walks", "Oh"] * 6)
    layout = choose_layout(model, [talk], encoder_of("other end", context=110))
    whole = encoder_of("other end", context=1000)
    lengths = [whole.context_length(talk.utterances[: turn.position]) for turn in talk.turns]
    cut = sum(length > 110 for length in lengths)
    assert 0 < cut < len(talk.turns)
    assert f"{cut} turns have a context of more than 110 tokens" in layout.notes[0]


def test_a_base_without_a_template_cannot_keep_it(tmp_path: Any) -> None:
    from generation.backends.dialogue_format import DialogueFormat

    joint_model("llama").backbone.save_pretrained(tmp_path)
    build_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(TrainingError, match="has no chat template") as refused:
        JointModel.from_pretrained(tmp_path, dialogue_format=DialogueFormat(chat_template=True))
    assert refused.value.remedy.startswith("Train without the template")
