"""The corpus of the demo model."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from generation.demo_model.corpus import LANGUAGES, Turn, corpus_hash, heldout_openings, write_corpus
from generation.demo_model.corpus.reading import HERE, material, merge, read_question, read_topics
from generation.demo_model.corpus.wording import join
from preference.training.demo_model.candidates import judged_openings

HAN = re.compile(r"[\u4e00-\u9fff]")
Corpus = list[tuple[str, list[Turn]]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return write_corpus(seed=11, dialogues=3000)


def texts(corpus: Corpus, language: str) -> list[str]:
    return [text for tongue, dialogue in corpus if tongue == language for _, text in dialogue]


def test_openings_of_another_file_join_the_scenario_of_their_mood(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("@ tea: cup\n= good\no Tea!\nr Nice.\n", encoding="utf-8")
    (tmp_path / "two.txt").write_text("@ tea\n= good\no More tea!\n", encoding="utf-8")
    (tea,) = merge([*read_topics(tmp_path / "one.txt"), *read_topics(tmp_path / "two.txt")])
    assert [scenario.openings for scenario in tea.scenarios] == [("Tea!", "More tea!")]


def test_equal_seeds_give_equal_dialogues() -> None:
    assert write_corpus(7, 200) == write_corpus(7, 200)


def test_other_seeds_give_other_dialogues() -> None:
    assert write_corpus(7, 200) != write_corpus(8, 200)


def test_the_hash_does_not_change_between_calls() -> None:
    assert corpus_hash(50) == corpus_hash(50) != corpus_hash(60)


def test_languages_take_turns(corpus: Corpus) -> None:
    assert [language for language, _ in corpus[:4]] == ["en", "zh", "en", "zh"]


def test_english_holds_no_chinese_character(corpus: Corpus) -> None:
    assert not [text for text in texts(corpus, "en") if HAN.search(text)]


def test_every_chinese_utterance_but_short_ones_is_chinese(corpus: Corpus) -> None:
    assert not [text for text in texts(corpus, "zh") if len(text) > 2 and not HAN.search(text)]


def test_speakers_alternate_and_a_begins(corpus: Corpus) -> None:
    for _, dialogue in corpus:
        assert [speaker for speaker, _ in dialogue] == ["AB"[at % 2] for at in range(len(dialogue))]


def test_dialogues_are_two_to_twenty_four_utterances_long(corpus: Corpus) -> None:
    lengths = {len(dialogue) for _, dialogue in corpus}
    assert min(lengths) >= 2
    assert 18 <= max(lengths) <= 24


def test_no_utterance_is_empty_or_holds_an_unfilled_slot(corpus: Corpus) -> None:
    assert not [
        text
        for _, dialogue in corpus
        for _, text in dialogue
        if not text.strip() or re.search(r"[{}%|*]", text)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_forty_topics_and_more(language: str) -> None:
    assert len({topic.name for topic in material(language).topics}) > 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_scenario_has_a_known_mood_openings_and_replies(language: str) -> None:
    source = material(language)
    for topic in source.topics:
        for scenario in topic.scenarios:
            assert scenario.mood in source.moods, topic.name
            assert scenario.openings, topic.name
            assert scenario.replies, topic.name


def test_twenty_openings_a_language_are_held_out_half_of_them_outside_the_topics() -> None:
    openings = heldout_openings()
    for language in LANGUAGES:
        assert [where for tongue, where, _ in openings if tongue == language].count("inside") == 10
        assert [where for tongue, where, _ in openings if tongue == language].count("outside") == 10


def pieces(text: str) -> set[str]:
    """Three-letter pieces of English, two-character pieces of Chinese, without punctuation."""
    plain = re.sub(r"\W", "", text.lower())
    size = 2 if HAN.search(plain) else 3
    return {plain[at : at + size] for at in range(len(plain) - size + 1)}


def overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_held_out_opening_is_in_the_corpus_even_nearly(corpus: Corpus, language: str) -> None:
    first = [text for tongue, _, text in heldout_openings() if tongue == language]
    second = [opening.text for opening in judged_openings() if opening.language == language]
    lines = {text: pieces(text) for text in texts(corpus, language)}
    for opening in (*first, *second):
        held_out = pieces(opening)
        nearest = max(lines, key=lambda text: overlap(held_out, lines[text]))
        assert overlap(held_out, lines[nearest]) < 0.6, (opening, nearest)


def test_no_opening_that_two_readers_judged_is_like_another_one() -> None:
    known = {text: pieces(text) for _, _, text in heldout_openings()}
    for opening in judged_openings():
        fresh = pieces(opening.text)
        assert max(overlap(fresh, other) for other in known.values()) < 0.4, opening
        known[opening.text] = fresh


def test_source_files_stay_readable() -> None:
    for path in HERE.rglob("*.txt"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path.name


def test_a_comma_goes_on_in_lower_case_but_i_stays() -> None:
    assert join(["So,", "You did it."], "en") == "So, you did it."
    assert join(["So,", "I did it."], "en") == "So, I did it."


def test_a_question_without_an_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="No answer is given"):
        read_question("How are you?", mutual=True)


def test_general_reactions_do_not_answer() -> None:
    with pytest.raises(ValueError, match="No answer is given"):
        read_question("Hungry? > Yes. > I see. > *ok", mutual=True)


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    path.write_text("@ tea: cup\n? what\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"topics\.txt: unknown key '\?'"):
        read_topics(path)


def test_the_command_writes_json_lines_of_messages(tmp_path: Path) -> None:
    output = tmp_path / "corpus.jsonl"
    command = [
        sys.executable,
        "-m",
        "generation.demo_model.corpus",
        "--tokens",
        "2000",
        "--output",
        str(output),
    ]
    subprocess.run(command, check=True, cwd=HERE.parents[2])
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert {row["language"] for row in rows} == {"en", "zh"}
    assert rows[0]["messages"][0].keys() == {"speaker", "text"}
