"""Scores with shared beginnings equal those of whole prompts; what cannot be scored has a reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyToScore
from preference.training.paireval.encoding import PromptEncoder
from preference.training.paireval.prompts import PAIR
from preference.training.paireval.reading import PromptReader
from preference.training.paireval.scorer import UNLIKE, conversation_of
from tests.generation.conftest import CHAT_TEMPLATE
from tests.preference.training.paireval.made_up import (
    backbone,
    by_hand,
    direct_eval,
    pair_eval,
    ragged,
    tokenizer,
    whole_prompt,
)

CLOSE = 1e-5
HELLO = ReplyToScore("hello", ("Hello there.",), "I am fine.")


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_scores_equal_those_of_whole_prompts(shape: str, k: int) -> None:
    model, comparisons = backbone(shape), ragged(1, k)
    replies = ragged(2, 5)
    evaluator = pair_eval(model, comparisons)
    assert evaluator.notes == []
    for reply, score in zip(replies, evaluator.score(replies), strict=True):
        value, orders = by_hand(model, reply, comparisons)
        assert score.id == reply.id
        assert score.value == pytest.approx(value, abs=CLOSE)
        for mine, theirs in zip(score.details["orders"], orders, strict=True):
            assert mine == pytest.approx(theirs, abs=CLOSE)


@pytest.mark.parametrize("budget", [64, 700, 100_000])
def test_scores_do_not_depend_on_how_rows_are_cut(budget: int) -> None:
    model, comparisons, replies = backbone("qwen3"), ragged(3, 3), ragged(4, 6)
    whole = pair_eval(model, comparisons, share=False).score(replies)
    cut = pair_eval(model, comparisons, token_budget=budget).score(replies)
    assert [one.value for one in cut] == pytest.approx([one.value for one in whole], abs=CLOSE)


def test_a_reply_of_seven_candidates_is_fed_what_it_does_not_share() -> None:
    """Counted by hand over token sequences: the stem once, then what a trie of the prompts has beyond it."""
    comparisons = ragged(5, 3)
    history = ("do you like tea", "what do you do", "hello")
    replies = [
        ReplyToScore(str(n), history, f"{text} fine") for n, text in enumerate(("tea", "rain", "walk"))
    ]
    evaluator = pair_eval(backbone("llama"), comparisons, token_budget=100_000)
    stem = evaluator.reader.tokens_fed
    evaluator.score(replies)

    prompts = [
        tuple(tokenizer().encode(whole_prompt(*order)))
        for reply in replies
        for example in comparisons
        for order in ((reply, example), (example, reply))
    ]
    nodes = {prompt[:end] for prompt in prompts for end in range(1, len(prompt) + 1)}
    beginnings = {
        prompt[:end]
        for example in comparisons
        for prompt in [
            shared([tuple(tokenizer().encode(whole_prompt(example, other))) for other in unlike()])
        ]
        for end in range(1, len(prompt) + 1)
    }
    assert stem == len(beginnings)
    assert evaluator.reader.tokens_fed == stem + len(nodes - beginnings)
    whole = pair_eval(backbone("llama"), comparisons, share=False, token_budget=1)
    whole.score(replies)
    assert whole.reader.tokens_fed == sum(map(len, prompts))
    assert whole.reader.tokens_fed > 2 * evaluator.reader.tokens_fed


def unlike() -> list[ReplyToScore]:
    return [ReplyToScore("", one.history, one.response) for one in UNLIKE]


def shared(prompts: list[tuple[int, ...]]) -> tuple[int, ...]:
    one, other = prompts
    return one[: next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)]


def test_equal_replies_are_computed_once() -> None:
    evaluator = pair_eval(backbone("llama"), ragged(5, 3))
    (one,) = evaluator.score([HELLO])
    fed = evaluator.reader.tokens_fed
    scores = pair_eval(backbone("llama"), ragged(5, 3))
    again = scores.score([HELLO, ReplyToScore("same", HELLO.history, HELLO.response)])
    assert scores.reader.tokens_fed == fed
    assert [score.value for score in again] == pytest.approx([one.value, one.value])
    assert [score.id for score in again] == ["hello", "same"]


def test_a_row_says_what_the_score_rests_on() -> None:
    comparisons = ragged(5, 3)
    row = pair_eval(backbone("llama"), comparisons).score([HELLO])[0].as_row()
    assert list(row) == ["id", "score", "mass", "renormalised", "position_bias", "orders"]
    firsts, seconds = zip(*row["orders"], strict=True)
    assert row["score"] == pytest.approx(sum([*firsts, *seconds]) / 6)
    assert row["position_bias"] == pytest.approx(sum(firsts) / 3 - sum(seconds) / 3)
    assert 0 < row["score"] < row["mass"] < 1
    assert row["score"] < row["renormalised"] < 1


def test_weights_by_human_scores_multiply_each_comparison() -> None:
    comparisons = [
        ReplyToScore(one.id, one.history, one.response, human=grade)
        for one, grade in zip(ragged(5, 2), (5.0, 1.0), strict=True)
    ]
    score = pair_eval(backbone("llama"), comparisons, weights="human").score([HELLO])[0]
    first, second = (sum(order) / 2 for order in score.details["orders"])
    assert score.value == pytest.approx((5 * first + 1 * second) / 2)


def test_weights_by_human_scores_need_them() -> None:
    with pytest.raises(TrainingError, match="has no score by a person"):
        pair_eval(backbone("llama"), ragged(5, 2), weights="human")


def test_an_empty_response_has_no_score() -> None:
    row = pair_eval(backbone("llama"), ragged(5, 1)).score([ReplyToScore("7", ("Hi!",), " ")])[0].as_row()
    assert row == {"id": "7", "score": None, "reason": "The response is empty."}


def test_a_comparison_that_is_the_reply_is_left_out() -> None:
    comparisons = ragged(5, 3)
    same = ReplyToScore("same", comparisons[1].history, f" {comparisons[1].response} ")
    score = pair_eval(backbone("llama"), comparisons).score([same])[0]
    assert len(score.details["orders"]) == 2
    assert score.details["note"] == (
        "A comparison example equals this reply. It is compared with 2 examples instead of 3."
    )
    value, _orders = by_hand(backbone("llama"), same, [comparisons[0], comparisons[2]])
    assert score.value == pytest.approx(value, abs=CLOSE)


def test_a_reply_that_equals_every_comparison_has_no_score() -> None:
    comparisons = ragged(5, 1)
    score = pair_eval(backbone("llama"), comparisons).score(comparisons)[0]
    assert (score.value, score.reason) == (None, "Every comparison example equals this reply.")


def test_fewer_examples_than_k_are_named_in_the_row() -> None:
    score = pair_eval(backbone("llama"), ragged(5, 2), k=3).score([HELLO])[0]
    assert score.value is not None
    assert score.details["note"] == "It is compared with 2 examples instead of 3."


def test_the_oldest_utterances_of_a_long_history_are_left_out() -> None:
    comparisons = ragged(5, 2)
    history = tuple(f"tea {number} walk" for number in range(60))
    reply = ReplyToScore("long", history, "rain")

    def longest(dropped: int) -> int:
        shorter = ReplyToScore("", history[dropped:], "rain")
        both = [(shorter, one) for one in comparisons] + [(one, shorter) for one in comparisons]
        return max(len(tokenizer().encode(whole_prompt(*order))) for order in both)

    limit = longest(40)
    dropped = next(number for number in range(60) if longest(number) <= limit)
    score = pair_eval(backbone("llama"), comparisons, positions=limit).score([reply])[0]
    assert score.details["dropped_utterances"] == dropped
    assert score.details["note"].startswith(f"The {dropped} oldest utterances are left out")
    kept = ReplyToScore("", history[dropped:], "rain")
    assert score.value == pytest.approx(by_hand(backbone("llama"), kept, comparisons)[0], abs=CLOSE)


def test_a_prompt_that_does_not_fit_even_so_has_no_score() -> None:
    score = pair_eval(backbone("llama"), ragged(5, 1), positions=60).score([HELLO])[0]
    assert score.value is None
    assert "even with the last utterance only, and the model takes 60." in score.reason


def test_probabilities_that_are_not_numbers_give_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = pair_eval(backbone("gpt2"), ragged(5, 1))
    head = backbone("gpt2").get_output_embeddings()
    monkeypatch.setattr(head, "forward", lambda hidden: torch.full((len(hidden), 400), float("nan")))
    score = evaluator.score([HELLO])[0]
    assert score.value is None
    assert "not numbers" in score.reason


class TooLarge:
    """Runs batches of at most `tokens` tokens; for larger ones memory runs out."""

    def __init__(self, reader: PromptReader, tokens: int) -> None:
        self._run, self.tokens, self.refused = reader._run, tokens, 0
        self.reader = reader

    def __call__(self, batch: Any, labels: Any) -> Any:
        if sum(self.reader._row(run).tokens for run in batch) > self.tokens:
            self.refused += 1
            raise RuntimeError("DefaultCPUAllocator: not enough memory")
        return self._run(batch, labels)


def test_batches_are_halved_when_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons, replies = ragged(3, 3), ragged(4, 4)
    expected = pair_eval(backbone("llama"), comparisons).score(replies)
    evaluator = pair_eval(backbone("llama"), comparisons)
    limited = TooLarge(evaluator.reader, 500)
    monkeypatch.setattr(evaluator.reader, "_run", limited)
    found = evaluator.score(replies)
    assert limited.refused
    assert [one.value for one in found] == pytest.approx([one.value for one in expected], abs=CLOSE)


def test_a_prompt_too_large_for_memory_has_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = pair_eval(backbone("llama"), ragged(3, 1))
    monkeypatch.setattr(evaluator.reader, "_run", TooLarge(evaluator.reader, 1))
    score = evaluator.score([HELLO])[0]
    assert (score.value, score.reason) == (None, "Memory ran out, with this prompt alone.")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("sliding", "its attention sees 16 tokens only"),
        ("alibi", "trying it failed"),
        ("mamba", "it has layers that do not attend to all tokens"),
    ],
)
def test_models_that_cannot_share_encode_every_prompt_whole(shape: str, reason: str) -> None:
    model, comparisons, replies = backbone(shape), ragged(3, 2), ragged(4, 3)
    evaluator = pair_eval(model, comparisons)
    found = evaluator.score(replies)
    assert reason in evaluator.notes[0]
    for reply, score in zip(replies, found, strict=True):
        assert score.value == pytest.approx(by_hand(model, reply, comparisons)[0], abs=CLOSE)


def test_a_model_whose_cache_is_wrong_shares_within_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "preference.training.paireval.reading.can_stand_on_stem"
    monkeypatch.setattr(module, lambda _backbone: False)
    comparisons, replies = ragged(3, 2), ragged(4, 3)
    evaluator = pair_eval(backbone("llama"), comparisons)
    assert evaluator.reader.tokens_fed == 0
    for reply, score in zip(replies, evaluator.score(replies), strict=True):
        assert score.value == pytest.approx(by_hand(backbone("llama"), reply, comparisons)[0], abs=CLOSE)


def test_direct_eval_is_the_probability_of_yes() -> None:
    model = backbone("qwen3")
    prompt = (
        "[INST] Instruction: Given a conversation and a response, is the response good for the conversation?\n\n"
        "Conversation:\nHello there.\n\nResponse:\nI am fine.\n\n"
        "Is the above response a good response to the given conversation? "
        'Just answer in "Yes" or "No". [/INST]\nAnswer:'
    )
    yes, no = (tokenizer().encode(prompt + label) for label in (" Yes", " No"))
    at = next(place for place, (a, b) in enumerate(zip(yes, no, strict=False)) if a != b)
    with torch.no_grad():
        expected = model(torch.tensor([yes[:at]])).logits[0, -1].softmax(-1)
    row = direct_eval(model).score([HELLO])[0].as_row()
    assert row["score"] == pytest.approx(float(expected[yes[at]]), abs=CLOSE)
    assert row["mass"] == pytest.approx(float(expected[yes[at]] + expected[no[at]]), abs=CLOSE)


def test_the_chat_template_of_the_tokenizer_can_ask_the_question() -> None:
    words = tokenizer(CHAT_TEMPLATE)
    encoder = PromptEncoder(words, PAIR, "chat")
    (prompt,) = encoder.encode([(conversation_of(HELLO), conversation_of(HELLO))])
    text = words.decode(prompt.tokens)
    assert text.startswith("<|user|>Instruction: Given two conversations")
    assert text.endswith('or "Response B".<eou><|assistant|>Answer: Response')
    assert "[INST]" not in text


def test_what_decides_about_scores_is_described() -> None:
    comparisons = ragged(5, 4)
    about = pair_eval(backbone("llama"), comparisons, k=2).describe()
    assert about["name"] == "paireval"
    assert [row["id"] for row in about["comparisons"]] == [one.id for one in comparisons[:2]]
    assert (about["k"], about["template"], about["weights"]) == (2, "inst", "equal")
    assert direct_eval(backbone("llama")).describe()["question"] == "direct"
