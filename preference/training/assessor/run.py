"""One run: every model trained in turn, experiments with one of them, and a report. Read `train` from top to bottom.

    read data → draw splits → train and test each model → figures → experiments → report → publish the best network

RUN/models.json         state of each model: waiting, training, done or failed
RUN/metrics.json        figures on the split test, by model
RUN/predictions.jsonl   every prediction on the splits valid and test
RUN/report.json         all of the above but predictions, with confusion, reliability and experiments
RUN/report.html         the same for people, with plots
RUN/model/              the best network
RUN/jobs/               results of single trainings, see jobs.py
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from measures.classification import classification
from preference.training.assessor import experiments
from preference.training.assessor.data import SPLITS, LabelledDialogue, read_dialogues
from preference.training.assessor.external import read_predictions
from preference.training.assessor.figures import compare_classes, distribution, metrics
from preference.training.assessor.jobs import Job, JobResult, Jobs
from preference.training.assessor.judged import ROWS, Judge, JudgeOptions
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.assessor.report import render_report
from preference.training.assessor.splits import assign_splits, check_splits, missing_labels
from preference.training.assessor.task import PredictionTask
from preference.training.common.arguments import choose_bf16, choose_device
from preference.training.common.checkpointing import Saving
from preference.training.common.command import TrainingSession
from preference.training.common.disk import report_unwritable
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences
from preference.training.common.output import sha256_of
from preference.training.common.progress import replace_json
from preference.training.common.training_run import explain_origin

Results = dict[str, tuple[Job, JobResult]]
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Experiments:
    """leave_out: `domain` for every domain in turn, or the name of one; None for no such experiment."""

    leave_out: str | None = None
    perturb: bool = False
    curve: bool = False

    def __bool__(self) -> bool:
        return bool(self.leave_out or self.perturb or self.curve)


def train(
    options: argparse.Namespace,
    recipe: AssessorRecipe,
    session: TrainingSession,
    task: PredictionTask,
    wanted: Experiments,
) -> None:
    """Do everything. options: of the command. Raises TrainingError and Stopped."""
    torch.set_num_threads(options.threads or torch.get_num_threads())
    progress = session.progress
    progress.state("running", _("Reading the data."))
    dialogues = prepare_dialogues(options.data, task, recipe)
    domains = experiments.domains_to_leave_out(dialogues, wanted.leave_out) if wanted.leave_out else []
    jobs = build_jobs(options, recipe, session, task)
    explain(options, recipe, session, task, dialogues, jobs)
    table = [build_job(model, recipe, dialogues) for model in dict.fromkeys(options.models)]
    jobs.plan(table)
    results, failures = run_table(jobs, table, session)
    results |= judge_dialogues(options, build_job("", recipe, dialogues), task, session, failures)
    results |= read_external(options.predictions, build_job("", recipe, dialogues), task)
    report = build_report(results, failures, dialogues, task)
    write_figures(session.output.folder, results, report)
    if wanted:
        examined = choose_examined(results, options.examine, task)
        run_experiments(jobs, results, examined, wanted, domains, report)
        report["experiments"]["model"] = examined
    write_report(session.output.folder, report)
    publish_best(jobs, results, session, task)
    progress.state("done", describe_failures(failures))
    progress.say(f"Done: {session.output.folder / 'report.html'}")


def prepare_dialogues(data: Path, task: PredictionTask, recipe: AssessorRecipe) -> list[LabelledDialogue]:
    """The dialogues with their splits. Raises TrainingError."""
    dialogues = assign_splits(
        read_dialogues(data, task),
        valid_share=recipe.valid_share,
        test_share=recipe.test_share,
        seed=recipe.seed,
    )
    check_splits(dialogues)
    return dialogues


def build_jobs(
    options: argparse.Namespace, recipe: AssessorRecipe, session: TrainingSession, task: PredictionTask
) -> Jobs:
    """Where and how the trainings run. Raises TrainingError if the device lacks what is asked for."""
    device = choose_device(options.device)
    return Jobs(
        session,
        task,
        data_sha256=sha256_of(options.data),
        device=device,
        bf16=choose_bf16(recipe.precision, device),
        saving=Saving(options.checkpoint_steps, options.keep),
        save_as=options.save_as,
    )


def explain(
    options: argparse.Namespace,
    recipe: AssessorRecipe,
    session: TrainingSession,
    task: PredictionTask,
    dialogues: Sequence[LabelledDialogue],
    jobs: Jobs,
) -> None:
    """Write training.json, and say what is trained on what."""
    sizes = Counter(dialogue.split for dialogue in dialogues)
    data = {split: sizes[split] for split in SPLITS}
    origin = explain_origin(options, recipe, data=data, device=jobs.device, bf16=jobs.bf16)
    session.output.explain(origin | {"task": task.as_dict(), "models": options.models})
    parts = ", ".join(f"{split} {sizes[split]}" for split in SPLITS)
    session.progress.say(f"{len(dialogues)} dialogues: {parts}.")


def build_job(model: str, recipe: AssessorRecipe, dialogues: Sequence[LabelledDialogue]) -> Job:
    """The training of one model of the table."""
    train, valid, test = (tuple(one for one in dialogues if one.split == split) for split in SPLITS)
    return Job(model, recipe, train, valid, test, keep=True)


def run_table(jobs: Jobs, table: Sequence[Job], session: TrainingSession) -> tuple[Results, dict[str, str]]:
    """Train every model. Returns results, and causes of failures, both by model.

    One failed model does not lose the others. Raises TrainingError if all of them fail, with the cause of the first.
    """
    results: Results = {}
    failures: dict[str, TrainingError] = {}
    for job in table:
        write_states(session.output.folder, table, job, failures)
        try:
            results[job.model] = job, jobs.run(job)
        except TrainingError as error:
            failures[job.model] = error
        except Exception as error:
            traceback.print_exc()
            failures[job.model] = TrainingError(f"{type(error).__name__}: {error}", _("See the log."))
        if job.model in failures:
            session.progress.warn(f"{job.model}: {failures[job.model]}")
    write_states(session.output.folder, table, None, failures)
    if not results:
        raise next(iter(failures.values()))
    return results, {model: str(error) for model, error in failures.items()}


def judge_dialogues(
    options: argparse.Namespace,
    job: Job,
    task: PredictionTask,
    session: TrainingSession,
    failures: dict[str, str],
) -> Results:
    """The rows of the judge, if one is wanted; what fails is added to failures. job: of any model."""
    if not options.judge:
        return {}
    settings = JudgeOptions(
        options.judge,
        options.judge_model,
        options.judge_questions,
        options.judge_language,
        options.judge_key_env,
    )
    judge = Judge(settings, task, session, session.output.folder / "jobs")
    results: Results = {}
    for name in ROWS:
        try:
            results |= read_external([(name, judge.predict(name, job.test))], job, task)
        except TrainingError as error:
            failures[name] = str(error)
            session.progress.warn(f"{name}: {error}")
    return results


def write_states(
    folder: Path, table: Sequence[Job], current: Job | None, failures: Mapping[str, object]
) -> None:
    """Write models.json, so that a page can tell where a run of several models is. A full disk stops nothing.

    current: the model that is being trained, None: all are done.
    """
    place = len(table) if current is None else table.index(current)
    states = {job.model: _state(job.model, number - place, failures) for number, job in enumerate(table)}
    with contextlib.suppress(OSError):
        replace_json(folder / "models.json", states)


def _state(model: str, distance: int, failures: Mapping[str, object]) -> str:
    if model in failures:
        return "failed"
    return "waiting" if distance > 0 else "training" if distance == 0 else "done"


def read_external(files: Sequence[tuple[str, Path]], job: Job, task: PredictionTask) -> Results:
    """Predictions from files, by name. job: of any model. Raises TrainingError."""
    return {name: read_predictions(file, dataclasses.replace(job, model=name), task) for name, file in files}


def describe_failures(failures: Mapping[str, str]) -> str:
    """A sentence for each model that failed."""
    text = ""
    for model, cause in failures.items():
        text = join_sentences(text, _("%(model)s failed: %(cause)s") % {"model": model, "cause": cause})
    return text


# Figures


def build_report(
    results: Results, failures: Mapping[str, str], dialogues: Sequence[LabelledDialogue], task: PredictionTask
) -> Report:
    """Everything but experiments, as JSON values."""
    return {
        "task": task.as_dict(),
        "splits": {split: _label_counts(dialogues, split, task) for split in SPLITS},
        "models": {model: _describe_model(job, result, task) for model, (job, result) in results.items()},
        "failures": dict(failures),
        "notes": [*_notes(dialogues, task), *_unpredicted(results, dialogues)],
        "experiments": {},
    }


def _label_counts(dialogues: Sequence[LabelledDialogue], split: str, task: PredictionTask) -> dict[str, int]:
    counts = Counter(dialogue.label for dialogue in dialogues if dialogue.split == split)
    return {str(label): counts[label] for label in task.classes}


def _describe_model(job: Job, result: JobResult, task: PredictionTask) -> Report:
    gold = [dialogue.label for dialogue in job.test]
    return {
        "metrics": metrics(gold, result.test, task, has_probabilities=result.has_probabilities),
        "tested": len(gold),
        "valid_f1": valid_f1(job, result, task),
        "distribution": distribution(result.test),
        **compare_classes(gold, result.test, task, has_probabilities=result.has_probabilities),
        "epochs": [asdict(epoch) for epoch in result.epochs],
        "best_epoch": result.best_epoch.number if result.best_epoch else None,
        "parameters": result.parameters,
        "seconds": round(result.seconds, 1),
    }


def valid_f1(job: Job, result: JobResult, task: PredictionTask) -> float:
    """Macro F1 on the split valid, by which models are chosen."""
    predicted = task.labels(result.valid.argmax(axis=1))
    gold = [dialogue.label for dialogue in job.valid]
    return classification(gold, predicted, task.classes, replicates=0).f1.value or 0.0


def _notes(dialogues: Sequence[LabelledDialogue], task: PredictionTask) -> Iterator[str]:
    for split, labels in missing_labels(dialogues, task).items():
        template = _("No dialogue of the split %(split)s has the label %(labels)s.")
        yield template % {"split": split, "labels": ", ".join(labels)}
    if task.ordered:
        yield _(
            "uar_paper is the sum of the recalls divided by 5, as in the DiQAD paper; with three classes it is "
            "at most 0.6."
        )


def _unpredicted(results: Results, dialogues: Sequence[LabelledDialogue]) -> Iterator[str]:
    """A sentence for each model that left out test dialogues: its figures are about the others."""
    total = sum(dialogue.split == "test" for dialogue in dialogues)
    for model, (job, _result) in results.items():
        if len(job.test) < total:
            template = _("%(model)s predicts %(count)s of %(total)s test dialogues.")
            yield template % {"model": model, "count": len(job.test), "total": total}


def write_figures(folder: Path, results: Results, report: Report) -> None:
    """Write metrics.json and predictions.jsonl. Raises TrainingError if the disk is full."""
    task = PredictionTask.from_dict(report["task"])
    lines = (
        json.dumps(row, ensure_ascii=False) + "\n"
        for model, (job, result) in results.items()
        for row in _prediction_rows(model, job, result, task)
    )
    with report_unwritable(folder):
        replace_json(
            folder / "metrics.json", {model: about["metrics"] for model, about in report["models"].items()}
        )
        partial = folder / ".predictions.jsonl.part"
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        partial.replace(folder / "predictions.jsonl")


def _prediction_rows(
    model: str, job: Job, result: JobResult, task: PredictionTask
) -> Iterator[dict[str, Any]]:
    for split, dialogues, table in (("valid", job.valid, result.valid), ("test", job.test, result.test)):
        for dialogue, probabilities in zip(dialogues, table, strict=True):
            yield {
                "id": dialogue.id,
                "split": split,
                "model": model,
                "label": dialogue.label,
                "prediction": task.classes[int(probabilities.argmax())],
                "probabilities": probabilities.tolist(),
            }


def write_report(folder: Path, report: Report) -> None:
    """Write report.json and report.html. Raises TrainingError if the disk is full."""
    with report_unwritable(folder):
        replace_json(folder / "report.json", report)
        partial = folder / ".report.html.part"
        partial.write_text(render_report(report), encoding="utf-8")
        partial.replace(folder / "report.html")


# Experiments


def choose_examined(results: Results, wanted: str | None, task: PredictionTask) -> str:
    """The model of --examine, or the best on the split valid. Raises TrainingError if the wanted one failed."""
    if wanted is None:
        trained = [model for model, (job, _result) in results.items() if job.keep]
        return max(trained, key=lambda model: valid_f1(*results[model], task))
    if wanted not in results:
        raise TrainingError(
            _("%(model)s failed, so it cannot be examined.") % {"model": wanted},
            _("Name another with --examine, and continue with --resume."),
        )
    return wanted


def run_experiments(
    jobs: Jobs, results: Results, examined: str, wanted: Experiments, domains: Sequence[str], report: Report
) -> None:
    """Add what is wanted to report["experiments"]."""
    job, full = results[examined]
    found = report["experiments"]
    planned = [experiments.job_without_domain(job, domain) for domain in domains]
    if wanted.curve:
        planned += [part for *_sizes, part in experiments.data_jobs(job)]
        planned += [part for _length, part in experiments.length_jobs(job)]
    jobs.plan([part for part in planned if experiments.can_be_trained(part)])
    if wanted.perturb:
        found["perturb"] = experiments.perturb(jobs, job, full)
    if domains:
        found["leave_out"] = experiments.leave_one_out(jobs, job, full, domains)
    if wanted.curve:
        found["curve"] = {
            "data": experiments.learning_curve(jobs, job),
            "length": experiments.length_curve(jobs, job),
            "size": experiments.size_curve(results.values(), jobs.task),
        }


def publish_best(jobs: Jobs, results: Results, session: TrainingSession, task: PredictionTask) -> None:
    """Move the network with the best macro F1 on the split valid to model/, which marks the end of the run.

    A run without a network leaves no model; its figures are complete.
    """
    networks = [model for model, (_job, result) in results.items() if result.parameters is not None]
    if networks:
        best = max(networks, key=lambda model: valid_f1(*results[model], task))
        jobs.model_folder(results[best][0]).rename(session.output.model)
