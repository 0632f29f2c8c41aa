"""Distorted replies: how many words are replaced, and where."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.degradation import WORD, count_words, distort, replaced_words

words = st.text(alphabet="abcdefg'.,", min_size=1, max_size=6)
texts = st.lists(words, min_size=1, max_size=60).map(" ".join)
chinese = st.text(alphabet="我你他喜欢茶，。天气很好", min_size=1, max_size=60)
donors = st.lists(words, min_size=60, max_size=70).map(" ".join)


@pytest.mark.parametrize(
    "length, replaced",
    [
        *((1, 1), (3, 1), (4, 2), (5, 2), (6, 3), (8, 3), (9, 4), (15, 4), (16, 5), (29, 5)),
        *((30, 6), (34, 6), (35, 7), (100, 20)),
    ],
)
def test_the_paper_says_how_many_words_are_replaced(length: int, replaced: int) -> None:
    assert replaced_words(length) == replaced


@given(st.integers(3, 500))
def test_the_first_and_the_last_word_always_leave_room(length: int) -> None:
    assert replaced_words(length) <= length - 2


mixed = st.text(alphabet="我你他，ab c", min_size=1, max_size=60).filter(lambda text: bool(text.strip()))


@given(
    st.one_of(texts, chinese, mixed),
    st.one_of(donors, chinese.map(lambda text: text * 60)),
    st.integers(0, 2**32),
)
def test_only_the_span_changes(text: str, donor: str, seed: int) -> None:
    made = distort(text, donor, Random(seed))
    before, after = WORD.findall(text), WORD.findall(made.text)
    length = len(before)
    assert made.count == replaced_words(length)
    assert len(WORD.findall(made.removed)) == len(WORD.findall(made.inserted)) == made.count
    assert before[: made.start] == after[: made.start]
    rest = length - made.start - made.count
    assert rest == 0 or before[-rest:] == after[-rest:]
    if length >= 3:
        assert made.start >= 1
        assert rest >= 1


@given(texts, donors, st.integers(0, 2**32))
def test_the_seed_decides(text: str, donor: str, seed: int) -> None:
    assert distort(text, donor, Random(seed)) == distort(text, donor, Random(seed))


def test_a_chinese_reply_is_counted_in_characters() -> None:
    assert count_words("我喜欢喝茶。") == 6
    made = distort("我喜欢喝茶。", "今天天气很好", Random(1))
    assert (made.count, made.text[0], made.text[-1]) == (3, "我", "。")


def test_another_dialogue_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="1 words, and 2 are needed"):
        distort("one two three four", "one", Random(1))
