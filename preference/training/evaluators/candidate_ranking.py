"""How well evaluators put what people wrote above the candidates that they were shown.

A turn is one that people wrote with candidates on the screen. An evaluator scores the human reply, every candidate and
a reply of another dialogue in the same language. The figures are those of `joint.evaluation`: P@1 of the human reply,
and the share of pairs in the right order, human above candidate and human above random. Ties count against the human
reply; intervals are 95 %, from resampling whole dialogues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measures.ranking import rank_difference, rank_humans
from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import Evaluator, ReplyScore, ReplyToScore
from preference.training.common.scoring_run import score_in_batches
from preference.training.joint.evaluation.report import (
    TEXT_BASELINES,
    Figures,
    baseline_precision,
    pair_accuracies,
    ranking_figures,
    scored_turns,
)
from preference.training.joint.evaluation.table import format_estimate
from preference.training.joint.quadruples import draw_quadruples

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class EvaluatedReply:
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class EvaluatedTurn:
    """dialogue: index among the ranked ones. random: None if no other dialogue has the language."""

    dialogue: int
    human: EvaluatedReply
    candidates: tuple[EvaluatedReply, ...]
    random: EvaluatedReply | None

    @property
    def copies(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class _TurnToRank:
    dialogue: int
    history: tuple[str, ...]
    human: str
    candidates: tuple[str, ...]
    random: str | None

    @property
    def texts(self) -> list[str]:
        """The human reply, the candidates, the random reply."""
        return [self.human, *self.candidates, *([self.random] if self.random else [])]


def rank_candidates(
    evaluators: Sequence[Evaluator],
    dialogues: Sequence[TrainingDialogue],
    *,
    seed: int = 1,
    progress: Progress = lambda name, done, total: None,
) -> Figures:
    """Figures of each evaluator, as JSON values, and of baselines that look at the text alone.

    A turn in which an evaluator cannot score a reply is left out of its figures and counted, with the reason. Its
    `difference` is to the first evaluator, on the turns that both have. seed: of the random replies and the bootstrap.
    progress: called with the evaluator, the replies scored, and all of them. Raises TrainingError.
    """
    turns = turns_to_rank(dialogues, seed)
    replies = [
        ReplyToScore(f"{number}/{place}", turn.history, text)
        for number, turn in enumerate(turns)
        for place, text in enumerate(turn.texts)
    ]
    scored: dict[str, dict[int, EvaluatedTurn]] = {}
    figures: dict[str, Figures] = {}
    for evaluator in evaluators:

        def report(done: int, total: int, name: str = evaluator.name) -> None:
            progress(name, done, total)

        scores = score_in_batches(evaluator, replies, progress=report)
        scored[evaluator.name] = evaluated_turns(turns, scores)
        figures[evaluator.name] = _figures(scored[evaluator.name], scores, len(turns), seed)
    first = next(iter(scored))
    for name, theirs in scored.items():
        if name != first:
            figures[name]["difference"] = _difference(theirs, scored[first], seed)
    bare = [_evaluated(turn, [0.0] * len(turn.texts)) for turn in turns]
    return {
        "n_turns": len(turns),
        "n_dialogues": len({turn.dialogue for turn in turns}),
        "seed": seed,
        "evaluators": figures,
        "baselines": {
            name: {"p_at_1": baseline_precision(bare, score_of, seed).as_dict()}
            for name, score_of in TEXT_BASELINES.items()
        },
    }


def turns_to_rank(dialogues: Sequence[TrainingDialogue], seed: int) -> list[_TurnToRank]:
    """Every turn with candidates, in order."""
    random = _random_replies(dialogues, seed)
    return [
        _TurnToRank(
            index,
            tuple(dialogue.utterances[: turn.position]),
            turn.human,
            turn.candidates,
            random.get((index, place)),
        )
        for index, dialogue in enumerate(dialogues)
        for place, turn in enumerate(dialogue.turns)
    ]


def _random_replies(dialogues: Sequence[TrainingDialogue], seed: int) -> dict[tuple[int, int], str]:
    """A reply of another dialogue in the same language, by dialogue and place of the turn; drawn as in training."""
    try:
        quadruples = draw_quadruples(dialogues, seed=seed, epoch=0, similar=None)
    except TrainingError:  # every dialogue is the only one of its language
        return {}
    return {(one.dialogue, one.turn): one.random for one in quadruples}


def evaluated_turns(turns: Sequence[_TurnToRank], scores: Sequence[ReplyScore]) -> dict[int, EvaluatedTurn]:
    """The turns in which every reply has a score, by number. scores: of the replies of all turns, in their order."""
    left = iter(scores)
    evaluated = {}
    for number, turn in enumerate(turns):
        values = [next(left).value for _text in turn.texts]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            evaluated[number] = _evaluated(turn, known)
    return evaluated


def _evaluated(turn: _TurnToRank, values: Sequence[float]) -> EvaluatedTurn:
    human, *others = (EvaluatedReply(*pair) for pair in zip(turn.texts, values, strict=True))
    count = len(turn.candidates)
    return EvaluatedTurn(turn.dialogue, human, tuple(others[:count]), others[count] if turn.random else None)


def _score(reply: EvaluatedReply) -> float:
    return reply.score


def _figures(
    turns: Mapping[int, EvaluatedTurn], scores: Sequence[ReplyScore], total: int, seed: int
) -> Figures:
    kept = list(turns.values())
    ranking = rank_humans(scored_turns(kept, _score), [turn.dialogue for turn in kept], seed=seed)
    reasons = Counter(score.reason for score in scores if score.value is None)
    return {
        "n_turns": len(kept),
        "left_out": total - len(kept),
        "reasons": dict(reasons.most_common(5)),
        **ranking_figures(ranking),
        "pairs": pair_accuracies(kept, _score, seed),
    }


def _difference(mine: Mapping[int, EvaluatedTurn], first: Mapping[int, EvaluatedTurn], seed: int) -> Figures:
    both = [number for number in mine if number in first]
    return ranking_figures(
        rank_difference(
            scored_turns([mine[number] for number in both], _score),
            scored_turns([first[number] for number in both], _score),
            [mine[number].dialogue for number in both],
            seed=seed,
        )
    )


def ranking_table(report: Mapping[str, Any]) -> str:
    """The report for a terminal, one row for each evaluator and baseline."""
    lines = [
        f"{report['n_dialogues']} dialogues, {report['n_turns']} turns; [95 % interval]",
        f"{'human reply first, by':26}{'turns':>6}{'P@1':>24}{'human > candidate':>24}{'human > random':>24}",
    ]
    lines += [_line(name, figures) for name, figures in report["evaluators"].items()]
    for name, figures in report["baselines"].items():
        lines.append(f"{f'({name})':32}{format_estimate(figures['p_at_1']):>24}")
    for name, figures in report["evaluators"].items():
        if "difference" in figures:
            first = next(iter(report["evaluators"]))
            lines.append(f"{f'{name} - {first}':32}{format_estimate(figures['difference']['p_at_1']):>24}")
    for name, figures in report["evaluators"].items():
        lines += [f"{name}: {count} × {reason}" for reason, count in figures["reasons"].items()]
    return "\n".join(lines)


def _line(name: str, figures: Mapping[str, Any]) -> str:
    columns = (figures["p_at_1"], figures["pairs"]["human_model"], figures["pairs"]["human_random"])
    return f"{name:26}{figures['n_turns']:>6}" + "".join(f"{format_estimate(each):>24}" for each in columns)
