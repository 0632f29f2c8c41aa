"""Which replies people are offered: in the dialogue's script, whole, different; fewer rather than bad, never none."""

import pytest

from generation.backends.choosing import ALIKE, BROKEN, FOREIGN, are_alike, choose_replies, is_broken
from generation.protocol import Message, Reply, ReplyRequest, ReplySet
from generation.scripts import allowed_scripts

SENTENCES = [
    "It was cold and wet.",
    "My brother plays the drums.",
    "Have you tried another shop?",
    "I never liked coffee much.",
    "That would be lovely!",
    "We took the night train to Vienna.",
    "Nobody told me about the party.",
    "Let us cook something together.",
]


def replies(*texts: str, scores: list[float] | None = None, tokens: int = 5) -> ReplySet:
    given = scores or [None] * len(texts)  # type: ignore[list-item]
    return ReplySet(
        tuple(
            Reply(text, seed, tokens, -3.0, score)
            for seed, (text, score) in enumerate(zip(texts, given, strict=True))
        )
    )


def chosen(answer: ReplySet, count: int = 7, scripts: tuple[str, ...] = ("LATIN",)) -> ReplySet:
    request = ReplyRequest(
        "d", (Message("A", "Hello."),), "B", seed=1, count=count, scripts=scripts, spare=11
    )
    return choose_replies(request, answer)


def texts(answer: ReplySet) -> list[str]:
    return [reply.text for reply in answer.replies]


def test_a_reply_with_a_foreign_letter_is_dropped_and_the_reason_given() -> None:
    answer = chosen(replies("About始 isn't hot.", *SENTENCES[:2]), count=3)
    assert texts(answer) == SENTENCES[:2]
    assert answer.failures == (FOREIGN,)


def test_names_in_the_scripts_of_the_dialogue_are_kept() -> None:
    scripts = allowed_scripts("zh", ["我喜欢 Python"])
    assert scripts == ("CJK", "LATIN")
    assert texts(chosen(replies("我也用 Python。"), scripts=scripts)) == ["我也用 Python。"]


def test_of_replies_that_differ_by_a_word_one_is_kept() -> None:
    answer = chosen(replies("I like my old red car.", "I like my new red car.", "Cars are loud."), count=3)
    assert texts(answer) == ["I like my old red car.", "Cars are loud."]
    assert answer.failures == (ALIKE,)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Yes.", "No.", False),
        ("Yes!", "yes.", True),
        ("我昨天去了公园散步。", "我昨天去了公园跑步。", True),
        ("我昨天去了公园散步。", "你家的猫多大了？", False),
        ("I am fine.", "I am fine. And you?", True),
        ("And you? I am fine.", "I am fine", True),
        ("我昨天去了公园散步。", "我昨天去了公园散步。你呢？", True),
        ("Yes.", "Yes. I went there with my sister.", False),
        ("I am fine.", "I am fine. And you? It is late.", False),
        ("I paid 3.50 for it.", "I paid 3.50 for it. Was that too much?", True),
    ],
)
def test_alike_means_a_word_or_a_sentence_at_most(one: str, other: str, alike: bool) -> None:
    assert are_alike(one, other) == alike


@pytest.mark.parametrize(
    "text", ["It is (as I said late.", "no no no, please", "…!", "A b\ufffdd letter.", "Say “hello."]
)
def test_a_broken_sentence_is_dropped(text: str) -> None:
    answer = chosen(replies(text, SENTENCES[0]), count=2)
    assert texts(answer) == [SENTENCES[0]]
    assert answer.failures == (BROKEN,)


def test_a_reply_that_was_cut_is_broken_unless_a_sentence_ends_there() -> None:
    cut, whole = (Reply(text, 1, 64) for text in ("and then we went to the", "and then we went home."))
    assert is_broken(cut, 64)
    assert not is_broken(whole, 64)
    assert not is_broken(Reply("and then we went to the", 1, 63), 64)


def test_if_nothing_is_good_the_least_bad_ones_stay() -> None:
    cut = [f"word{n} and then we went to the" for n in range(9)]
    answer = chosen(replies("全是汉字。", *cut, tokens=64))
    assert texts(answer) == cut[:7]
    assert answer.failures == ()
    assert texts(chosen(replies("全是汉字。"))) == ["全是汉字。"]


def test_the_best_and_different_ones_are_taken_as_they_were_drawn() -> None:
    answer = replies(*SENTENCES, scores=[0.1, 0.9, 0.2, 0.3, 0.8, 0.4, 0.5, 0.6])
    kept = chosen(answer, count=3)
    assert SENTENCES[1] in texts(kept)
    assert SENTENCES[0] not in texts(kept)
    assert all(reply in answer.replies for reply in kept.replies)  # seed, tokens and log-probability as drawn


def test_without_scores_the_likelier_ones_are_taken_whatever_their_length() -> None:
    """Mean log-probability of a token: a long reply has a lower sum, and is not worse for that."""
    sums = [(-9.0, 5), (-2.4, 5), (-12.0, 23), (-30.0, 5)]
    drawn = zip(SENTENCES, sums, strict=False)
    answer = ReplySet(
        tuple(Reply(text, n, tokens, logprob) for n, (text, (logprob, tokens)) in enumerate(drawn))
    )
    assert texts(chosen(answer, count=1)) == [SENTENCES[1]]
    assert texts(chosen(answer, count=2)) == [SENTENCES[1], SENTENCES[2]]


def test_a_server_without_log_probabilities_gives_its_first_ones() -> None:
    answer = ReplySet(tuple(Reply(text, n, 5) for n, text in enumerate(SENTENCES)))
    assert SENTENCES[0] in texts(chosen(answer, count=1))
