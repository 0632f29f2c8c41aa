"""Rankings that cannot have read the context, beside the model's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.joint.evaluation.command import main
from preference.training.joint.evaluation.controls import control_figures, move_contexts
from preference.training.joint.evaluation.report import preference
from preference.training.joint.evaluation.scoring import ScoredReply, TurnScores
from tests.preference.training.conftest import Trains, write_dialogues

SOUNDS = {"cat": "Meow.", "dog": "Woof.", "cow": "Mooo.", "hen": "Cluck."}


def two_turns(name: str, language: str) -> TrainingDialogue:
    utterances = tuple(f"{name}{place}" for place in range(3))
    turns = tuple(
        Turn(place, utterances[place], (f"{name} candidate {place}",), "rewrite", "") for place in (1, 2)
    )
    return TrainingDialogue(name, "test", "", language, utterances, turns)


DIALOGUES = [two_turns("a", "en"), two_turns("b", "en"), two_turns("c", "zh"), two_turns("d", "en")]


def test_a_moved_turn_has_a_context_of_another_dialogue_of_its_language() -> None:
    moved = move_contexts(DIALOGUES, seed=1)
    assert list(moved) == [0, 1, 2, 3, 6, 7]  # the one Chinese dialogue has no other
    turns = [turn for dialogue in DIALOGUES for turn in dialogue.turns]
    for place, dialogue in moved.items():
        (turn,) = dialogue.turns
        before = turns[place]
        assert (turn.human, turn.candidates) == (before.human, before.candidates)
        assert dialogue.utterances[turn.position] == turn.human
        own = before.human[0]
        source = {text[0] for text in dialogue.utterances[: turn.position]}
        assert len(source) == 1
        assert source < {"a", "b", "d"} - {own}


def test_contexts_are_drawn_from_the_seed() -> None:
    assert move_contexts(DIALOGUES, seed=1) == move_contexts(DIALOGUES, seed=1)
    drawn = {tuple(move_contexts(DIALOGUES, seed=seed)[0].utterances) for seed in range(20)}
    assert drawn == {("b0", "a1"), ("b0", "b1", "a1"), ("d0", "a1"), ("d0", "d1", "a1")}


def reply(text: str, score: float) -> ScoredReply:
    return ScoredReply(text, score, -1.0, 1)


def scored(dialogue: int, human: float, candidate: float) -> TurnScores:
    turn = DIALOGUES[dialogue].turns[0]
    return TurnScores(dialogue, turn, reply(turn.human, human), (reply(turn.candidates[0], candidate),), None)


def test_differences_are_paired_with_the_same_turns() -> None:
    scores = [scored(0, 2, 1), scored(2, 1, 2), scored(3, 2, 1)]
    moved = {0: scored(0, 1, 2), 2: scored(3, 2, 1)}
    figures = control_figures(scores, moved, [], score_of=preference, seed=1)
    assert figures.keys() == {"other_context", "over_other_context"}
    assert figures["other_context"]["p_at_1"]["value"] == 0.5
    assert figures["over_other_context"]["p_at_1"]["value"] == 0.5
    assert figures["over_other_context"]["p_at_1"]["n"] == 2


def test_n_grams_are_fitted_on_other_dialogues() -> None:
    # In training people write what ends in "1", and pass over what says "candidate".
    figures = control_figures([scored(0, 1, 2)], {}, DIALOGUES[1:], score_of=preference, seed=1)
    assert figures["lexical"]["p_at_1"]["value"] == 1
    assert figures["over_lexical"]["p_at_1"]["value"] == -1


def animals(split: str, count: int) -> list[dict[str, Any]]:
    """What fits depends on the animal alone; every sound is right as often as any other."""
    rows = []
    for number in range(count):
        animal = list(SOUNDS)[number % len(SOUNDS)]
        turn = {
            "utterance": SOUNDS[animal],
            "response_candidates": [sound for other, sound in SOUNDS.items() if other != animal],
        }
        opening = {"utterance": f"I have a {animal}.", "response_candidates": []}
        rows.append({"dialogue_id": f"{split}{number}", "split": split, "conversation": [opening, turn]})
    return rows


def test_what_only_the_context_tells_is_lost_with_another_context_and_unknown_to_n_grams(
    trains: Trains, tmp_path: Path
) -> None:
    # A cat more than of the others, because n-grams without any difference would tie, and ties count against people.
    data = write_dialogues(tmp_path / "animals.jsonl", animals("train", 33) + animals("test", 32))
    assert trains(tmp_path / "run", data=data, settings=("epochs=30", "nll_weight=0")) == 0
    report = tmp_path / "report.json"
    command = ["--data", str(data), "--model", str(tmp_path / "run" / "model"), "--output", str(report)]
    assert main(command) == 0
    found = json.loads(report.read_text())
    controls = found["controls"]
    assert found["overall"]["preference"]["p_at_1"]["value"] > 0.9
    lexical = controls["lexical"]["p_at_1"]
    assert lexical["low"] <= 1 / len(SOUNDS) <= lexical["high"]
    assert controls["over_other_context"]["p_at_1"]["low"] > 0
    assert controls["over_lexical"]["p_at_1"]["low"] > 0


def test_without_other_dialogues_to_fit_them_on_there_are_no_n_grams(
    trains: Trains, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_dialogues(tmp_path / "animals.jsonl", animals("train", 8))
    assert trains(tmp_path / "run", data=data, settings=("epochs=1",)) == 0
    assert main(["--data", str(data), "--model", str(tmp_path / "run" / "model"), "--split", "train"]) == 0
    shown = capsys.readouterr().out
    assert "The n-grams need other dialogues" in shown
    assert "contexts exchanged" in shown
    assert "n-grams, no context" not in shown
