"""Training one model on one set of dialogues: the unit of work that a run consists of.

A run trains every model of the table, and an experiment trains one of them many times. Each such job is identified by
a hash over everything that decides its result, and leaves its result in a file of that name: a resumed run skips jobs
that are done, and experiments that need the same training share it.

RUN/jobs/HASH/result.json     probabilities of the dialogues of the splits valid and test, epochs, duration
RUN/jobs/HASH/checkpoints/    of the job that is under way
RUN/jobs/HASH/model/          the trained network, of jobs whose model is kept
"""

from __future__ import annotations

import gc
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from measures.bootstrap import Floats
from preference.training.assessor.assessor import load_assessor, save_assessor
from preference.training.assessor.classical import CLASSICAL, ClassicalClassifier, fit_classical
from preference.training.assessor.data import LabelledDialogue, Turns, turns_of
from preference.training.assessor.input_text import input_text
from preference.training.assessor.network import Network, load_pretrained, model_version, new_network
from preference.training.assessor.prediction import class_probabilities
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.assessor.task import PredictionTask
from preference.training.assessor.training import Epoch, TrainingContext, steps_of, train_network
from preference.training.common import checkpoints
from preference.training.common.checkpointing import Saving
from preference.training.common.command import TrainingSession
from preference.training.common.disk import report_unwritable
from preference.training.common.errors import TrainingError
from preference.training.common.lora import merge_adapters
from preference.training.common.messages import gettext as _
from preference.training.common.output import code_commit, package_versions
from preference.training.common.progress import Step, replace_json

SCRATCH = ("gru", "transformer")
Predict = Callable[[Sequence[Turns]], Floats]


@dataclass(frozen=True, slots=True)
class Job:
    """model: a baseline's name, or folder or hub id of a pretrained model. keep: whether its network is saved.

    train, valid, test: what it learns from, is chosen by, and is tested on.
    """

    model: str
    recipe: AssessorRecipe
    train: tuple[LabelledDialogue, ...]
    valid: tuple[LabelledDialogue, ...]
    test: tuple[LabelledDialogue, ...]
    keep: bool = False

    @property
    def is_neural(self) -> bool:
        return self.model not in CLASSICAL

    @property
    def steps(self) -> int:
        """Optimiser steps."""
        return steps_of(self.recipe, len(self.train)) if self.is_neural else 0


@dataclass(frozen=True, slots=True)
class JobResult:
    """valid, test: probabilities, shape (dialogues, classes), in the order of the job's dialogues.

    epochs: empty for a classical model. parameters: weights of the network, None for a classical model.
    has_probabilities: False if they only say which class was predicted.
    """

    valid: Floats
    test: Floats
    epochs: tuple[Epoch, ...]
    parameters: int | None
    seconds: float
    has_probabilities: bool = True

    @property
    def best_epoch(self) -> Epoch | None:
        return max(self.epochs, key=lambda epoch: (epoch.valid_f1 or 0.0, -epoch.number), default=None)


class Jobs:
    """Runs jobs in one output folder."""

    def __init__(
        self,
        session: TrainingSession,
        task: PredictionTask,
        *,
        data_sha256: str,
        device: str,
        bf16: bool,
        saving: Saving,
        save_as: str = "fp32",
    ) -> None:
        """device: cpu or cuda. save_as: number format of saved networks, fp32 or bf16."""
        self.session, self.task, self.data_sha256 = session, task, data_sha256
        self.device, self.bf16, self.saving, self.save_as = device, bf16, saving, save_as
        self.steps_done = 0
        self._planned: dict[Path, int] = {}  # optimiser steps, by folder
        self._counted: set[Path] = set()  # folders whose steps are in steps_done
        self._classical: dict[str, ClassicalClassifier] = {}

    def plan(self, jobs: Sequence[Job]) -> None:
        """Announce jobs, so that progress knows how many optimiser steps the whole run takes."""
        self._planned |= {self.folder(job): job.steps for job in jobs}

    def _count(self, job: Job, folder: Path) -> None:
        """Count the steps of a job that is done; once, however many experiments need it."""
        if folder not in self._counted:
            self._counted.add(folder)
            self.steps_done += job.steps

    def folder(self, job: Job) -> Path:
        """Where a job's files are: named by a hash of everything that decides its result."""
        recipe = asdict(job.recipe) | {"curve_seeds": None}
        identity = {
            "model": model_version(job.model),
            "recipe": recipe,
            "task": self.task.as_dict(),
            "data": self.data_sha256,
            "dialogues": [[one.id for one in part] for part in (job.train, job.valid, job.test)],
            "save_as": self.save_as,
        }
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        return self.session.output.folder / "jobs" / digest[:16]

    def run(self, job: Job) -> JobResult:
        """The result of a job, from its file if it is done. Raises TrainingError and Stopped."""
        self.session.stop.check()
        folder = self.folder(job)
        if (result := _read_result(folder)) is not None:
            self._count(job, folder)
            return result
        self.session.progress.say(f"{job.model}: {len(job.train)} training dialogues")
        started = time.monotonic()
        if job.is_neural:
            result = self._train_neural(job, folder, started)
        else:
            predict = self._classical_for(job).probabilities
            result = self._result(job, predict, (), None, started)
        _write_result(folder, result)
        self._count(job, folder)
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        (folder / "best.safetensors").unlink(missing_ok=True)
        return result

    def predict(self, job: Job, dialogues: Sequence[Turns]) -> Floats:
        """Probabilities of other dialogues, by the model of a kept job that is done."""
        if not job.is_neural:
            return self._classical_for(job).probabilities(dialogues)
        assessor = load_assessor(self.model_folder(job), device=self.device)
        return class_probabilities(assessor.network, dialogues, bf16=self.bf16, check=self.session.stop.check)

    def model_folder(self, job: Job) -> Path:
        """The saved network of a kept neural job."""
        return self.folder(job) / "model"

    def _classical_for(self, job: Job) -> ClassicalClassifier:
        """The fitted baseline. Kept in memory; a resumed run fits it again, to the same result."""
        key = self.folder(job).name
        if key not in self._classical:
            # scikit-learn's threads spin beside others; --threads limits them as it limits those of PyTorch.
            with threadpool_limits(torch.get_num_threads()):
                fitted = fit_classical(job.model, job.train, job.valid, self.task, seed=job.recipe.seed)
            if not job.keep:
                return fitted
            self._classical[key] = fitted
        return self._classical[key]

    def _train_neural(self, job: Job, folder: Path, started: float) -> JobResult:
        network = self._build(job)
        network.model.to(self.device)
        context = TrainingContext(
            folder,
            self.session.stop,
            self.saving,
            self._begin_progress(job, folder),
            self._announce_epoch,
            self.bf16,
        )
        try:
            epochs = train_network(
                network, job.train, job.valid, job.recipe, rate=self._rate(job), context=context
            )
        finally:
            self.session.stop.steps_run = False  # a signal may end the run at once again
        self._finish_network(network, job, epochs)
        result = self._result(job, self._predictor(network), epochs, network.parameters, started)
        del network
        _free_memory()
        return result

    def _begin_progress(self, job: Job, folder: Path) -> Callable[[int, int, float], None]:
        """Tell progress where the run is; returns what reports the steps of this job."""
        first_step, rate = self.steps_done, self._rate(job)
        saved = checkpoints.newest(folder / "checkpoints")
        self.session.progress.begin(
            done=first_step + (checkpoints.step_of(saved) if saved else 0),
            steps=sum(self._planned.values()),
            epochs=job.recipe.epochs,
        )
        return lambda step, epoch, loss: self.session.progress.step(
            Step(first_step + step, epoch, rate, {"loss": loss})
        )

    def _announce_epoch(self, epoch: Epoch) -> None:
        score = "-" if epoch.valid_f1 is None else f"{epoch.valid_f1:.3f}"
        self.session.progress.say(f"epoch {epoch.number}  loss {epoch.loss:.4f}  macro F1 on valid {score}")

    def _finish_network(self, network: Network, job: Job, epochs: Sequence[Epoch]) -> None:
        """Merge adapters, round the weights to the format of saved networks, and save those that are kept.

        Afterwards the network is in fp32, as it is when it is loaded, so that what is tested is what is saved.
        """
        merge_adapters(network.model)
        if self.save_as == "bf16":
            network.model.to(torch.bfloat16)
        if job.keep:
            shutil.rmtree(self.model_folder(job), ignore_errors=True)
            save_assessor(network, self.model_folder(job), self._about(job, epochs))
        network.model.to(torch.float32)

    def _predictor(self, network: Network) -> Predict:
        stop = self.session.stop
        return lambda dialogues: class_probabilities(network, dialogues, bf16=self.bf16, check=stop.check)

    def _build(self, job: Job) -> Network:
        if job.model in SCRATCH:
            texts = (input_text(dialogue.turns) for dialogue in job.train)
            return new_network(job.model, texts, self.task, job.recipe)
        return load_pretrained(job.model, self.task, job.recipe)

    def _rate(self, job: Job) -> float:
        return job.recipe.scratch_rate if job.model in SCRATCH else job.recipe.rate

    def _about(self, job: Job, epochs: Sequence[Epoch]) -> dict[str, Any]:
        """What assessor.json says about the origin of a network."""
        return {
            "base_model": {"name": job.model, "version": model_version(job.model)},
            "data": {"sha256": self.data_sha256, "train": len(job.train), "valid": len(job.valid)},
            "recipe": job.recipe.as_dict(),
            "epochs": [asdict(epoch) for epoch in epochs],
            "commit": code_commit(),
            "versions": package_versions(),
        }

    def _result(
        self, job: Job, predict: Predict, epochs: Sequence[Epoch], parameters: int | None, started: float
    ) -> JobResult:
        """Raises TrainingError if a probability is not a number."""
        valid, test = predict(turns_of(job.valid)), predict(turns_of(job.test))
        if not (np.isfinite(valid).all() and np.isfinite(test).all()):
            raise TrainingError(
                _("The output of %(model)s is not a number for some dialogues.") % {"model": job.model},
                _("Use a lower rate, or --set precision=fp32."),
            )
        return JobResult(valid, test, tuple(epochs), parameters, time.monotonic() - started)


def _read_result(folder: Path) -> JobResult | None:
    """None if the job is not done, or if its file is broken."""
    try:
        saved = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    width = saved["classes"]
    valid, test = (np.array(saved[name], np.float64).reshape(-1, width) for name in ("valid", "test"))
    epochs = tuple(Epoch(**epoch) for epoch in saved["epochs"])
    return JobResult(valid, test, epochs, saved["parameters"], saved["seconds"])


def _write_result(folder: Path, result: JobResult) -> None:
    """Raises TrainingError if the disk is full."""
    content = {
        "classes": result.test.shape[1],
        "valid": result.valid.tolist(),
        "test": result.test.tolist(),
        "epochs": [asdict(epoch) for epoch in result.epochs],
        "parameters": result.parameters,
        "seconds": round(result.seconds, 3),
    }
    with report_unwritable(folder / "result.json"):
        folder.mkdir(parents=True, exist_ok=True)
        replace_json(folder / "result.json", content)


def _free_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
