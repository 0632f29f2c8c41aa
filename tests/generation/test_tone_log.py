"""The log in which only the context decides: its rule, its balance, and that its splits share no text."""

import json
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from dialogues.derived_actions import derive_action
from generation.backends.hf import HFBackend
from generation.backends.replies import reply_key
from generation.demo_model.corpus.reading import material
from generation.demo_model.demo_log import HERE
from generation.demo_model.tone_log.annotator import DISPLAYED, SHARES, TONES, answer, in_tone
from generation.demo_model.tone_log.making import (
    HELD_OUT,
    HELD_OUT_ROUNDS,
    ROUND,
    begin_dialogue,
    dialogue_row,
    write_log,
)
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet
from measures.ranking import ScoredTurn, first_by_chance, rank_humans
from preference.training.common.dialogues import TrainingDialogue, read_dialogues
from preference.training.common.languages import guess_language
from preference.training.joint.evaluation.lexical import fit_lexical_ranker

THOUGHTS = [f"{word} is in the garden." for word in ("Rain", "Anna", "My old bicycle", "It", "Snow", "Tom")]
THOUGHTS += ["Do you like films about the sea?", "I see."]


class LinesOfTheCorpus:
    """A backend that answers with lines of the corpus, drawn from the seed: fast, and without any idea of fit."""

    version = "lines@1"

    def __init__(self) -> None:
        self._lines = {
            language: sorted(
                {line for topic in material(language).topics for s in topic.scenarios for line in s.replies}
            )
            for language in ("en", "zh")
        }

    def check(self) -> None:
        pass

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        return [ReplySet(tuple(self._replies(request))) for request in requests]

    def _replies(self, request: ReplyRequest) -> list[Reply]:
        language = guess_language([message.text for message in request.context])
        random = Random(request.seed)
        lines = random.sample(self._lines["zh" if language == "zh" else "en"], request.count)
        return [Reply(line, place, 5, logprob=-random.random()) for place, line in enumerate(lines)]

    def close(self) -> None:
        pass


def answers(count: int) -> list[tuple[Any, tuple[str, ...]]]:
    return [answer(THOUGHTS, "~", Random(seed)) for seed in range(count)]


def tone_of(text: str) -> str:
    return text.rpartition(" ")[2]


def test_only_what_is_said_has_the_tone_of_the_dialogue() -> None:
    for said, displayed in answers(200):
        assert said.text == "Rain is in the garden. ~"
        others = [text for text in displayed if text != said.text]
        assert len(displayed) == DISPLAYED
        assert len({tone_of(text) for text in others}) == len(others)
        assert "~" not in {tone_of(text) for text in others}


def test_actions_are_those_of_the_product() -> None:
    for said, displayed in answers(200):
        derived = derive_action(said.text, displayed)
        assert (said.action, said.source, said.edit_distance) == (
            derived.action,
            derived.source,
            derived.edit_distance,
        )
    counts = Counter(said.action for said, _ in answers(2000))
    assert counts["select"] / 2000 == pytest.approx(SHARES["select"], abs=0.03)
    # A rewrite of which a displayed text happens to be near is a revision.
    assert counts["revise"] / 2000 > SHARES["revise"]


def test_closed_texts_are_not_displayed() -> None:
    closed = {reply_key(in_tone("I see.", tone)) for tone in TONES}
    for seed in range(50):
        _, displayed = answer(THOUGHTS, "~", Random(seed), closed=closed)
        assert not closed & {reply_key(text) for text in displayed}


def test_every_split_has_every_tone_equally_often() -> None:
    dialogues = [
        begin_dialogue(number, set()) for number in range(ROUND * HELD_OUT_ROUNDS * len(HELD_OUT) + ROUND)
    ]
    counts = Counter((dialogue.split, dialogue.plan.language, dialogue.tone) for dialogue in dialogues)
    assert {split for split, _, _ in counts} == {*HELD_OUT, "train"}
    for (split, _, _), count in counts.items():
        assert count == (HELD_OUT_ROUNDS if split in HELD_OUT else 1)


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> list[TrainingDialogue]:
    path = tmp_path_factory.mktemp("tone") / "log.jsonl"
    written = write_log(range(ROUND * HELD_OUT_ROUNDS * len(HELD_OUT)), LinesOfTheCorpus())
    path.write_text("".join(json.dumps(dialogue_row(dialogue)) + "\n" for dialogue in written))
    return read_dialogues(path)


def texts(dialogues: Sequence[TrainingDialogue], split: str) -> set[str]:
    of = [dialogue for dialogue in dialogues if dialogue.split == split]
    displayed = {text for dialogue in of for turn in dialogue.turns for text in turn.candidates}
    return {reply_key(text) for text in displayed | {text for dialogue in of for text in dialogue.utterances}}


def test_splits_share_no_text(held_out: list[TrainingDialogue]) -> None:
    one, other = (texts(held_out, split) for split in HELD_OUT)
    assert len(one) > 1000 < len(other)
    assert not one & other


def test_n_grams_without_a_context_are_at_chance(held_out: list[TrainingDialogue]) -> None:
    """Also about replies that are as they were in training, apart from the tone."""
    one, other = ([dialogue for dialogue in held_out if dialogue.split == split] for split in HELD_OUT)
    ranker = fit_lexical_ranker(one)
    scored, dialogues = [], []
    for number, dialogue in enumerate(other):
        for turn in dialogue.turns:
            human, *rest = ranker.log_odds([turn.human, *turn.candidates])
            scored.append(ScoredTurn(turn.human, human, turn.candidates, tuple(rest)))
            dialogues.append(number)
    level = [ScoredTurn(turn.human, 0.0, turn.candidates, (0.0,) * len(turn.scores)) for turn in scored]
    chance = sum(first_by_chance(turn) or 0 for turn in level) / len(level)
    found = rank_humans(scored, dialogues).p_at_1
    assert len(scored) > 200
    assert (found.low or 0) <= chance <= (found.high or 0)


@pytest.mark.slow
def test_the_model_writes_the_same_again() -> None:
    backend = HFBackend(str(HERE.parent / "base_model"), threads=1)
    one, again = ([dialogue_row(dialogue) for dialogue in write_log([0, 1], backend)] for _ in range(2))
    backend.close()
    assert one == again
    assert {row["scripted"] for row in one} == {True}
    for turn in (turn for row in one for turn in row["conversation"][1:]):
        assert turn["model_version"]
        assert (
            reply_key(turn["utterance"]) in map(reply_key, turn["response_candidates"])
            or turn["action"] != "select"
        )
