"""Scores of the human reply and of every displayed candidate of a turn, by preference and by generation probability.

What a dialogue says is encoded once: the replies that people chose are a trunk, and at every turn the candidates and a
random reply hang on it as leaves (`layouts.rows`). Scores are those of encoding every reply with its own context.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from generation.backends.hf import loading
from generation.backends.hf.scoring import HEAD_FILE
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.joint.data import TrainingDialogue, Turn
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.choice import why_not_shared
from preference.training.joint.layouts.rows import ROOT, Row, collate
from preference.training.joint.layouts.steps import ROW_TOKENS, grouped
from preference.training.joint.layouts.units import Unit
from preference.training.joint.sampling import quadruples

HUMAN = -1  # number of the human reply; candidates count from 0, a random reply comes after them


@dataclass(frozen=True, slots=True)
class ReplyScore:
    """preference: of the head; logprob: of all tokens with the end, in nats; tokens: how many these are."""

    text: str
    preference: float
    logprob: float
    tokens: int

    @property
    def mean_logprob(self) -> float:
        return self.logprob / self.tokens


@dataclass(frozen=True, slots=True)
class TurnScores:
    """dialogue: index in what was scored. random: a reply of another dialogue, None where there is no other."""

    dialogue: int
    turn: Turn
    human: ReplyScore
    candidates: tuple[ReplyScore, ...]
    random: ReplyScore | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A turn to be scored: its place among all turns, and its replies by number."""

    place: int
    dialogue: int
    turn: Turn
    random: str | None

    @property
    def replies(self) -> dict[int, str]:
        others = [*self.turn.candidates, *([self.random] if self.random else [])]
        return {HUMAN: self.turn.human, **dict(enumerate(others))}


def load_ranker(
    source: str, *, untrained_head: bool = False, seed: int = 1, device: str = "auto"
) -> tuple[JointModel, str | None]:
    """The model, and whether its head is "trained", "untrained", or None where it has none. Raises TrainingError."""
    model = JointModel.from_pretrained(source, seed=seed)
    trained = (Path(source).expanduser() / HEAD_FILE).is_file()
    if untrained_head and trained:
        model = JointModel(model.backbone, model.tokenizer, seed=seed)
    if device == "cuda" and not torch.cuda.is_available():
        raise TrainingError(_("A GPU is asked for, and PyTorch sees none."), _("Leave --device out."))
    on_gpu = device != "cpu" and torch.cuda.is_available()
    model.to("cuda" if on_gpu else "cpu")
    return model, "untrained" if untrained_head else "trained" if trained else None


def version_of(source: str, model: JointModel) -> str:
    """As candidates of this model are logged."""
    return loading.version_of(source, lambda: loading.Loaded(model.backbone, None, frozenset(), (), 0))


def score_turns(
    model: JointModel,
    dialogues: Sequence[TrainingDialogue],
    encoder: Encoder,
    *,
    seed: int = 1,
    token_budget: int = ROW_TOKENS,
    share_contexts: bool | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[TurnScores]:
    """Of all turns, in their order. seed: of the random replies. share_contexts: None where the model allows it.

    progress is told (turns done, all turns). Raises TrainingError for scores that are no numbers.
    """
    asked = _asked(dialogues, seed)
    if share_contexts is None:
        share_contexts = not why_not_shared(model, encoder.context_limit + encoder.reply_limit)
    rows = list(_trees(dialogues, asked, encoder) if share_contexts else _chains(dialogues, asked, encoder))
    found: dict[tuple[int, int], tuple[float, float, int]] = {}
    was_training, done = model.training, 0
    model.eval()
    try:
        for group in grouped([Unit([row]) for row in rows], token_budget):
            scored = _scored(model, [row for unit in group for row in unit.rows], encoder.pad)
            found |= scored
            done += sum(number == HUMAN for _, number in scored)
            progress(done, len(asked))
    finally:
        model.train(was_training)
    return [_turn_scores(one, found) for one in asked]


def _asked(dialogues: Sequence[TrainingDialogue], seed: int) -> list[_Asked]:
    """A random reply for every turn; without one where no other dialogue has a reply to give."""
    try:
        drawn = quadruples(dialogues, seed=seed, epoch=0, similar=None)
    except TrainingError:
        drawn = []
    elsewhere = {(one.dialogue, one.turn): one.random for one in drawn}
    turns = [
        (at, place, turn)
        for at, dialogue in enumerate(dialogues)
        for place, turn in enumerate(dialogue.turns)
    ]
    return [
        _Asked(number, at, turn, elsewhere.get((at, place))) for number, (at, place, turn) in enumerate(turns)
    ]


def _chains(
    dialogues: Sequence[TrainingDialogue], asked: Sequence[_Asked], encoder: Encoder
) -> Iterator[Row]:
    """A row a reply, each with its own copy of the context: for models that cannot share one."""
    for one in asked:
        context = encoder.context(dialogues[one.dialogue].utterances[: one.turn.position])
        for number, text in one.replies.items():
            row = Row()
            row.add(encoder.reply(text), row.add(context), reply=(one.place, number), learned=True)
            yield row


def _trees(dialogues: Sequence[TrainingDialogue], asked: Sequence[_Asked], encoder: Encoder) -> Iterator[Row]:
    """Trees of about ROW_TOKENS at most; turns whose context or reply would be cut have a row of their own."""
    tree: _Tree | None = None
    for one in asked:
        words = dialogues[one.dialogue].utterances
        if not _whole(words[: one.turn.position], one.turn.human, encoder):
            yield _alone(words, one, encoder)
            continue
        if tree is None or tree.words is not words or tree.row.tokens >= ROW_TOKENS:
            if tree:
                yield tree.row
            tree = _Tree(words, encoder)
        tree.hang(one)
    if tree:
        yield tree.row


def _whole(context: Sequence[str], human: str, encoder: Encoder) -> bool:
    tokens = len(encoder.start) + sum(len(encoder.utterance(text)) for text in context)
    return tokens <= encoder.context_limit and len(encoder.utterance(human)) <= encoder.reply_limit


def _alone(words: Sequence[str], one: _Asked, encoder: Encoder) -> Row:
    row = Row()
    context = row.add(encoder.context(words[: one.turn.position]))
    for number, text in one.replies.items():
        row.add(encoder.reply(text), context, reply=(one.place, number), learned=True)
    return row


class _Tree:
    """What was said as a trunk, utterance by utterance, with the other replies of its turns."""

    def __init__(self, words: Sequence[str], encoder: Encoder) -> None:
        self.words, self.row = words, Row()
        self._encoder = encoder
        self._said, self._top = 0, ROOT

    def hang(self, one: _Asked) -> None:
        while self._said < one.turn.position:
            self._grow()
        context = self._top
        self._grow(reply=(one.place, HUMAN))
        for number, text in one.replies.items():
            if number != HUMAN:
                self.row.add(self._encoder.reply(text), context, reply=(one.place, number), learned=True)

    def _grow(self, reply: tuple[int, int] | None = None) -> None:
        tokens = self._encoder.utterance(self.words[self._said])
        self._said += 1
        if self._top == ROOT:
            tokens = self._encoder.start + tokens
        if tokens:
            self._top = self.row.add(tokens, self._top, reply=reply, learned=reply is not None)


@torch.inference_mode()
def _scored(model: JointModel, rows: Sequence[Row], pad: int) -> dict[Any, tuple[float, float, int]]:
    """Preference, log-probability and tokens of every named reply of these rows."""
    made = collate(rows, pad)
    one = torch.tensor(1)
    inputs = made.tensors | {"tokens_in_step": one, "pairs_in_step": one}
    output = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})
    place = {name: number for number, name in enumerate(made.replies)}
    owners = torch.tensor([place[name] for name in made.learned])
    sums = torch.zeros(len(place), dtype=torch.float64)
    sums.index_add_(0, owners, -output.token_nll.double().cpu())
    tokens = torch.bincount(owners, minlength=len(place))
    values = zip(output.scores.tolist(), sums.tolist(), tokens.tolist(), strict=True)
    return dict(zip(made.replies, values, strict=True))


def _turn_scores(one: _Asked, found: dict[tuple[int, int], tuple[float, float, int]]) -> TurnScores:
    scores = {number: _reply_score(text, found[one.place, number]) for number, text in one.replies.items()}
    candidates = tuple(scores[number] for number in range(len(one.turn.candidates)))
    return TurnScores(
        one.dialogue, one.turn, scores[HUMAN], candidates, scores.get(len(candidates)) if one.random else None
    )


def _reply_score(text: str, values: tuple[float, float, int]) -> ReplyScore:
    preference, logprob, tokens = values
    if not (math.isfinite(preference) and math.isfinite(logprob)):
        raise TrainingError(
            _("The model gives no number as a score of the reply “%(reply)s”.") % {"reply": text[:60]},
            _(
                "Its weights are broken: use an earlier checkpoint, or train again with a lower learning rate."
            ),
        )
    return ReplyScore(text, preference, logprob, tokens)
