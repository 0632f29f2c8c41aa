"""What an assessor's training takes beside its recipe: the question, the models to compare, and the labelled rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from annotation.labelling.models.labels import LabelOrigin
from common.refusals import Invalid
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import frozen_dialogues
from preference.training.assessor.task import QUALITY

SCRATCH = ("gru", "transformer")
BASELINES = ("majority", "naive_bayes", "logistic_regression", "gradient_boosting", *SCRATCH)
CLASSES = frozenset(str(label) for label in QUALITY.classes)
ROWS = "labelled.jsonl"


def fitting_questions(snapshot: Snapshot) -> list[str]:
    """The questions of a snapshot whose final labels are at least two of the classes 0, 1 and 2, and nothing else."""
    labels: Mapping[str, Mapping[str, int]] = snapshot.card.get("labels", {})
    return [question for question, counts in labels.items() if len(counts) > 1 and CLASSES.issuperset(counts)]


def check_assessor_options(
    snapshot: Snapshot, question: str, models: Sequence[str], *, has_base: bool
) -> dict[str, Any]:
    """The options as stored with a run; without models all baselines are compared.

    has_base: whether a pretrained model is trained, too. Raises Invalid (question, models).
    """
    fitting = fitting_questions(snapshot)
    chosen = question or (fitting[0] if len(fitting) == 1 else "")
    if chosen not in fitting:
        raise Invalid(
            _("An assessor learns a question whose final labels are 0, 1 and 2."),
            _("Choose one of: %(names)s.") % {"names": ", ".join(fitting)}
            if fitting
            else _("No question of this snapshot has such labels: take a snapshot of another project."),
            field="question",
        )
    return {"question": chosen, "models": check_models(models, has_base=has_base)}


def check_models(models: Sequence[str], *, has_base: bool) -> list[str]:
    """The models to compare; without any all baselines. Raises Invalid (models) if none of them can be kept."""
    compared = list(dict.fromkeys(models)) or list(BASELINES)
    if unknown := [name for name in compared if name not in BASELINES]:
        raise Invalid(
            _("There is no model “%(name)s” to compare.") % {"name": unknown[0][:40]},
            _("Choose among: %(names)s.") % {"names": ", ".join(BASELINES)},
            field="models",
        )
    if not has_base and not set(SCRATCH) & set(compared):
        raise Invalid(
            _("None of these models can be kept: they are baselines for comparison."),
            _("Choose also %(names)s, or a pretrained model.") % {"names": ", ".join(SCRATCH)},
            field="models",
        )
    return compared


def write_labelled_rows(snapshot: Snapshot, question: str, folder: Path) -> Path:
    """The file that the trainer reads: dialogues of the snapshot with their label for the question.

    Written once: a resumed training must read the same file. Dialogues without a label of people for the question are
    left out: an assessor does not learn from machine labels.
    Raises Refusal not_ready or file_gone.
    """
    target = folder / ROWS
    if target.is_file():
        return target
    partial = folder / f".{ROWS}.part"
    with partial.open("w", encoding="utf-8") as out:
        for row in frozen_dialogues(snapshot).rows():
            is_machine = row["origin"] == LabelOrigin.MACHINE
            if not is_machine and QUALITY.parse(row["labels"].get(question)) is not None:
                out.write(json.dumps(_labelled_row(row, question), ensure_ascii=False) + "\n")
    partial.replace(target)
    return target


def _labelled_row(row: Mapping[str, Any], question: str) -> dict[str, Any]:
    kept = {name: row[name] for name in ("id", "dialogue", "domain", "split")}
    return {**kept, "label": row["labels"][question]}
