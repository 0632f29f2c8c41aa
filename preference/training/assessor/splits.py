"""Which dialogues train, which choose the best epoch, and which are only tested on."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from preference.training.assessor.data import SPLITS, LabelledDialogue
from preference.training.assessor.task import PredictionTask
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext


def assign_splits(
    dialogues: Sequence[LabelledDialogue], *, valid_share: float, test_share: float, seed: int
) -> list[LabelledDialogue]:
    """Every dialogue with a split: its own, or one drawn by seed.

    A split that the data does not give at all is drawn from the dialogues without a split, or else from those of the
    split train. It takes its share of every label, and depends on seed and ids, not on the order of the file.
    """
    given = Counter(dialogue.split for dialogue in dialogues)
    pool = "" if given[""] else "train"
    shares = {"test": test_share, "valid": valid_share}
    drawn: dict[str, str] = {}
    for group in _by_label(dialogue for dialogue in dialogues if dialogue.split == pool):
        ordered = sorted(group, key=lambda dialogue: _random_key(seed, dialogue.id))
        start = 0
        for split, share in shares.items():
            if given[split]:
                continue
            # At least one, so that a rare label is tested; none of fewer than three, or nothing could be learned.
            count = max(1, round(share * len(group))) if len(group) >= 3 else 0
            drawn |= {dialogue.id: split for dialogue in ordered[start : start + count]}
            start += count
    return [
        dataclasses.replace(dialogue, split=drawn.get(dialogue.id) or dialogue.split or "train")
        for dialogue in dialogues
    ]


def _by_label(dialogues: Iterable[LabelledDialogue]) -> list[list[LabelledDialogue]]:
    groups: dict[object, list[LabelledDialogue]] = {}
    for dialogue in dialogues:
        groups.setdefault(dialogue.label, []).append(dialogue)
    return list(groups.values())


def _random_key(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def shuffled(dialogues: Sequence[LabelledDialogue], seed: int) -> list[LabelledDialogue]:
    """In random order. With the same seed the order of any two dialogues is the same in every subset."""
    return sorted(dialogues, key=lambda dialogue: _random_key(seed, dialogue.id))


def check_splits(dialogues: Sequence[LabelledDialogue]) -> None:
    """Raise TrainingError if a split is empty, or if there is nothing to tell apart."""
    sizes = Counter(dialogue.split for dialogue in dialogues)
    if empty := next((split for split in SPLITS if not sizes[split]), ""):
        raise TrainingError(
            ngettext(
                "With %(count)s dialogue the split %(split)s is empty.",
                "With %(count)s dialogues the split %(split)s is empty.",
                len(dialogues),
            )
            % {"count": len(dialogues), "split": empty},
            _("Give more dialogues, or name the split of each."),
        )
    check_labels([dialogue for dialogue in dialogues if dialogue.split == "train"])


def check_labels(train: Sequence[LabelledDialogue]) -> None:
    """Raise TrainingError unless the training dialogues have at least two different labels."""
    labels = {dialogue.label for dialogue in train}
    if len(labels) < 2:
        raise TrainingError(
            ngettext(
                "The one training dialogue has the label %(label)s, so there is nothing to tell apart.",
                "All %(count)s training dialogues have the label %(label)s, so there is nothing to tell apart.",
                len(train),
            )
            % {"count": len(train), "label": next(iter(labels), "–")},
            _("Add dialogues with other labels."),
        )


def missing_labels(dialogues: Sequence[LabelledDialogue], task: PredictionTask) -> dict[str, list[str]]:
    """The classes that do not occur in a split, by split; only splits that miss some."""
    present = {(dialogue.split, dialogue.label) for dialogue in dialogues}
    missing = {
        split: [str(label) for label in task.classes if (split, label) not in present] for split in SPLITS
    }
    return {split: labels for split, labels in missing.items() if labels}
