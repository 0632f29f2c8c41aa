"""The exchanges and conversations of the demo model's corpus that were written by hand."""

import random
import re
from pathlib import Path

import pytest

from generation.demo_model.corpus import LANGUAGES, heldout_openings, write_corpus
from generation.demo_model.corpus.general import CAUTIOUS, KINDS, OTHER, cautious_replies, general_replies
from generation.demo_model.corpus.wording import join
from generation.demo_model.corpus.written import (
    STOP,
    Exchange,
    conversations,
    exchanges,
    read_conversations,
    read_exchanges,
)
from preference.training.demo_model.candidates import judged_openings
from tests.generation.test_demo_corpus import HAN, overlap, pieces


def file(folder: Path, text: str) -> Path:
    path = folder / "01.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_opening_occurs_once_and_has_several_replies(language: str) -> None:
    every = exchanges(language)
    assert len(every) > 4000
    assert len({exchange.opening.lower().rstrip(".。!！?？") for exchange in every}) == len(every)
    assert not [one for one in every if not 2 <= len(set(one.replies)) == len(one.replies) <= 6]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_in_its_language(language: str) -> None:
    texts = [text for exchange in exchanges(language) for text in (exchange.opening, *exchange.replies)]
    texts += [text for conversation in conversations(language) for text in conversation]
    assert not [text for text in texts if bool(HAN.search(text)) == (language == "en")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_held_out_opening_is_among_them_even_nearly(language: str) -> None:
    held_out = [text for tongue, _, text in heldout_openings() if tongue == language]
    held_out += [opening.text for opening in judged_openings() if opening.language == language]
    openings = [pieces(exchange.opening) for exchange in exchanges(language)]
    nearest = {text: max(overlap(pieces(text), other) for other in openings) for text in held_out}
    assert max(nearest.values()) < 0.6, nearest


@pytest.mark.parametrize("language", LANGUAGES)
def test_conversations_are_long_enough_to_teach_how_they_go_on(language: str) -> None:
    every = conversations(language)
    assert len(every) > 300
    assert len({conversation[0] for conversation in every}) > 0.95 * len(every)
    assert not [one for one in every if not 6 <= len(one) <= 12]


def test_a_share_of_the_corpus_is_written_by_hand() -> None:
    replies = {reply for language in LANGUAGES for one in exchanges(language) for reply in one.replies}
    groups = [found(language) for language in LANGUAGES for found in (general_replies, cautious_replies)]
    every = {general for group in groups for general in group.values()}
    replies |= {general.write(random.Random(seed)) for general in every for seed in range(20_000)}
    replies |= {conversation[1] for language in LANGUAGES for conversation in conversations(language)}

    def share(written: float) -> float:
        dialogues = [dialogue for _, dialogue in write_corpus(1, 1000, written=written)]
        return sum(dialogue[1][1] in replies for dialogue in dialogues) / 1000

    assert share(0) < 0.05
    assert 0.45 < share(0.5) < 0.6
    assert share(1) == 1


def test_an_opening_is_varied_and_a_reply_is_not() -> None:
    exchange = Exchange("My cat sheds all over the sofa.", OTHER, ("Mine too!", "Poor sofa."))
    written = {exchange.write("en", random.Random(seed)) for seed in range(200)}
    assert {reply for _, reply in written} == set(exchange.replies)
    assert {"My cat sheds all over the sofa.", "my cat sheds all over the sofa"} <= {
        text for text, _ in written
    }


@pytest.mark.parametrize(
    ("language", "kind", "opening", "mark"),
    [
        ("zh", "report", "楼下的公交站换了新的时刻表", "。"),
        ("zh", "question_about_you", "你睡觉会说梦话吗", "？"),
        ("en", "report", "The bus stop has a new timetable", "."),
        ("en", "why", "why is the sea salty", "?"),
    ],
)
def test_an_opening_without_a_mark_is_also_seen_with_one(
    language: str, kind: str, opening: str, mark: str
) -> None:
    exchange = Exchange(opening, kind, ("…",))
    written = [exchange.write(language, random.Random(seed))[0] for seed in range(400)]
    assert sum(text.endswith(mark) for text in written) / 400 == pytest.approx(STOP, abs=0.08)
    assert opening in written


def test_an_opening_of_a_kind_gets_general_replies_as_well() -> None:
    exchange = Exchange("I won!", "good_news", ("How nice of the jury.",))
    general, cautious = general_replies("en")["good_news"], cautious_replies("en")["good_news"]
    written = [reply for _, reply in (exchange.write("en", random.Random(seed)) for seed in range(1000))]

    def share(*groups: tuple[str, ...]) -> float:
        return sum(any(reply in group for group in groups) for reply in written) / 1000

    both = [
        tuple(join([first, second], "en") for first in one.first for second in one.second)
        for one in (general, cautious)
    ]
    assert share(exchange.replies) == pytest.approx(0.1, abs=0.03)
    assert share(*both) == pytest.approx(0.9 * 0.40, abs=0.05)
    assert share(general.first, both[0]) == pytest.approx(0.9 * 0.35 * 0.75, abs=0.05)
    assert share(cautious.first, both[1]) == pytest.approx(0.9 * 0.65 * 0.75, abs=0.05)
    assert share(exchange.replies, general.first, general.second, cautious.first, cautious.second, *both) == 1


def test_kinds_without_cautious_replies_get_their_own() -> None:
    exchange = Exchange("Tell me a joke.", "request", ("I know none.",))
    general = general_replies("en")["request"]
    written = {exchange.write("en", random.Random(seed))[1] for seed in range(300)} - {"I know none."}
    both = {join([first, second], "en") for first in general.first for second in general.second}
    assert written <= {*general.first, *general.second, *both}


def test_a_question_is_not_answered_by_a_second_sentence_alone() -> None:
    exchange = Exchange("Have you ever seen a bear?", "question_about_you", ("Once, in a zoo.",))
    written = {exchange.write("en", random.Random(seed))[1] for seed in range(300)}
    assert not written & set(general_replies("en")["question_about_you"].second)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("group", CAUTIOUS)
def test_cautious_replies_take_no_side(language: str, group: str) -> None:
    cautious = [cautious_replies(language)[kind] for kind in CAUTIOUS[group]]
    assert len(set(cautious)) == 1
    lines = (*cautious[0].first, *cautious[0].second)
    assert len(set(lines)) == len(lines) > 40
    assert not [line for line in lines if bool(HAN.search(line)) == (language == "en")]
    sided = r"[!！]|sorry|sad|happy|congratulat|great|poor|恭喜|难过|可惜|节哀|倒霉|太好了"
    assert not [line for line in lines if re.search(sided, line.casefold())]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_many_general_replies_and_openings(language: str, kind: str) -> None:
    general = general_replies(language)[kind]
    lines = (*general.first, *general.second)
    assert len(general.first) >= 20
    assert len(general.second) >= 10
    assert len(set(lines)) == len(lines)
    assert not [line for line in lines if bool(HAN.search(line)) == (language == "en")]
    assert sum(exchange.kind == kind for exchange in exchanges(language)) >= 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_cheers_at_a_death(language: str) -> None:
    death = general_replies(language)["death"]
    assert not [line for line in (*death.first, *death.second) if re.search(r"[!！?？]", line)]


def test_a_file_is_read(tmp_path: Path) -> None:
    path = file(tmp_path, "o Hi\nk other\nr Hello. | Hey!\n\no I won!\nk good_news\nr How nice.\n")
    first, second = read_exchanges(path)
    assert first == Exchange("Hi", "other", ("Hello.", "Hey!"))
    assert second == Exchange("I won!", "good_news", ("How nice.",))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("r Hello.\n", r"01\.txt, 'r Hello\.': an opening"),
        ("o Hi\no Bye\nr See you.\n", "'o Bye'"),
        ("o Hi\nr Hello.\n", r"'r Hello\.'"),
        ("o Hi\nk other\nr Hello.\nr Hey.\n", r"'r Hey\.'"),
        ("x Hi\n", "'x Hi'"),
        ("o Hi\nk greeting\n", "'k greeting': this kind is unknown"),
        ("o Hi\nk other\nr Hello.\n\no Bye\n", "the last opening has no replies"),
    ],
)
def test_a_file_that_mixes_them_up_is_refused(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        list(read_exchanges(file(tmp_path, text)))


def test_a_file_of_conversations_is_read(tmp_path: Path) -> None:
    path = file(tmp_path, "- Hi\n- Hello.\n- How are you?\n\n- Bye\n- See you.\n")
    assert list(read_conversations(path)) == [("Hi", "Hello.", "How are you?"), ("Bye", "See you.")]


@pytest.mark.parametrize("text", ["- Hi\nHello.\n", "- Hi\n\n- Hello.\n"])
def test_a_conversation_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"01\.txt, '- Hi': a conversation is"):
        list(read_conversations(file(tmp_path, text)))
