"""From the trained arms to the figures of the comparison."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from generation.backends.dialogue_format import DialogueFormat
from measures.ranking import ScoredTurn, rank_difference, rank_humans
from preference.training.common.dialogues import TrainingDialogue
from preference.training.joint.encoding import Encoder
from preference.training.joint.evaluation.controls import score_in_other_contexts
from preference.training.joint.evaluation.lexical import fit_lexical_ranker
from preference.training.joint.evaluation.report import (
    Figures,
    baseline_precision,
    mean_logprob,
    preference,
    ranking_figures,
    scored_turns,
)
from preference.training.joint.evaluation.scoring import ScoredReply, TurnScores, load_ranker, score_turns

ScoreOf = Callable[[ScoredReply], float]
SEED = 1  # of the intervals and of the contexts that are exchanged
# Pairs of rankings whose difference says something.
DIFFERENCES = (
    ("joint_preference", "generation_alone"),
    ("joint_preference", "lexical"),
    ("joint_preference", "other_contexts"),
    ("joint_preference", "joint_generation"),
    ("joint_preference", "untrained_head"),
)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The dialogues that are ranked, those that were trained on, and how a model reads both (as its recipe says)."""

    dialogues: Sequence[TrainingDialogue]
    train: Sequence[TrainingDialogue]
    context: int
    reply: int
    dialogue_format: DialogueFormat
    device: str
    threads: int | None


@dataclass(frozen=True, slots=True)
class ArmScores:
    """The scores of all turns, one list per seed. before: of the untrained model, whose head differs by seed."""

    joint: Sequence[Sequence[TurnScores]]
    moved: Sequence[Mapping[int, TurnScores]]
    generation: Sequence[Sequence[TurnScores]]
    before: Sequence[Sequence[TurnScores]]


def score_arms(data: HeldOut, base: str, output: Path, seeds: Sequence[int]) -> ArmScores:
    """Score every turn by every trained model and by the model before training."""
    if data.threads:
        torch.set_num_threads(data.threads)
    joint, moved, generation, before = [], [], [], []
    for seed in seeds:
        model, encoder = _load(data, str(output / f"joint-{seed}" / "model"))
        joint.append(score_turns(model, data.dialogues, encoder, seed=SEED))
        moved.append(score_in_other_contexts(model, data.dialogues, encoder, seed=SEED))
        model, encoder = _load(data, str(output / f"generation-{seed}" / "model"))
        generation.append(score_turns(model, data.dialogues, encoder, seed=SEED))
        model, encoder = _load(data, base, untrained_head=True, seed=seed)
        before.append(score_turns(model, data.dialogues, encoder, seed=SEED))
    return ArmScores(joint, moved, generation, before)


def _load(data: HeldOut, source: str, *, untrained_head: bool = False, seed: int = 1) -> tuple[Any, Encoder]:
    model, _head = load_ranker(
        source,
        untrained_head=untrained_head,
        seed=seed,
        device=data.device,
        dialogue_format=data.dialogue_format,
    )
    return model, model.encoder(context=data.context, reply=data.reply)


def build_report(scores: ArmScores, data: HeldOut) -> Figures:
    """Rankings by name, their differences paired by turn, and chance."""
    turns = scores.joint[0]
    rankings = {
        "joint_preference": _by(scores.joint, preference),
        "joint_generation": _by(scores.joint, mean_logprob),
        "generation_alone": _by(scores.generation, mean_logprob),
        "untrained_head": _by(scores.before, preference),
        "untrained_generation": _by(scores.before[:1], mean_logprob),
        "other_contexts": [
            _in_other_contexts(*pair) for pair in zip(scores.joint, scores.moved, strict=True)
        ],
    }
    if any(dialogue.turns for dialogue in data.train):
        rankings["lexical"] = [_by_words(turns, data.train)]
    dialogues: list[Hashable] = [turn.dialogue for turn in turns]
    return {
        "n_turns": len(turns),
        "n_dialogues": len(set(dialogues)),
        "rankings": {name: _figures(by_seed, dialogues) for name, by_seed in rankings.items()},
        "differences": {
            f"{one}-{other}": _difference(rankings[one], rankings[other], dialogues)
            for one, other in DIFFERENCES
            if other in rankings
        },
        "chance": baseline_precision(turns, lambda reply: 0.0, SEED).as_dict(),
    }


def _by(seeds: Sequence[Sequence[TurnScores]], score_of: ScoreOf) -> list[list[ScoredTurn]]:
    return [scored_turns(turns, score_of) for turns in seeds]


def _in_other_contexts(turns: Sequence[TurnScores], moved: Mapping[int, TurnScores]) -> list[ScoredTurn]:
    """A turn whose language only one dialogue has keeps its context."""
    return scored_turns([moved.get(place, turn) for place, turn in enumerate(turns)], preference)


def _by_words(turns: Sequence[TurnScores], train: Sequence[TrainingDialogue]) -> list[ScoredTurn]:
    ranker = fit_lexical_ranker(train)
    texts = sorted({reply.text for turn in turns for reply in (turn.human, *turn.candidates)})
    log_odds = dict(zip(texts, ranker.log_odds(texts), strict=True))
    return scored_turns(turns, lambda reply: log_odds[reply.text])


def _figures(by_seed: Sequence[Sequence[ScoredTurn]], dialogues: Sequence[Hashable]) -> Figures:
    """The mean over the seeds: a dialogue that is resampled comes with its turns under every seed."""
    pooled = rank_humans(
        [turn for turns in by_seed for turn in turns], [*dialogues] * len(by_seed), seed=SEED
    )
    each = [rank_humans(turns, dialogues, seed=SEED).p_at_1.value for turns in by_seed]
    return {**ranking_figures(pooled), "p_at_1_by_seed": each}


def _difference(
    one: Sequence[Sequence[ScoredTurn]], other: Sequence[Sequence[ScoredTurn]], dialogues: Sequence[Hashable]
) -> Figures:
    """other: of every seed, or one ranking that has no seed."""
    others = other if len(other) == len(one) else [other[0]] * len(one)
    difference = rank_difference(
        [turn for turns in one for turn in turns],
        [turn for turns in others for turn in turns],
        [*dialogues] * len(one),
        seed=SEED,
    )
    return ranking_figures(difference)
