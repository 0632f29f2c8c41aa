"""Dialogues as tokens: the rendering that serving has, and where text is cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from generation.backends.hf.rendering import PlainRenderer
from generation.protocol import Message
from preference.training.common.errors import TrainingError
from preference.training.joint.encoding import Encoder
from tests.generation.conftest import build_tokenizer

TOKENIZER = build_tokenizer()
BOS, EOU = TOKENIZER.bos_token_id, TOKENIZER.eos_token_id


def test_an_utterance_ends_with_the_end_of_utterance() -> None:
    encoder = Encoder(TOKENIZER)
    assert encoder.utterance("tea")[-1] == EOU
    assert encoder.context(["tea", "rain"]) == (BOS, *encoder.utterance("tea"), *encoder.utterance("rain"))
    assert encoder.utterance("  ") == ()


def test_words_never_become_special_tokens() -> None:
    tokens = Encoder(TOKENIZER).utterance("tea <eou> rain <pad>")
    assert tokens.count(EOU) == 1
    assert TOKENIZER.decode(tokens[:-1]) == "tea <eou> rain <pad>"


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.integers(8, 60))
@example(["tea", " ", "\n"], 20)
def test_a_context_is_rendered_as_serving_does(utterances: list[str], limit: int) -> None:
    messages = [Message("AB"[place % 2], text) for place, text in enumerate(utterances)]
    served = PlainRenderer(TOKENIZER).render(messages, "A", limit)
    assert Encoder(TOKENIZER, context=limit).context(utterances) == tuple(served)


@given(
    st.lists(st.tuples(st.sampled_from("ABCD"), st.text(max_size=20)), min_size=1, max_size=6),
    st.integers(12, 60),
)
def test_speakers_are_marked_as_in_serving(said: list[tuple[str, str]], limit: int) -> None:
    messages = [Message(speaker, text) for speaker, text in said]
    served = PlainRenderer(TOKENIZER, speaker_marks=True).render(messages, "B", limit)
    speakers, utterances = [*(speaker for speaker, _text in said), "B"], [text for _speaker, text in said]
    encoder = Encoder(TOKENIZER, context=limit, speaker_marks=True)
    assert encoder.context(utterances, speakers) == tuple(served)
    assert (encoder.context_length(utterances, speakers) <= limit) == (
        Encoder(TOKENIZER, context=1000, speaker_marks=True).context(utterances, speakers) == tuple(served)
    )


def test_marks_go_by_who_spoke_first() -> None:
    encoder = Encoder(TOKENIZER, speaker_marks=True)
    said = ["I have a cat", "  ", "She is old", "Oh"]
    context = TOKENIZER.decode(encoder.context(said, ["Eve", "Dan", "Eve", "Dan", "Eve"]))
    assert context == "<bos>A:I have a cat<eou>A:She is old<eou>B:Oh<eou>A:"
    alternating = TOKENIZER.decode(encoder.context(["Hi", "Oh"]))
    assert alternating == "<bos>A:Hi<eou>B:Oh<eou>A:"


def test_the_oldest_utterances_are_dropped_first_and_the_last_is_cut_from_the_left() -> None:
    encoder = Encoder(TOKENIZER)
    old, new = encoder.utterance("I like tea"), encoder.utterance("rain")
    short = Encoder(TOKENIZER, context=len(old) + len(new))
    assert short.context(["I like tea", "rain"]) == (BOS, *new)
    assert Encoder(TOKENIZER, context=3).context(["I like tea"]) == (BOS, *old[-2:])


def test_a_long_reply_is_cut_and_still_ends() -> None:
    whole = Encoder(TOKENIZER).utterance("I like tea and long walks")
    assert Encoder(TOKENIZER, reply=4).reply("I like tea and long walks") == (*whole[:3], EOU)
    assert Encoder(TOKENIZER, reply=len(whole)).reply("I like tea and long walks") == whole


def test_contexts_shrink_to_what_the_model_takes() -> None:
    encoder = Encoder(TOKENIZER, context=384, reply=128, positions=256)
    assert encoder.context_limit == 128
    assert "128 tokens instead of 384" in encoder.notes[0]
    assert Encoder(TOKENIZER, positions=512).notes == []


def test_a_model_with_too_few_positions_is_refused() -> None:
    with pytest.raises(TrainingError, match="leaves no room"):
        Encoder(TOKENIZER, positions=130)


def test_a_tokenizer_without_an_end_is_refused() -> None:
    with pytest.raises(TrainingError, match="no eos_token") as refused:
        Encoder(build_tokenizer(ends=False))
    assert "tokenizer_config.json" in refused.value.remedy


def test_a_tokenizer_without_a_beginning_works() -> None:
    tokenizer = build_tokenizer()
    tokenizer.bos_token = None
    encoder = Encoder(tokenizer)
    assert encoder.context(["tea"]) == encoder.utterance("tea")
