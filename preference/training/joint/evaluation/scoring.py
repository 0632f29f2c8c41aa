"""Scoring the human reply and every displayed candidate of a turn, by preference and by generation probability.

A dialogue is encoded once: the utterances that people chose are a trunk, and at every turn the candidates and a random
reply hang on it as leaves (see `shared_context.rows`). Scores equal those of encoding every reply with its own context.

Training hangs two leaves at a turn, one candidate and one random reply; here all seven or so candidates hang there, and
every reply is both learned and scored, because both rankings are computed from one forward pass. "Learned" means only
that the probabilities of its tokens are returned: nothing is updated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from generation.backends.dialogue_format import DialogueFormat
from generation.backends.hf import loading
from generation.backends.hf.scoring import HEAD_FILE
from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.filling import ROW_TOKENS, RowGroup, group_by_budget
from preference.training.common.shared_context.probe import why_not_shared
from preference.training.common.shared_context.rows import MicroBatch, Row, Tokens
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel, JointOutput
from preference.training.joint.layouts.collate import CollatedReplies, collate
from preference.training.joint.layouts.trunk import Trunk
from preference.training.joint.quadruples import draw_quadruples

HUMAN = -1  # number of the human reply; candidates count from 0, a random reply comes after them
ReplyName = tuple[int, int]  # place of the turn among all turns; number of the reply
Name = TypeVar("Name", bound=Hashable)
Scores = dict[Name, tuple[float, float, int]]  # preference, log-probability in nats, tokens


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """preference: value of the head. logprob: summed over all tokens and the end, in nats. tokens: that many.

    A reply that was cut at the limit has no end of its own, and is counted without one.
    """

    text: str
    preference: float
    logprob: float
    tokens: int

    @property
    def mean_logprob(self) -> float:
        """Nats per token."""
        return self.logprob / self.tokens


@dataclass(frozen=True, slots=True)
class TurnScores:
    """dialogue: index among the scored ones. random: a reply of another dialogue, None if there is no other."""

    dialogue: int
    turn: Turn
    human: ScoredReply
    candidates: tuple[ScoredReply, ...]
    random: ScoredReply | None

    @property
    def copies(self) -> int:
        return self.turn.copies


@dataclass(frozen=True, slots=True)
class TurnToScore:
    """place: among all turns. random: a reply of another dialogue, or None."""

    place: int
    dialogue: int
    turn: Turn
    random: str | None

    @property
    def replies(self) -> dict[int, str]:
        """By number: HUMAN, the candidates from 0, the random reply last."""
        others = [*self.turn.candidates, *([self.random] if self.random else [])]
        return {HUMAN: self.turn.human, **dict(enumerate(others))}


def load_ranker(
    source: str,
    *,
    untrained_head: bool = False,
    seed: int = 1,
    device: str = "auto",
    dialogue_format: DialogueFormat | None = None,
) -> tuple[JointModel, str | None]:
    """The model, and its head: "trained", "untrained" (as asked), or None if it has none. Raises TrainingError.

    dialogue_format: None for the one that the model was trained with.
    """
    model = JointModel.from_pretrained(source, seed=seed, dialogue_format=dialogue_format)
    has_head = (Path(source).expanduser() / HEAD_FILE).is_file()
    if untrained_head and has_head:
        trained = model
        model = JointModel(trained.backbone, trained.tokenizer, seed=seed)
        model.dialogue_format = trained.dialogue_format
    if device == "cuda" and not torch.cuda.is_available():
        raise TrainingError(_("A GPU is requested, but PyTorch sees none."), _("Leave --device out."))
    on_gpu = device != "cpu" and torch.cuda.is_available()
    model.to("cuda" if on_gpu else "cpu")
    return model, "untrained" if untrained_head else "trained" if has_head else None


def served_version(source: str, model: JointModel) -> str:
    """The version under which candidates of this model are logged.

    The same function as in serving, so that an evaluation can be joined with the log of the model that it is about.
    """
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
    """Scores of all turns, in their order.

    seed: of the random replies. token_budget: tokens of a forward pass, padding included. share_contexts: None shares
    them if the model allows it. progress: called with (turns done, all turns). Raises TrainingError for scores that are
    not finite.
    """
    turns = _turns_to_score(dialogues, seed)
    if share_contexts is None:
        share_contexts = not why_not_shared(model.backbone, encoder.context_limit + encoder.reply_limit)
    rows = rows_of_turns(dialogues, turns, encoder, share_contexts=share_contexts)
    scores: Scores[ReplyName] = {}
    was_training, done = model.training, 0
    model.eval()
    try:
        for groups in group_by_budget([RowGroup([row]) for row in rows], token_budget):
            batch: Scores[ReplyName] = score_rows(
                model, [row for group in groups for row in group.rows], encoder.pad
            )
            scores |= batch
            done += sum(number == HUMAN for _, number in batch)
            progress(done, len(turns))
    finally:
        model.train(was_training)
    return [_turn_scores(turn, scores) for turn in turns]


def _turns_to_score(dialogues: Sequence[TrainingDialogue], seed: int) -> list[TurnToScore]:
    """Every turn with a random reply, or without one if no other dialogue has a reply to give.

    Drawn as in training (epoch 0 of the seed); only the pairs with a random reply need it, the rankings do not.
    """
    try:
        drawn = draw_quadruples(dialogues, seed=seed, epoch=0, similar=None)
    except TrainingError:
        drawn = []
    random_replies = {(quadruple.dialogue, quadruple.turn): quadruple.random for quadruple in drawn}
    turns = [
        (index, place, turn)
        for index, dialogue in enumerate(dialogues)
        for place, turn in enumerate(dialogue.turns)
    ]
    return [
        TurnToScore(number, index, turn, random_replies.get((index, place)))
        for number, (index, place, turn) in enumerate(turns)
    ]


def rows_of_turns(
    dialogues: Sequence[TrainingDialogue],
    turns: Sequence[TurnToScore],
    encoder: Encoder,
    *,
    share_contexts: bool,
    learn_all: bool = True,
) -> list[Row]:
    """Rows with all replies of the turns, each named (place, number).

    turns: those of a dialogue together and in its order. learn_all: False to get probabilities of the human replies
    alone, which saves the logits of all others.
    """
    arrange = _tree_rows if share_contexts else _plain_rows
    return list(arrange(dialogues, turns, encoder, learn_all=learn_all))


def _plain_rows(
    dialogues: Sequence[TrainingDialogue], turns: Sequence[TurnToScore], encoder: Encoder, *, learn_all: bool
) -> Iterator[Row]:
    """Every reply in a row of its own, with its own copy of the context: for models that cannot share one."""
    for turn in turns:
        context = _context(dialogues[turn.dialogue], turn.turn, encoder)
        for number, text in turn.replies.items():
            row = Row()
            learned = learn_all or number == HUMAN
            encoder.add_reply(row, text, row.add(context), name=(turn.place, number), learned=learned)
            yield row


def _tree_rows(
    dialogues: Sequence[TrainingDialogue], turns: Sequence[TurnToScore], encoder: Encoder, *, learn_all: bool
) -> Iterator[Row]:
    """Trees of about ROW_TOKENS at most; a turn whose human reply would be cut has a row of its own."""
    by_view: dict[Hashable, list[TurnToScore]] = {}
    for turn in turns:
        view = encoder.view(turn.turn.position, dialogues[turn.dialogue].speakers)
        by_view.setdefault((turn.dialogue, view), []).append(turn)
    for group in by_view.values():
        yield from _trees_of_view(dialogues[group[0].dialogue], group, encoder, learn_all=learn_all)


def _trees_of_view(
    dialogue: TrainingDialogue, turns: Sequence[TurnToScore], encoder: Encoder, *, learn_all: bool
) -> Iterator[Row]:
    trunk = Trunk(encoder)
    for turn in turns:
        if encoder.cuts(turn.turn.human):
            yield _packed_row(dialogue, turn, encoder, learn_all=learn_all)
            continue
        context = _context(dialogue, turn.turn, encoder)
        if not trunk.leads_to(context) or trunk.row.tokens >= ROW_TOKENS:
            yield trunk.row
            trunk = Trunk(encoder)
        _add_turn(trunk, context, turn, learn_all=learn_all)
    if trunk.row.pieces:
        yield trunk.row


def _add_turn(trunk: Trunk, context: Tokens, turn: TurnToScore, *, learn_all: bool) -> None:
    """Extend the trunk up to the human reply and hang all other replies beside it."""
    shared = trunk.grow(context, turn.turn.human, (turn.place, HUMAN))
    for number, text in turn.replies.items():
        if number != HUMAN:
            trunk.add_leaf(text, shared, (turn.place, number), learned=learn_all)


def _packed_row(dialogue: TrainingDialogue, turn: TurnToScore, encoder: Encoder, *, learn_all: bool) -> Row:
    """All replies of one turn on one copy of its context, whose oldest utterances were dropped."""
    row = Row()
    context = row.add(_context(dialogue, turn.turn, encoder))
    for number, text in turn.replies.items():
        learned = learn_all or number == HUMAN
        encoder.add_reply(row, text, context, name=(turn.place, number), learned=learned)
    return row


def _context(dialogue: TrainingDialogue, turn: Turn, encoder: Encoder) -> Tokens:
    return encoder.context(dialogue.utterances[: turn.position], dialogue.speakers)


@torch.inference_mode()
def score_rows(model: JointModel, rows: Sequence[Row], pad: int) -> Scores[Any]:
    """Scores of every reply of these rows by its name, in one forward pass; they may be NaN if the model is broken."""
    collated = collate(rows, pad)
    inputs = scoring_inputs(collated)
    output = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})
    return scores_of_replies(output, collated)


def scoring_inputs(collated: CollatedReplies) -> MicroBatch:
    """Arguments of JointModel.forward, with the totals of a step that does not exist.

    Only the losses are divided by them, and these are not used.
    """
    total = torch.tensor(1)
    return collated.tensors | {"tokens_in_step": total, "pairs_in_step": total}


def scores_of_replies(output: JointOutput, collated: CollatedReplies) -> Scores[Any]:
    """Scores of every reply by its name, from what the model returned for these rows.

    The model returns the loss of every target, (N,); summed by the reply that each belongs to they are -log p(r | c).
    In fp64, because replies of a hundred tokens add up a hundred rounded numbers. A reply that is not learned has no
    log-probability, and 0 tokens.
    """
    if output.token_nll is None or output.scores is None:
        raise TypeError("The output of a forward pass has scores and the loss of every target.")
    place = {name: number for number, name in enumerate(collated.replies)}
    # (N,): which reply a target belongs to
    owners = torch.tensor([place[name] for name in collated.learned], dtype=torch.long)
    sums = torch.zeros(len(place), dtype=torch.float64)
    sums.index_add_(0, owners, -output.token_nll.double().cpu())
    tokens = torch.bincount(owners, minlength=len(place))
    values = zip(output.scores.tolist(), sums.tolist(), tokens.tolist(), strict=True)
    return dict(zip(collated.replies, values, strict=True))


def _turn_scores(turn: TurnToScore, all_scores: Scores[ReplyName]) -> TurnScores:
    """The scores of one turn's replies, put back in their order."""
    scores = {
        number: _reply_score(text, all_scores[turn.place, number]) for number, text in turn.replies.items()
    }
    candidates = tuple(scores[number] for number in range(len(turn.turn.candidates)))
    random = scores.get(len(candidates)) if turn.random else None
    return TurnScores(turn.dialogue, turn.turn, scores[HUMAN], candidates, random)


def _reply_score(text: str, values: tuple[float, float, int]) -> ScoredReply:
    """Raises TrainingError for NaN: it compares as false with everything, so a ranking would hide it."""
    preference, logprob, tokens = values
    if not (math.isfinite(preference) and math.isfinite(logprob)):
        raise TrainingError(
            _("The model’s score of the reply “%(reply)s” is not a number.") % {"reply": text[:60]},
            _(
                "Its weights are broken: use an earlier checkpoint, or train again with a lower learning rate."
            ),
        )
    return ScoredReply(text, preference, logprob, tokens)
