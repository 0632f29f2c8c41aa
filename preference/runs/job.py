"""Training as a job: start the trainer, follow it, register the model."""

import logging
import os
import shutil
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid5

from django.conf import settings
from django.utils.translation import gettext as _

from common.database import CONNECTION_ERRORS, retry_on_lost_connection
from common.refusals import Refusal
from common.storage.shared_files import Beat, no_beat, shared_models
from jobs.models import Job
from jobs.progress import Progress
from preference import child_process
from preference.data.selectors.frozen_dialogues import fetched_snapshot
from preference.evaluation.services import evaluate_trained
from preference.registry.files import folder_of_model, read_json
from preference.registry.hashing import files_in, sha256_of
from preference.registry.models import ModelKind, RegisteredModel
from preference.runs.assessor_options import SCRATCH, write_labelled_rows
from preference.runs.files import CHECKPOINTS, CURVE, LAST, LOG, MODEL, folder_of_run
from preference.runs.loading import check_loads
from preference.runs.models import TrainingRun
from preference.runs.progress_tail import ProgressTail
from preference.runs.selectors import line_of_step
from preference.runs.services.registration import TrainingResult, register_model
from preference.runs.services.trainings import setting_arguments
from preference.runs.sharing import PageFiles, share_patiently
from preference.runs.topic_options import write_topic_rows
from preference.runs.trainers import CLASSIFIERS, TRAINERS

logger = logging.getLogger(__name__)

STORE_EVERY = 2.0  # seconds
# Longer than for other writes: hours of training depend on the last ones.
STORE_AGAIN_AFTER = (0.5, 2.0, 5.0, 10.0)  # seconds
LOCK = ".lock"  # the trainer's own; the system frees it with the process


def run_training_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Train, or continue from the last checkpoint; then register the model and start its evaluation.

    Running it again after a kill continues from a checkpoint, a finished model, or a registered one.
    """
    run = TrainingRun.objects.select_related("snapshot", "project", "parent", "created_by").get(job=job)
    folder = folder_of_run(run)
    folder.mkdir(parents=True, exist_ok=True)
    progress.start(total=run.latest.get("steps"), unit="steps")
    job.done = run.latest.get("step", 0)
    child_process.wait_for_orphan(folder, progress, LOCK)
    if not (folder / MODEL).is_dir():
        _train(run, folder, job, progress)
    result = _training_result(run, folder, job, progress)
    share_patiently(folder / MODEL, result.sha256, _beat_of(job, progress))
    PageFiles(folder).send_last()  # if the store was away when the training ended
    model = retry_on_lost_connection(partial(_register, run, result), STORE_AGAIN_AFTER)
    for name in (CHECKPOINTS, LAST):
        shutil.rmtree(folder / name, ignore_errors=True)
    return {"model": model.slug, **{name: model.metrics[name] for name in ("loss",) if name in model.metrics}}


def _beat_of(job: Job, progress: Progress) -> Beat:
    """A restarting database stops nothing. Raises JobCancelled or JobLost."""
    return lambda _count: child_process.report_if_connected(progress, lambda: job.done)


def _register(run: TrainingRun, result: TrainingResult) -> RegisteredModel:
    model = register_model(run=run, trained=result)
    if model.writes_replies:
        evaluate_trained(model=model, ids=(uuid5(run.pk, "model"), uuid5(run.pk, "base")))
    return model


def _train(run: TrainingRun, folder: Path, job: Job, progress: Progress) -> None:
    """Run the trainer. Raises Refusal with its cause and remedy if it ends without a model.

    The exit status and the model's folder decide, not the database: a failed write must not fail a finished training.
    """
    (folder / "state.json").unlink(missing_ok=True)  # of an earlier attempt
    arguments = arguments_of(run, folder, _beat_of(job, progress))
    watch = TrainerWatch(run, job, folder, _note_of_another_host(run, folder))
    process = child_process.start(TRAINERS[run.kind].module, arguments, folder, LOG)
    try:
        status = child_process.follow(process, progress, watch.step)
    finally:
        watch.store_last()
        child_process.keep_tail(folder / LOG)
        watch.pages.send_last()
    if status or not (folder / MODEL).is_dir():
        raise failure(folder, status)


def _note_of_another_host(run: TrainingRun, folder: Path) -> str:
    """Also written to the log; "" unless the training begins again because its checkpoints are on another host."""
    if not shared_models().is_remote or not run.latest.get("step") or (folder / CHECKPOINTS).is_dir():
        return ""
    note = _(
        "The training started again from the beginning: its checkpoints are on the host where it ran before,"
        " not on this one."
    )
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"{note}\n")
    return note


def arguments_of(run: TrainingRun, folder: Path, beat: Beat = no_beat) -> list[str]:
    """Arguments of the trainer. It always gets --resume, which starts from the beginning if there is no checkpoint."""
    trainer = TRAINERS[run.kind]
    arguments = [*trainer.action, *_data_arguments(run, folder, beat), "--output", str(folder)]
    arguments += ["--recipe", run.recipe] if trainer.names_recipe else []
    arguments += ["--seed", str(run.seed), "--resume", "--parent", str(os.getpid())]
    for setting in setting_arguments(run.changes):
        arguments += ["--set", setting]
    if run.is_lora:
        arguments.append("--lora")
    if run.processes:
        arguments += ["--processes", str(run.processes)]
    if settings.TRAINING_THREADS:
        arguments += ["--threads", str(settings.TRAINING_THREADS)]
    return arguments


def _data_arguments(run: TrainingRun, folder: Path, beat: Beat) -> list[str]:
    """What is learned from, and which models."""
    base = str(folder_of_model(run.parent, beat)) if run.parent else run.base
    if run.kind == ModelKind.ASSESSOR:
        rows = write_labelled_rows(run.snapshot, run.options["question"], folder)
        return ["--data", str(rows), "--models", *run.options["models"], *([base] if base else [])]
    if run.kind == ModelKind.TOPICS:
        rows, categories = write_topic_rows(run.snapshot, folder)
        files = ["--data", str(rows), "--categories", str(categories)]
        return [*files, "--models", *run.options["models"], *([base] if base else [])]
    return ["--data", str(fetched_snapshot(run.snapshot, beat)), "--model", base]


@dataclass(slots=True)
class TrainerWatch:
    """Copies the trainer's reports to the database: steps to the job, the newest losses to the run.

    note: shown with those of the trainer.
    """

    run: TrainingRun
    job: Job
    folder: Path
    note: str = ""
    stored: float = 0.0
    tail: ProgressTail = field(init=False)
    pages: PageFiles = field(init=False)

    def __post_init__(self) -> None:
        self.tail = ProgressTail(self.folder / CURVE)
        self.pages = PageFiles(self.folder)

    def step(self) -> int:
        """Read the newest report, store it every STORE_EVERY seconds, and return the steps done."""
        done = self._read()
        if time.monotonic() - self.stored > STORE_EVERY:
            self.store()
        self.pages.send_sometimes()
        return done

    def _read(self) -> int:
        line = self.tail.read()
        self.job.total = line.get("steps", self.job.total)
        return int(line.get("step", self.job.done))

    def store(self) -> None:
        self.stored = time.monotonic()
        layout = read_json(self.folder / "training.json").get("layout", {})
        message = read_json(self.folder / "state.json").get("message", "")
        notes = [*(one for one in (self.note, message) if one), *layout.get("notes", [])]
        TrainingRun.objects.filter(pk=self.run.pk).update(
            latest=self.tail.read() or self.run.latest,
            layout=layout.get("name", ""),
            message="\n".join(notes),
        )

    def store_last(self) -> None:
        """Store the steps since the last read. Never raises for the database, so that it hides no other outcome."""
        self.job.done = self._read()
        try:
            retry_on_lost_connection(self.store, STORE_AGAIN_AFTER)
        except CONNECTION_ERRORS:
            logger.exception("the last step of a training is not stored", extra={"run": str(self.run.pk)})


def failure(folder: Path, status: int) -> Refusal:
    """Why a training ended without a model, and what to do."""
    state = read_json(folder / "state.json")
    if status in child_process.KILLED:
        return Refusal(
            "killed",
            _("The operating system killed the training, probably because memory ran out."),
            _("Set a smaller token_budget, use LoRA or a smaller model, or free memory; then resume it."),
        )
    if state.get("state") == "failed" and state.get("message"):
        return Refusal("training_failed", state["message"], state.get("remedy", ""))
    if state.get("state") == "stopped":
        return Refusal(
            "stopped",
            _("The training was stopped from outside: %(why)s") % {"why": state.get("message", "")},
            _("Resume it; it continues from its last checkpoint."),
        )
    template = _("The training ended with status %(status)d: %(words)s")
    words = child_process.last_line(folder / LOG) or _("no message")
    return Refusal("training_failed", template % {"status": status, "words": words}, _("Read its log."))


def _training_result(run: TrainingRun, folder: Path, job: Job, progress: Progress) -> TrainingResult:
    model = folder / MODEL
    config = read_json(model / "training.json") or read_json(folder / "training.json")
    about: dict[str, Any] = {}
    if run.kind == ModelKind.JOINT:
        remedy = _("Read its training's log.")
        about = {**check_loads(folder, job, progress, remedy=remedy)}
    elif run.kind in CLASSIFIERS:
        about = _assessor_result(folder)
    return TrainingResult(
        config=config,
        metrics=line_of_step(folder / CURVE, config.get("step")) or ProgressTail(folder / CURVE).read(),
        files=files_in(model),
        sha256=sha256_of(model, _beat_of(job, progress)),
        **about,
    )


def _assessor_result(folder: Path) -> dict[str, Any]:
    """The figures of all compared models, and which of them was kept."""
    chosen = read_json(folder / MODEL / "assessor.json").get("base_model", {}).get("name", "")
    report = {**read_json(folder / "report.json"), "chosen": chosen}
    return {"report": report, "uses_base": chosen not in SCRATCH}
