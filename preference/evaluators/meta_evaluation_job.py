"""A meta-evaluation as a job: write people's judgements and the scores, follow the comparison, store its report."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jobs.models import Job
from jobs.progress import Progress
from preference import child_process
from preference.evaluators.files import folder_of_meta_evaluation
from preference.evaluators.models import MetaEvaluation
from preference.evaluators.selectors.judgements import is_about_dialogues, judged_rows, score_rows
from preference.evaluators.services.meta_evaluations import nobody_judged
from preference.registry.files import read_json

META = "preference.training.meta"
JUDGED, LOG, REPORT = "judged.jsonl", "meta.log", "report.json"
STOP_SECONDS = 5.0  # nothing to save
MOST_POINTS = 1500  # of one run, that a plot shows


def run_meta_evaluation_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Compare the runs with people; running it again after a kill starts over."""
    evaluation = MetaEvaluation.objects.select_related("project").get(job=job)
    folder = folder_of_meta_evaluation(evaluation)
    child_process.kill_orphan(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arguments = _write_input(evaluation, folder, progress)
    process = child_process.start(META, arguments, folder, LOG)
    status = child_process.follow(process, progress, seconds=STOP_SECONDS)
    report = read_json(folder / REPORT)
    if status or not report:
        raise child_process.failure(folder / LOG, status, "meta_evaluation_failed")
    del report["data"]  # files that are gone soon
    evaluation.report = report
    human = {row["id"]: row.get("human") for row in _read(folder / JUDGED)}
    evaluation.points = {
        name: points_of(human, _read(_score_file(folder, name))) for name in report["ranking"]
    }
    evaluation.save(update_fields=["report", "points"])
    shutil.rmtree(folder, ignore_errors=True)
    return {"judged": report["n_judged"], "evaluators": len(report["ranking"])}


def points_of(human: Mapping[str, float | None], scores: Iterable[Mapping[str, Any]]) -> list[list[float]]:
    """[person's score, the evaluator's] of at most MOST_POINTS items that have both, evenly chosen."""
    points = [
        [value, row["score"]]
        for row in scores
        if row["score"] is not None and (value := human.get(row["id"])) is not None
    ]
    step = max(1, -(-len(points) // MOST_POINTS))
    return points[::step]


def _write_input(evaluation: MetaEvaluation, folder: Path, progress: Progress) -> list[str]:
    """The files, and the arguments that name them. Raises Refusal no_judgements."""
    project, question = evaluation.project, evaluation.question
    if not _write(folder / JUDGED, judged_rows(project, question)):
        raise nobody_judged()
    about_dialogues = is_about_dialogues(project, question)
    names = [str(run.pk) for run in evaluation.runs.order_by("created_at", "id")]
    for run in evaluation.runs.all():
        progress.heartbeat()
        _write(_score_file(folder, str(run.pk)), score_rows(run, about_dialogues=about_dialogues))
    scores = [f"{name}={_score_file(folder, name)}" for name in names]
    return ["--data", str(folder / JUDGED), "--scores", *scores, "--json", "--output", str(folder)]


def _score_file(folder: Path, name: str) -> Path:
    return folder / f"scores-{name}.jsonl"


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Returns the number of rows."""
    number = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            number += 1
    return number


def _read(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
