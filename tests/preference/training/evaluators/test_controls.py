"""Controls and metrics with a reference, in English and Chinese."""

import pytest

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyScore
from preference.training.evaluators.table import KINDS, build_evaluator, build_evaluators, usage
from preference.training.evaluators.words import is_chinese, split_words
from tests.preference.training.evaluators.conftest import reply


def score(specification: str, response: str, reference: str | None = None) -> ReplyScore:
    (found,) = build_evaluator(specification).score([reply("a", response, reference=reference)])
    return found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know, Ann!", ["i", "don't", "know", ",", "ann", "!"]),
        ("我喜欢喝tea。", ["我", "喜", "欢", "喝", "tea", "。"]),
        ("안녕 하세요", ["안녕", "하세요"]),
        ("ด๊", ["ด", "๊"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_chinese_is_recognised() -> None:
    assert is_chinese("OK 好")
    assert not is_chinese("안녕, OK")


def test_controls() -> None:
    assert score("length", "我喜欢 tea").value == 7
    assert score("length=words", "我喜欢 tea").value == 4
    assert score("distinct=1", "tea tea tea coffee").value == pytest.approx(2 / 4)
    assert score("distinct", "tea tea tea coffee").value == pytest.approx(2 / 3)
    assert score("distinct", "tea").reason == "The response has fewer than 2 words."


def test_a_random_score_depends_on_seed_and_id_only() -> None:
    several = build_evaluator("random=3").score([reply(number) for number in range(200)])
    (alone,) = build_evaluator("random=3").score([reply(7)])
    (other,) = build_evaluator("random=4").score([reply(7)])
    values = [each.value or 0.0 for each in several]
    assert alone.value == several[7].value != other.value
    assert 0.4 < sum(values) / 200 < 0.6
    assert 0 <= min(values) < max(values) < 1


@pytest.mark.parametrize("specification", ["bleu", "bleu=2", "chrf", "rouge_l"])
@pytest.mark.parametrize(
    ("good", "poor", "reference"),
    [
        ("I like hot tea very much.", "It rains today in Rome.", "I like hot tea so much."),
        ("我非常喜欢喝热茶。", "今天天气不好，下雨。", "我很喜欢喝热茶。"),
    ],
)
def test_overlap_with_a_reference(specification: str, good: str, poor: str, reference: str) -> None:
    high, low, same = (score(specification, text, reference).value for text in (good, poor, reference))
    assert high is not None
    assert low is not None
    assert low < high < (same or 0)
    assert same == pytest.approx(1 if specification == "rouge_l" else 100)


def test_rouge_l_by_hand() -> None:
    """Longest common subsequence 4 of 5 and 6 words: F = 2 · 4/5 · 4/6 / (4/5 + 4/6)."""
    assert score("rouge_l", "a b c d e", "a x b c d y").value == pytest.approx(8 / 11)


@pytest.mark.parametrize("specification", ["bleu", "chrf", "rouge_l"])
def test_without_a_reference_there_is_no_score(specification: str) -> None:
    found = score(specification, "Fine.")
    assert (found.value, found.reason) == (None, "The row has no reference.")


@pytest.mark.parametrize("specification", ["length", "distinct", "random", "bleu", "chrf", "rouge_l"])
def test_an_empty_response_has_no_score(specification: str) -> None:
    found = score(specification, "", "Fine.")
    assert (found.value, found.reason) == (None, "The response is empty.")


def test_descriptions_name_what_decides() -> None:
    assert build_evaluator("bleu=2").describe()["order"] == 2
    assert "tok:zh" in build_evaluator("bleu").describe()["signatures"]["zh"]
    assert "chrf" not in str(build_evaluator("random=5").describe())
    assert build_evaluator("random=5").describe() == {"evaluator": "random", "seed": 5}


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("magic", "no evaluator magic"),
        ("", "no evaluator"),
        ("length=metres", "one of characters, words"),
        ("distinct=0", "at least 1"),
        ("distinct=two", "whole number"),
        ("bleu,order=2", "no setting order"),
        ("length,name", "not a setting"),
        ("length,name=a,name=b", "not a setting"),
        ("likelihood", "needs a value"),
        ("judge=http://x/v1", "needs a model"),
        ("judge=http://x/v1,model=m,parallel=many", "whole number"),
        ("judge=http://x/v1,model=m,language=fr", "one of en, zh"),
    ],
)
def test_specifications_that_are_wrong(specification: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        build_evaluator(specification)
    assert caught.value.remedy


def test_names_are_unique_before_anything_is_loaded() -> None:
    short, long = build_evaluators(["length", "length=words,name=words"])
    assert (short.name, long.name) == ("length", "words")
    with pytest.raises(TrainingError, match="called length"):
        build_evaluators(["likelihood=/no/such/folder", "length", "length=words"])


def test_the_help_text_lists_every_evaluator() -> None:
    assert all(name in usage() for name in KINDS)
