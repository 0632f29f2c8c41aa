"""Predictions that were made elsewhere, for example by a judge, in the same table as the models trained here.

{"id": "d7", "prediction": 2, "probabilities": [0.1, 0.2, 0.7]}    probabilities are optional
{"id": "d8", "prediction": null}                                   the judge gave no usable answer
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from measures.bootstrap import Floats
from preference.training.assessor.data import LabelledDialogue
from preference.training.assessor.jobs import Job, JobResult
from preference.training.assessor.task import PredictionTask
from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import Row, name_field, read_rows, wrong_field
from preference.training.common.messages import gettext as _


def read_predictions(file: Path, job: Job, task: PredictionTask) -> tuple[Job, JobResult]:
    """What a file predicts for the splits valid and test of a job.

    job: with the name of the predictions as its model. The job that is returned has only the dialogues with a
    prediction; other ids are ignored, so that a file may cover all splits. Raises TrainingError with the line for what
    is wrong, and if no test dialogue is predicted.
    """
    rows: dict[str, Row] = {}
    for place, row in read_rows(file):
        if not isinstance(row, dict) or not name_field(row, "id"):
            raise wrong_field(_("In %(place)s: `%(key)s` must be text or a number."), place, "id")
        if row.get("prediction") is not None:
            rows[name_field(row, "id")] = _check_row(row, place, task)
    valid, test = (_predicted(part, rows) for part in (job.valid, job.test))
    if not test:
        raise TrainingError(
            _("%(file)s predicts no dialogue of the split test.") % {"file": file},
            _("Predict the dialogues with the ids of --data."),
        )
    has_probabilities = all("probabilities" in row for row in rows.values())
    result = JobResult(
        valid=_table(valid, rows, task),
        test=_table(test, rows, task),
        epochs=(),
        parameters=None,
        seconds=0.0,
        has_probabilities=has_probabilities,
    )
    return dataclasses.replace(job, valid=valid, test=test, keep=False), result


def _check_row(row: Row, place: str, task: PredictionTask) -> Row:
    if _place(row, task) < 0:
        raise wrong_field(_("In %(place)s: `%(key)s` is not one of the classes."), place, "prediction")
    if "probabilities" in row and not _is_distribution(row["probabilities"], len(task.classes)):
        template = _("In %(place)s: `%(key)s` must hold a number from 0 to 1 for each class, with the sum 1.")
        raise wrong_field(template, place, "probabilities")
    if "probabilities" in row and int(np.argmax(row["probabilities"])) != _place(row, task):
        raise wrong_field(_("In %(place)s: `%(key)s` is not the most probable class."), place, "prediction")
    return row


def _place(row: Row, task: PredictionTask) -> int:
    """The index of the predicted class; -1 if the prediction is not a class."""
    label = task.parse(row["prediction"])
    return -1 if label is None else task.classes.index(label)


def _is_distribution(values: Any, size: int) -> bool:
    if not isinstance(values, list) or len(values) != size:
        return False
    is_share = [isinstance(value, int | float) and 0 <= value <= 1 for value in values]
    return all(is_share) and math.isclose(sum(values), 1, abs_tol=1e-3)


def _predicted(
    dialogues: Sequence[LabelledDialogue], rows: Mapping[str, Row]
) -> tuple[LabelledDialogue, ...]:
    return tuple(dialogue for dialogue in dialogues if dialogue.id in rows)


def _table(dialogues: Sequence[LabelledDialogue], rows: Mapping[str, Row], task: PredictionTask) -> Floats:
    """Probabilities, shape (dialogues, classes); 1 for the prediction where the file has none."""
    table = np.zeros((len(dialogues), len(task.classes)))
    for place, dialogue in enumerate(dialogues):
        row = rows[dialogue.id]
        table[place] = row.get("probabilities") or np.eye(len(task.classes))[_place(row, task)]
    return table
