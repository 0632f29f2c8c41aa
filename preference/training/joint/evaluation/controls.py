"""What a ranking is worth beside rankings that cannot have read the context.

- lexical: n-grams of the reply alone, fitted on the split train of the same data. If it ranks as well as the model
  does, the wording tells who wrote a reply, and the model may have learned no more than that.
- other_context: the same model, but every turn has the context of a turn in another dialogue of the same language. If
  the model ranks as well there, it does not use the context.

Chance, the third control, is among the baselines of the report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random

from measures.ranking import ScoredTurn, rank_difference, rank_humans
from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.joint.encoding import Encoder
from preference.training.joint.evaluation.lexical import fit_lexical_ranker
from preference.training.joint.evaluation.report import Figures, ranking_figures, scored_turns
from preference.training.joint.evaluation.scoring import ScoredReply, TurnScores, score_turns
from preference.training.joint.joint_model import JointModel

ScoreOf = Callable[[ScoredReply], float]


def score_in_other_contexts(
    model: JointModel, dialogues: Sequence[TrainingDialogue], encoder: Encoder, *, seed: int
) -> dict[int, TurnScores]:
    """By place of the turn among all turns, its scores with another context; see `move_contexts`."""
    moved = move_contexts(dialogues, seed=seed)
    return dict(zip(moved, score_turns(model, list(moved.values()), encoder, seed=seed), strict=True))


def move_contexts(dialogues: Sequence[TrainingDialogue], *, seed: int) -> dict[int, TrainingDialogue]:
    """Every turn with the context of a turn in another dialogue of its language, drawn from the seed.

    By place of the turn among all turns, a dialogue with this turn alone. Turns whose language only one dialogue has
    are left out.
    """
    random = Random(f"{seed}/contexts")
    by_language: dict[str, list[tuple[int, TrainingDialogue, int]]] = {}
    for index, dialogue in enumerate(dialogues):
        contexts = by_language.setdefault(dialogue.spoken_language, [])
        contexts += [(index, dialogue, turn.position) for turn in dialogue.turns]
    moved, place = {}, -1
    for index, dialogue in enumerate(dialogues):
        others = [
            (other, position)
            for number, other, position in by_language.get(dialogue.spoken_language, [])
            if number != index
        ]
        for turn in dialogue.turns:
            place += 1
            if not others:
                continue
            moved[place] = _with_context_of(*random.choice(others), dialogue, turn)
    return moved


def _with_context_of(
    other: TrainingDialogue, position: int, dialogue: TrainingDialogue, turn: Turn
) -> TrainingDialogue:
    """The turn alone, as if it were said at this position of another dialogue."""
    return dataclasses.replace(
        dialogue,
        utterances=(*other.utterances[:position], turn.human),
        turns=(dataclasses.replace(turn, position=position),),
        speakers=other.speakers[: position + 1],
    )


def control_figures(
    scores: Sequence[TurnScores],
    moved: Mapping[int, TurnScores],
    train: Sequence[TrainingDialogue],
    *,
    score_of: ScoreOf,
    seed: int,
) -> Figures:
    """The rankings of both controls, and by how much the model is better: `over_…`, paired by turn.

    scores: of all turns. moved: by place of the turn, its scores with another context. train: what the n-grams are
    fitted on; without a turn there is no lexical control. score_of: the score of the model that ranks.
    """
    figures: Figures = {}
    if any(dialogue.turns for dialogue in train):
        ranker = fit_lexical_ranker(train)
        texts = sorted({reply.text for turn in scores for reply in (turn.human, *turn.candidates)})
        log_odds = dict(zip(texts, ranker.log_odds(texts), strict=True))
        by_words = scored_turns(scores, lambda reply: log_odds[reply.text])
        figures |= _compared("lexical", scores, scored_turns(scores, score_of), by_words, seed)
    if moved:
        same = [scores[place] for place in moved]
        elsewhere = scored_turns(list(moved.values()), score_of)
        figures |= _compared("other_context", same, scored_turns(same, score_of), elsewhere, seed)
    return figures


def _compared(
    name: str,
    scores: Sequence[TurnScores],
    model: Sequence[ScoredTurn],
    control: Sequence[ScoredTurn],
    seed: int,
) -> Figures:
    dialogues: list[Hashable] = [turn.dialogue for turn in scores]
    return {
        name: ranking_figures(rank_humans(control, dialogues, seed=seed)),
        f"over_{name}": ranking_figures(rank_difference(model, control, dialogues, seed=seed)),
    }
