"""A trained assessor: the folder it is saved in, and what it says about dialogues and replies.

FOLDER/                  an ordinary Hugging Face folder: config.json, model.safetensors, tokenizer.json, …
FOLDER/assessor.json     classes, longest input, input format, and where the model comes from
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from generation.backends.hf.loading import folder_hash
from measures.bootstrap import Floats
from preference.training.assessor.data import Turns
from preference.training.assessor.input_text import INPUT_FORMAT, dialogue_of_reply
from preference.training.assessor.network import Network, load_trained, quiet_transformers
from preference.training.assessor.prediction import class_probabilities
from preference.training.assessor.task import PredictionTask
from preference.training.common.arguments import choose_device
from preference.training.common.disk import WRITE_ERRORS, report_unwritable
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.messages import gettext as _
from preference.training.common.progress import replace_json

MANIFEST = "assessor.json"


class TrainedAssessor:
    """An Evaluator (see common.evaluators) that also gives the probability of every class for whole dialogues."""

    def __init__(self, network: Network, manifest: Mapping[str, Any], version: str, *, name: str) -> None:
        """manifest: the content of assessor.json. version: identifies the folder's content."""
        self.network, self.manifest, self.version, self.name = network, manifest, version, name
        self.task = network.task

    def class_probabilities(self, dialogues: Sequence[Turns]) -> Floats:
        """p(class | dialogue), shape (dialogues, classes), classes in the order of `task.classes`.

        Every dialogue has at least one utterance that is not empty. A row is NaN if the model's output is. Raises
        TrainingError if not even one dialogue fits into memory.
        """
        return class_probabilities(self.network, dialogues)

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        """The expected label Σ_k p_k · class_k of the dialogue that ends with the reply; None for an empty reply.

        Raises TrainingError for a model whose classes are not numbers on a scale.
        """
        if not self.task.ordered:
            raise TrainingError(
                _("The classes of %(model)s are not ordered, so they give no score.") % {"model": self.name},
                _("Use a model that was trained on quality labels."),
            )
        filled = [reply for reply in replies if reply.response.strip()]
        table = self.class_probabilities(
            [dialogue_of_reply(one.history, one.response, one.speakers) for one in filled]
        )
        scores = {
            reply.id: self._score(reply, probabilities)
            for reply, probabilities in zip(filled, table, strict=True)
        }
        empty = _("The response is empty.")
        return [scores.get(reply.id) or ReplyScore(reply.id, None, empty) for reply in replies]

    def _score(self, reply: ReplyToScore, probabilities: Floats) -> ReplyScore:
        if not np.isfinite(probabilities).all():
            return ReplyScore(reply.id, None, _("The model's output is not a number."))
        details = {
            "label": self.task.classes[int(probabilities.argmax())],
            "probabilities": probabilities.tolist(),
        }
        return ReplyScore(reply.id, float(self.task.expected(probabilities)), details=details)

    def describe(self) -> dict[str, Any]:
        """What decides about the scores."""
        return {"evaluator": "assessor", "version": self.version, **self.manifest}


def load_assessor(folder: Path, *, device: str = "auto", name: str = "assessor") -> TrainedAssessor:
    """The assessor in a folder that `save_assessor` wrote.

    device: auto, cpu or cuda. name: of the evaluator, in reports. Raises TrainingError if the folder holds something
    else, or an assessor of another input format.
    """
    folder = Path(folder).expanduser()
    manifest = _read_manifest(folder)
    network = load_trained(folder, PredictionTask.from_dict(manifest["task"]), manifest["max_length"])
    network.model.to(torch.device(choose_device(device))).requires_grad_(False).eval()
    return TrainedAssessor(network, manifest, folder_hash(folder), name=name)


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(
            _("%(folder)s is not a trained assessor: %(file)s is missing or broken.")
            % {"folder": folder, "file": MANIFEST},
            _("Name the folder `model` of a run of `python -m preference.training.assessor`."),
        ) from error
    if manifest.get("input_format") != INPUT_FORMAT:
        raise TrainingError(
            _("The assessor in %(folder)s reads dialogues in another form.") % {"folder": folder},
            _("Train it again with this version."),
        )
    return manifest


def save_assessor(network: Network, folder: Path, about: Mapping[str, Any]) -> None:
    """Write a folder for `load_assessor`, or nothing if the disk is full, which raises TrainingError.

    network: without adapters. about: further content of assessor.json.
    """
    manifest = {
        "task": network.task.as_dict(),
        "max_length": network.max_length,
        "input_format": INPUT_FORMAT,
        "parameters": network.parameters,
        **about,
    }
    partial = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with report_unwritable(folder, errors=WRITE_ERRORS):
            with quiet_transformers():
                network.model.save_pretrained(partial)
                network.tokenizer.save_pretrained(partial)
            replace_json(partial / MANIFEST, manifest)
            for file in partial.iterdir():
                # safetensors writes files that only their owner may read.
                file.chmod((partial / MANIFEST).stat().st_mode)
            partial.rename(folder)
    except TrainingError:
        shutil.rmtree(partial, ignore_errors=True)
        raise
