"""How well a jointly trained model ranks what people wrote among what they were shown (Diamante, Table 5).

    python -m preference.training.joint.evaluation --data SNAPSHOT --model FOLDER [--split test] [--json]

By preference score and by generation probability, side by side: MAP, MRR and P@1 of the human reply, their paired
difference, pairwise accuracies and likelihood, over all turns and by domain, language and action. Beside them stand
the rankings of controls that cannot have read the context (`controls`). Ties count against the human reply. Every
figure has a 95 % interval from resampling whole dialogues, because the turns of a dialogue are not independent.

The paper's figures for PLATO-XL with 11 billion parameters, to compare with: MAP 0.699, MRR 0.693, P@1 0.544 by
preference score, and 0.303, 0.295, 0.112 by generation probability without joint training, which is close to chance
among eight replies.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generation.backends.dialogue_format import DialogueFormat
from preference.training.common.dialogues import TrainingDialogue, read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.common.output import sha256_of

ALL = "all"
TRAIN = "train"
COPIES = ("removed", "relevant")


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.joint.evaluation`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.joint.evaluation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="snapshot folder, or a JSONL file in the format diamante")
    add("--model", required=True, help="folder or hub id; without a preference head, generation alone")
    add("--split", default="test", help="train, valid, test (default), or all")
    add(
        "--copies",
        choices=COPIES,
        default=COPIES[0],
        help="selected candidates, which are copies of the human reply: removed (MAP equals MRR), or relevant (MAP is "
        "the higher one, as in the paper)",
    )
    add(
        "--chat-template",
        action="store_true",
        help="read dialogues through the chat template of an untrained model; a trained one reads as it learned to",
    )
    add("--untrained-head", action="store_true", help="rank by a new head, to compare with")
    add(
        "--seed",
        type=int,
        default=1,
        help="of the random replies, of the intervals, and of an untrained head",
    )
    add(
        "--context",
        type=int,
        default=384,
        metavar="TOKENS",
        help="at most; the oldest utterances are dropped",
    )
    add("--reply", type=int, default=128, metavar="TOKENS", help="at most")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU if there is one")
    add("--threads", type=int, help="of PyTorch on the CPU")
    add("--json", action="store_true", help="print the report as JSON, not as a table")
    add("--output", type=Path, metavar="FILE", help="also write the report there, as JSON")
    return parser


def dialogues_of_split(
    dialogues: Sequence[TrainingDialogue], split: str, data: Path
) -> list[TrainingDialogue]:
    """The dialogues of a split, or of ALL, that have a turn to rank.

    Raises TrainingError if no dialogue is left; the message counts the dialogues by split. data: for the message.
    """
    chosen = [dialogue for dialogue in dialogues if split in (ALL, dialogue.split)]
    if not chosen:
        by_split = Counter(dialogue.split or _("no split") for dialogue in dialogues)
        counts = ", ".join(f"{name} {count}" for name, count in sorted(by_split.items()))
        raise TrainingError(
            _("No dialogue in %(data)s is of the split %(split)s (dialogues by split: %(counts)s).")
            % {"data": data, "split": split, "counts": counts},
            _("Name another with --split, or take all with --split all."),
        )
    rankable = [dialogue for dialogue in chosen if dialogue.turns]
    if not rankable:
        raise TrainingError(
            ngettext(
                "The one dialogue of the split %(split)s has no candidates that differ from what people wrote.",
                "The %(count)s dialogues of the split %(split)s have no candidates that differ from what people "
                "wrote.",
                len(chosen),
            )
            % {"count": len(chosen), "split": split},
            _("Name another split, or use dialogues that were written with candidates shown."),
        )
    return rankable


def evaluate(options: argparse.Namespace) -> dict[str, Any]:
    """The report as JSON values. Raises TrainingError.

    The split, its data and the model are named in it by content (SHA-256, version), so that two reports can be compared
    only if they are about the same turns.
    """
    everything = read_dialogues(options.data)
    dialogues = dialogues_of_split(everything, options.split, options.data)
    if options.copies == "removed":
        dialogues = [without_copies(dialogue) for dialogue in dialogues]
    # Imported here because PyTorch takes seconds to load, and wrong data is to be reported at once.
    import torch

    from preference.training.joint.evaluation import scoring
    from preference.training.joint.evaluation.controls import control_figures, score_in_other_contexts
    from preference.training.joint.evaluation.report import build_report, mean_logprob, preference

    model, head = scoring.load_ranker(
        options.model,
        untrained_head=options.untrained_head,
        seed=options.seed,
        device=options.device,
        dialogue_format=DialogueFormat(chat_template=True) if options.chat_template else None,
    )
    encoder = model.encoder(context=options.context, reply=options.reply)
    if options.threads:
        torch.set_num_threads(options.threads)
    scores = scoring.score_turns(model, dialogues, encoder, seed=options.seed, progress=_show_progress)
    notes = list(encoder.notes)
    controls = control_figures(
        scores,
        score_in_other_contexts(model, dialogues, encoder, seed=options.seed),
        # Fitted on the very dialogues that are ranked, n-grams would know the answers.
        [] if options.split in (TRAIN, ALL) else [each for each in everything if each.split == TRAIN],
        score_of=preference if head else mean_logprob,
        seed=options.seed,
    )
    if "lexical" not in controls:
        notes.append(_("The n-grams need other dialogues, of the split train, to be fitted on."))
    if not head:
        notes.append(_("The model has no preference head: it is ranked by generation probability alone."))
    return {
        "model": {
            "name": options.model,
            "version": scoring.served_version(options.model, model),
            "head": head,
        },
        "data": {"path": str(options.data), "sha256": sha256_of(options.data)},
        "split": options.split,
        "copies": options.copies,
        "seed": options.seed,
        **build_report(scores, dialogues, has_head=bool(head), seed=options.seed),
        "controls": controls,
        "notes": notes,
    }


def without_copies(dialogue: TrainingDialogue) -> TrainingDialogue:
    """The dialogue as if no candidate had been identical to what the person sent."""
    return dataclasses.replace(
        dialogue, turns=tuple(dataclasses.replace(turn, copies=0) for turn in dialogue.turns)
    )


def _show_progress(done: int, total: int) -> None:
    """Rewrite one line of the terminal; silent in a log, where it would be thousands of lines."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} turns", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _write(file: Path, text: str) -> None:
    """Write the report, with its folder. Raises TrainingError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TrainingError(
            _("The report cannot be written to %(file)s: %(reason)s.")
            % {"file": file, "reason": error.strerror},
            _("Name another file."),
        ) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    options = parser().parse_args(arguments)
    try:
        report = evaluate(options)
        text = json.dumps(report, ensure_ascii=False, indent=2)
        if options.output:
            _write(options.output, text + "\n")
    except TrainingError as error:
        print(f"{error.cause}\n{error.remedy}", file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exc()
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = _("See the log above; where memory ran out, use a smaller model.")
        print(f"{cause}\n{remedy}", file=sys.stderr)
        return 1
    if options.json:
        print(text)
    else:
        from preference.training.joint.evaluation.table import table

        print(table(report))
    return 0
