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
    if name == "trees" and encoder.why_no_trees:
        template = _("Every turn is encoded apart from the rest of its dialogue: %(reason)s.")
        notes.append(template % {"reason": encoder.why_no_trees})
        name = "packed"
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
    """How many turns do not fit into a tree, because their context or reply would be cut."""
    return sum(len(_cut_turns(dialogue, encoder)) for dialogue in dialogues)


def _cut_turns(dialogue: TrainingDialogue, encoder: Encoder) -> set[int]:
    """Positions. The longest contexts are measured first: if one fits, so do the earlier ones of the same view."""
    cut = {turn.position for turn in dialogue.turns if encoder.cuts(turn.human)}
    fitting = set()
    for turn in reversed(dialogue.turns):
        view = encoder.view(turn.position, dialogue.speakers)
        if view in fitting:
            continue
        context = dialogue.utterances[: turn.position]
        if encoder.context_length(context, dialogue.speakers) <= encoder.context_limit:
            fitting.add(view)
        else:
            cut.add(turn.position)
    return cut
