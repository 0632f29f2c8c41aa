"""Ranking human replies among the candidates that were shown."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.evaluators.candidate_ranking import rank_candidates, turns_to_rank
from preference.training.evaluators.command import main


class LengthOrNothing:
    """The length of a reply; none for a reply that contains "long"."""

    name = "length"

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return [
            ReplyScore(reply.id, None, "The prompt is too long.")
            if "long" in reply.response
            else ReplyScore(reply.id, len(reply.response))
            for reply in replies
        ]

    def describe(self) -> dict[str, Any]:
        return {}


class Shortest(LengthOrNothing):
    name = "shortest"

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return [ReplyScore(reply.id, -len(reply.response)) for reply in replies]


def dialogue(name: str, language: str, *turns: tuple[str, tuple[str, ...]]) -> TrainingDialogue:
    """turns: the human reply and the candidates of each, after an opening."""
    return TrainingDialogue(
        name,
        "test",
        "",
        language,
        ("Hello!", *(human for human, _candidates in turns)),
        tuple(
            Turn(place, human, candidates, "rewrite", "")
            for place, (human, candidates) in enumerate(turns, start=1)
        ),
    )


DIALOGUES = [
    dialogue("one", "en", ("four", ("one", "three")), ("two", ("seven", "long"))),
    dialogue("two", "en", ("eleven", ("a", "bb"))),
    dialogue("three", "zh", ("十二", ("一", "十二三"))),
]


def test_figures_are_those_of_a_count_by_hand() -> None:
    report = rank_candidates([LengthOrNothing(), Shortest()], DIALOGUES, seed=3)
    assert (report["n_turns"], report["n_dialogues"]) == (4, 3)
    length = report["evaluators"]["length"]
    # "four" is above "one" and below "three"; "eleven" above both; "十二" above "一" only.
    assert (length["n_turns"], length["left_out"]) == (3, 1)
    assert length["reasons"]["The prompt is too long."] >= 1
    assert length["p_at_1"]["value"] == pytest.approx(1 / 3)
    assert length["pairs"]["human_model"]["value"] == pytest.approx(4 / 6)
    shortest = report["evaluators"]["shortest"]
    assert shortest["n_turns"] == 4
    # "two" is the shortest of its turn.
    assert shortest["p_at_1"]["value"] == pytest.approx(1 / 4)
    assert shortest["difference"]["p_at_1"]["n"] == 3
    assert shortest["difference"]["p_at_1"]["value"] == pytest.approx(-1 / 3)
    assert report["baselines"]["chance"]["p_at_1"]["value"] == pytest.approx(1 / 3)


def test_random_replies_are_of_another_dialogue_in_the_same_language() -> None:
    one, other, third, chinese = turns_to_rank(DIALOGUES, seed=1)
    assert {one.random, other.random} == {"eleven"}
    assert third.random in ("four", "two")
    assert chinese.random is None


def test_a_turn_is_scored_with_its_history() -> None:
    _first, second, *_rest = turns_to_rank(DIALOGUES, seed=1)
    assert second.history == ("Hello!", "four")


def test_the_command_prints_a_table_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.jsonl"
    turns = [{"utterance": "Hello!"}, {"utterance": "Hi there.", "response_candidates": ["Hi.", "No."]}]
    rows = [{"id": str(number), "split": "valid", "conversation": turns} for number in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["rank", "--data", str(file), "--split", "valid", "--evaluators", "length", "random"]
    assert main(arguments) == 0
    table = capsys.readouterr().out
    assert "3 dialogues, 3 turns" in table
    assert "random - length" in table
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["evaluators"]["length"]["p_at_1"]["value"] == 1
    assert set(report["described"]) == {"length", "random"}
    assert main(["rank", "--data", str(file), "--evaluators", "length"]) == 1
    assert "valid 3" in capsys.readouterr().err
