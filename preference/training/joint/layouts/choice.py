"""Choosing the fastest layout that gives a model the same gradient (see `shared_context.probe`)."""

from __future__ import annotations

from collections.abc import Sequence

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.common.shared_context.probe import why_not_shared
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.micro_batches import Layout

AUTO = "auto"


def choose_layout(
    model: JointModel,
    dialogues: Sequence[TrainingDialogue],
    encoder: Encoder,
    *,
    name: str = AUTO,
    token_budget: int | None = None,
) -> Layout:
    """The layout `name`, or trees for "auto"; naive, with a note, if the model cannot share an encoded context.

    token_budget: tokens of a micro-batch, see Layout.
    """
    name = "trees" if name == AUTO else name
    notes = []
    if name != "naive":
        reason = why_not_shared(model.backbone, encoder.context_limit + encoder.reply_limit)
        if reason:
            template = _(
                "Every reply is encoded with its own copy of the context, which is several times slower: "
                "the model cannot share contexts, because %(reason)s."
            )
            notes.append(template % {"reason": reason})
            name = "naive"
    if name == "trees" and (cut := _count_cut_turns(dialogues, encoder)):
        template = ngettext(
            "One turn has a context of more than %(context)s tokens or a reply of more than %(reply)s; "
            "it is encoded apart from the rest of its dialogue.",
            "%(count)s turns have a context of more than %(context)s tokens or a reply of more than %(reply)s; "
            "they are encoded apart from the rest of their dialogue.",
            cut,
        )
        notes.append(
            template % {"count": cut, "context": encoder.context_limit, "reply": encoder.reply_limit}
        )
    return Layout(name, dialogues, encoder, token_budget=token_budget, notes=notes)


def _count_cut_turns(dialogues: Sequence[TrainingDialogue], encoder: Encoder) -> int:
    """How many turns do not fit into a tree, because their context or reply would be cut.

    The lengths are running sums over a dialogue, so that counting is linear in its text.
    """
    count = 0
    for dialogue in dialogues:
        length, is_cut = len(encoder.start), []
        marks = encoder.marks(len(dialogue.utterances), dialogue.speakers)
        for text, mark in zip(dialogue.utterances, marks, strict=True):
            size = len(encoder.utterance(text))
            is_cut.append(length + len(mark) > encoder.context_limit or encoder.cuts(text))
            length += len(mark) + size if size else 0
        count += sum(is_cut[turn.position] for turn in dialogue.turns)
    return count
