"""Label tokens are found by comparing, whatever the tokenizer does with spaces."""

from __future__ import annotations

from typing import Any

import pytest

from preference.training.common.errors import TrainingError
from preference.training.paireval.encoding import EncodedPrompt, PromptEncoder
from preference.training.paireval.prompts import DIRECT, PAIR, Conversation, PromptWriter
from tests.generation.conftest import CHAT_TEMPLATE
from tests.preference.training.paireval.made_up import QUESTION, tokenizer

TEA = Conversation(("Hello.", "Do you like tea?"), "Yes.")
RAIN = Conversation(("It rains.",), "Oh no!", "The weather.")


def test_the_prompt_is_that_of_the_paper() -> None:
    text = PromptWriter(PAIR).write((TEA, RAIN))
    assert text == QUESTION.format(
        knowledge_1="",
        history_1="Hello.\nDo you like tea?",
        response_1="Yes.",
        knowledge_2="The weather.\n",
        history_2="It rains.",
        response_2="Oh no!",
    )


def test_braces_in_a_conversation_stay_as_they_are() -> None:
    text = PromptWriter(PAIR).write((Conversation(("{history_2}",), "{0}"), RAIN))
    assert "Conversation A:\n{history_2}\n\nResponse A:\n{0}\n" in text


def tokens_of(words: Any, **options: Any) -> tuple[Any, EncodedPrompt]:
    (prompt,) = PromptEncoder(words, PAIR, **options).encode([(TEA, RAIN)])
    return words, prompt


def test_a_byte_level_tokenizer_has_a_token_for_each_label() -> None:
    words, prompt = tokens_of(tokenizer())
    assert words.decode(prompt.tokens) == PromptWriter(PAIR).write((TEA, RAIN))
    assert [words.decode(label) for label in prompt.labels] == [" A", " B"]


def wrapped(core: Any, **names: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    build: Any = PreTrainedTokenizerFast
    return build(tokenizer_object=core, eos_token="<eos>", **names)


def trained(core: Any, **trainer: Any) -> Any:
    from tokenizers import trainers

    text = [PromptWriter(PAIR).write((TEA, RAIN)) + f" {letter}" for letter in "ABCDEFG"]
    core.train_from_iterator(
        text, trainers.BpeTrainer(vocab_size=400, special_tokens=["<eos>"], show_progress=False, **trainer)
    )
    return core


def spaces_apart() -> Any:
    """Every character is a token: " A" is two of them."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return wrapped(trained(core))


def space_before_everything() -> Any:
    """As SentencePiece does: a space is put before the text and becomes part of each word."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return wrapped(trained(core))


def spaces_stripped_and_end_added() -> Any:
    """White space is lost, and every text ends with <eos>."""
    from tokenizers import processors

    core = trained_words(lowercase=False)
    core.post_processor = processors.TemplateProcessing(single="$A <eos>", special_tokens=[("<eos>", 0)])
    return wrapped(core)


def trained_words(*, lowercase: bool, known: str = "AB") -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    names = ["<eos>", "<unk>", *known, "Answer", ":", "Response", "a"]
    core = Tokenizer(models.WordLevel({name: n for n, name in enumerate(names)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    if lowercase:
        core.normalizer = normalizers.Lowercase()
    return core


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (spaces_apart, "A"),
        (space_before_everything, "A"),
        (spaces_stripped_and_end_added, "A"),
    ],
)
def test_tokenizers_that_treat_spaces_otherwise(words: Any, label: str) -> None:
    made, prompt = tokens_of(words())
    first, second = (made.convert_ids_to_tokens(token) for token in prompt.labels)
    assert first.strip("▁") == label
    assert second.strip("▁") == "B"
    assert prompt.tokens[-1] != made.eos_token_id


@pytest.mark.parametrize(
    "words",
    [
        lambda: wrapped(trained_words(lowercase=False, known=""), unk_token="<unk>"),
        lambda: wrapped(trained_words(lowercase=False, known="A"), unk_token="<unk>"),
    ],
    ids=["neither", "one"],
)
def test_a_tokenizer_that_does_not_know_the_labels_is_refused(words: Any) -> None:
    with pytest.raises(TrainingError, match="does not tell ' A' from ' B'") as refused:
        PromptEncoder(words(), PAIR)
    assert refused.value.remedy


def test_other_labels_of_a_question_are_found_too() -> None:
    (prompt,) = PromptEncoder(tokenizer(), DIRECT).encode([(TEA,)])
    assert prompt.labels[0] != prompt.labels[1]


def test_a_chat_template_that_is_missing_or_fails_is_refused() -> None:
    with pytest.raises(TrainingError, match="no chat template"):
        PromptEncoder(tokenizer(), PAIR, "chat")
    encoder = PromptEncoder(tokenizer(CHAT_TEMPLATE), PAIR, "chat")
    with pytest.raises(TrainingError, match="refuses the question: no such talk"):
        encoder.encode([(Conversation(("boom",), "Yes."), RAIN)])
